"""A component of our own: HTML, and the CSS and JavaScript files beside the module that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


def component(
    module: str, name: str, *, html: str, js: str | Sequence[str], css: str = ""
) -> ComponentRenderer:
    """Register it; call once, when the module is loaded.

    Args:
        module: the `__file__` of the module, whose folder has the files.
        name: of the component; no other has it.
        html: what it begins with.
        js: name of the script, or of several that make one module together.
        css: name of the style sheet, if there is one.
    """
    folder = Path(module).parent
    scripts = [js] if isinstance(js, str) else js
    return st.components.v2.component(
        name,
        html=html,
        css=(folder / css).read_text(encoding="utf-8") if css else None,
        js="".join((folder / one).read_text(encoding="utf-8") for one in scripts),
        isolate_styles=False,
    )
