"""Containers whose content stands side by side."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def row_container(**more: Any) -> DeltaGenerator:  # noqa: ANN401  arguments of `st.container`
    """What is in it stands side by side, in the middle of the row's height."""
    return st.container(horizontal=True, vertical_alignment="center", **more)


def spread_row() -> DeltaGenerator:
    """A row with its first content at the left, and its last at the right."""
    return row_container(horizontal_alignment="distribute")
