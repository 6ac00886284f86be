"""States and moments -> the words that pages show; all others are those of the library."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

import streamlit as st

from ecv_core.figures.words import (
    as_sentence,
    metric_label,
    new_data_line,
    rule_words,
    run_title,
)
from ecv_core.records.parameters import score_text
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.listing import ListedRun
from ecv_core.store.new_data import mean_on_new_data
from ecv_core.store.plans import PlanRecord
from pages.shared.base.states import STATES
from pages.shared.live.state import results


def draw_state_badge(state: RunState) -> None:
    """A run's state as a coloured word with an icon."""
    look = STATES[state]
    st.badge(state.value, icon=look.icon, color=look.colour)


def mean_sentences(run: RunRecord, subject: str) -> list[str]:
    """The mean of a run, and its interval for new users; nothing before the first fold.

    Args:
        run: Its folds may lack their users' scores, which are looked up.
        subject: Whose mean it is, as the sentence begins: 'The mean of 3 folds'.
    """
    if run.at_stop is None:
        return []
    scored_run = results().with_user_scores(run)
    line = new_data_line(scored_run, mean_on_new_data(scored_run, scored_run.user_scores))
    return [f"{subject} is {score_text(run.at_stop.mean)}. {as_sentence(line)}"]


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
    return f"{run_title(run)} · {metric_label(run.spec)} · {rule_words(run.spec)} · {run.run_id}"


def choice_label(run: RunRecord | ListedRun) -> str:
    """The same in a choice of own runs, as rows of the list, and of recorded ones, whole."""
    if isinstance(run, RunRecord):
        return f"{run_title(run)} · {metric_label(run.spec)} · recorded"
    return run_label(run)


def plan_label(plan: PlanRecord, contents: str) -> str:
    """How a choice of studies or selections names one; what holds of run labels holds here.

    Args:
        plan: The study or selection.
        contents: What it is made of, in words.
    """
    return f"{plan.created_at:%Y-%m-%d %H:%M} · {contents} · {plan.plan_id}"


def show_large(sentence: str) -> None:
    """The answer of a page, as one sentence in large type."""
    style = "font-size: 1.3rem; line-height: 1.45; font-weight: 600; max-width: 62rem; margin: 0"
    st.html(f"<p style='{style}'>{escape(sentence, quote=False)}</p>")
