"""Numbers and states -> the words and units that pages show."""

from __future__ import annotations

from datetime import UTC, datetime
from math import floor, log10

import streamlit as st

from ecv_core.evaluation import METRICS
from ecv_core.records import Run, RunSpec, RunState

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


def metric_label(spec: RunSpec) -> str:
    """The score's name as papers write it: 'nDCG@10'."""
    return f"{METRICS[spec.metric].title}@{spec.n}"


def run_title(run: Run) -> str:
    """'item-knn on ml-100k'."""
    return f"{run.spec.algorithm} on {run.spec.dataset}"


def small_number(value: float) -> str:
    """Three significant digits, never an exponent: '0.00214', '12.3', '1,230'."""
    if value == 0:
        return "0"
    digits = max(2 - floor(log10(abs(value))), 0)
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def rule_words(spec: RunSpec) -> str:
    """What stops the run, in a few words: 'alpha 1e-4', 'within 3.0%', 'never'."""
    match spec.rule:
        case "e-fold":
            return f"alpha {alpha_text(spec.alpha)}"
        case "precision":
            return f"within {spec.tolerance:.1%}"
        case "fixed":
            return f"fixed {spec.min_folds}"
    return spec.rule


def alpha_text(alpha: float) -> str:
    """'1e-4', '5e-3', '0.01'."""
    if alpha >= 0.01:
        return f"{alpha:g}"
    mantissa, exponent = f"{alpha:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def watt_hours(joules: float) -> str:
    """Energy as pages show it: '1.25 Wh', and '21.3 mWh' where that is easier to read."""
    return _scaled(joules / 3600, "Wh")


def grams(amount: float) -> str:
    """Emissions as pages show them: '1.25 g', '4.17 mg'."""
    return _scaled(amount, "g")


def _scaled(amount: float, unit: str) -> str:
    if 0 < amount < 0.1:
        return f"{small_number(amount * 1000)} m{unit}"
    return f"{small_number(amount)} {unit}"


def duration(seconds: float) -> str:
    """'0.8 s', '42 s', '3 min 20 s', '2 h 5 min'."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


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
