"""States and moments -> the words that pages show; all others are those of the library."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

import streamlit as st

from ecv_core.figures.words import metric_label, run_title
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.listing import ListedRun

STATES: dict[RunState, tuple[str, str]] = {
    RunState.QUEUED: (":material/hourglass_empty:", "gray"),
    RunState.RUNNING: (":material/play_arrow:", "blue"),
    RunState.FINISHED: (":material/check:", "green"),
    RunState.CANCELLED: (":material/block:", "orange"),
    RunState.FAILED: (":material/error:", "red"),
    RunState.INTERRUPTED: (":material/power_off:", "orange"),
}
"""Icon and colour of each state; the word is always there too."""


def state_badge(state: RunState) -> None:
    """A run's state as a coloured word with an icon."""
    icon, colour = STATES[state]
    st.badge(state.value, icon=icon, color=colour)  # type: ignore[arg-type]  # a literal colour


def ago(moment: datetime) -> str:
    """'just now', '5 min ago', '3 h ago', or the day."""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f} h ago"
    return f"{moment:%Y-%m-%d}"


def run_label(run: RunRecord | ListedRun) -> str:
    """How a choice of own runs, and so the address, names a run.

    Never changes and is never another run's: Streamlit knows a choice by its label.
    """
    return f"{run_title(run)} · {metric_label(run.spec)} · k = {run.spec.k} · {run.run_id}"


def large(sentence: str) -> None:
    """The answer of a page, as one sentence in large type."""
    style = "font-size: 1.3rem; line-height: 1.45; font-weight: 600; max-width: 62rem; margin: 0"
    st.html(f"<p style='{style}'>{escape(sentence, quote=False)}</p>")
