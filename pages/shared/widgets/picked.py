"""Filters in one line: what is picked in words, and a button that opens the choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.figures.words import counted
from ecv_core.records.run import Run

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def picked_line(label: str, *, key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """A line for what is picked, once that is known, and what opens beside it.

    Args:
        label: of the button.
        key: of the line.
    Returns: where the words go, and where the widgets go.
    """
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=key, width="content"
    ):
        words = st.container(width="content")
        widgets = st.popover(label, icon=":material/tune:", width="content")
    return words, widgets


def runs_words(runs: Sequence[Run]) -> str:
    """'**46 runs**: 6 datasets, 8 algorithms', as Markdown."""
    rows = len({run.spec.dataset for run in runs})
    columns = len({run.spec.algorithm for run in runs})
    return (
        f"**{counted(len(runs), 'run')}**: {counted(rows, 'dataset')}, "
        f"{counted(columns, 'algorithm')}"
    )
