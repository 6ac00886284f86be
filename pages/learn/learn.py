"""A guided story in short chapters: each one idea, one control, one picture."""

from pages.learn.course import show_course
from pages.shared.address.navigation import page
from pages.shared.charts.plot import preload_plots

with page():
    preload_plots()
    show_course()
