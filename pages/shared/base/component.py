"""A component of our own: HTML, and the CSS and JavaScript files beside the module that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer


def ignore() -> None:
    """What a component's press does by itself: nothing; the script that it starts reads it."""


class ComponentParts(NamedTuple):
    """What a component is made of, as text."""

    html: str
    """That it begins with."""
    script: str
    """A module."""
    style: str
    """A style sheet; empty where it has none."""


def component_parts(module: str, *, html: str, js: Sequence[str], css: str) -> ComponentParts:
    """Read the files of a component; the arguments are those of `component`."""
    folder = Path(module).parent
    script = "".join((folder / file).read_text(encoding="utf-8") for file in js)
    style = ""
    if css:
        style = (folder / css).read_text(encoding="utf-8")
    return ComponentParts(html, script, style)


def registered(name: str, parts: ComponentParts) -> ComponentRenderer:
    """Register a component that is read already; call once, when the module is loaded."""
    return st.components.v2.component(
        name, html=parts.html, css=parts.style or None, js=parts.script, isolate_styles=False
    )


def component(
    module: str, name: str, *, html: str, js: Sequence[str], css: str = ""
) -> ComponentRenderer:
    """Read and register a component; call once, when the module is loaded.

    Args:
        module: The `__file__` of the module, whose folder has the files.
        name: The name of the component; no other has it.
        html: What it begins with.
        js: Names of the scripts, which make one module together.
        css: Name of the style sheet, if there is one.
    """
    return registered(name, component_parts(module, html=html, js=js, css=css))
