"""The style of all pages has the colours of charts."""

import pytest

from ecv_core.figures.palette import DARK, LIGHT
from pages.shared.live.server import STYLE


@pytest.mark.parametrize("name", ["mean", "stop", "width", "ground"])
def test_small_components_draw_with_the_colours_of_charts(name):
    light = getattr(LIGHT, name)
    dark = getattr(DARK, name)
    assert f"--ecv-{name}: light-dark({light}, {dark});" in STYLE
