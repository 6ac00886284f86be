"""A guided story in short chapters: each one idea, one control, one picture."""

from pages.components.learn.course import course
from pages.components.shared.navigation import page
from pages.components.shared.plot import preload_plots

with page():
    preload_plots()
    course()
