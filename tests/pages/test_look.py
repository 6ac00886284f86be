"""The style of all pages has the colours of charts, and knows the primary buttons."""

import ast
import re
from pathlib import Path

import pytest

from ecv_core.figures.palette import DARK, LIGHT
from pages.shared.live.server import STYLE

PAGES = Path(__file__).resolve().parents[2] / "pages"


@pytest.mark.parametrize("name", ["mean", "stop", "width", "ground"])
def test_small_components_draw_with_the_colours_of_charts(name):
    light = getattr(LIGHT, name)
    dark = getattr(DARK, name)
    assert f"--ecv-{name}: light-dark({light}, {dark});" in STYLE


def test_every_button_of_the_primary_colour_is_named_where_its_ink_is_set():
    """The style knows buttons by their keys: white on a dark page's light blue is unreadable."""
    named = set(re.findall(r"st-key-([\w-]+)", STYLE))
    missing = []
    for module in PAGES.rglob("*.py"):
        for call in ast.walk(ast.parse(module.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            function = ast.unparse(call.func)
            texts = {word.arg: ast.unparse(word.value) for word in call.keywords}
            is_primary = function.endswith(".button") and texts.get("type") == "'primary'"
            # `start_button` draws one whose key is its caller's.
            if function == "start_button" or (is_primary and texts.get("key") != "key"):
                key = texts.get("key", "").strip("f'").partition("{")[0]
                if key not in named:
                    missing.append(f"{module.name}:{call.lineno} {key}")
    assert missing == []
