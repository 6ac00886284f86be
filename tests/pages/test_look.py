"""The style of all pages has the colours of charts."""

import re
from pathlib import Path

import pytest

from ecv_core.figures.palette import DARK, LIGHT

LOOK = Path(__file__).resolve().parents[2] / "pages/shared/live/look.css"


@pytest.mark.parametrize("name", ["mean", "stop", "width", "ground"])
def test_small_components_draw_with_the_colours_of_charts(name):
    (said,) = re.findall(rf"--ecv-{name}: light-dark\((#\w+), (#\w+)\);", LOOK.read_text("utf-8"))
    assert said == (getattr(LIGHT, name), getattr(DARK, name))
