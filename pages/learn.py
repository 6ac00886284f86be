"""A guided story in short chapters: each one idea, one control, one picture."""

from pages.components.learn.course import course
from pages.components.shared.navigation import through_app
from pages.components.shared.plot import preload_plots
from pages.components.shared.state import sentences

through_app()
with sentences():
    preload_plots()
    course()
