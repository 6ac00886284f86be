"""What the score is: the metric with its definition, and what held-out items are ranked against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.evaluation import METRICS, SAMPLED_WARNING
from ecv_core.records.spec import SCORES, Task
from pages.shared.live.state import KEPT
from pages.shared.widgets.setting_widgets import about, other_settings, setting_widget

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

PLACED = ("k", "seed", "split", "metric", "n", "candidates", "negatives", "negative_sampling")
"""Settings that have a place of their own on the form."""
FULL, SAMPLED = "full ranking", "sampled negatives"
NEGATIVES = 100
"""As many as most work that samples."""

CHOICES = list(METRICS)
"""Metrics that some algorithm here has a value of."""

SYMBOLS = (
    r"$H$: the user's held-out items; $C$: candidates; $i_r$: the item at rank $r$; $rel_r$: 1 if "
    r"it is held out; $s$: scores; $p$: probabilities."
)

SYMBOLS_OF_RATINGS = (
    r"$H$: the held-out pairs of user and item; $r$: the rating given; $\hat{r}$: the rating "
    "predicted, clipped to the scale."
)
SYMBOLS_OF_SAMPLES = (
    r"$H$: the held-out samples; $y$: what is so; $\hat{y}$: what is predicted; $Y$: the classes."
)
_SYMBOLS = {Task.TOP_N: SYMBOLS, Task.RATINGS: SYMBOLS_OF_RATINGS}


def metric_select(
    place: DeltaGenerator,
    tasks: Sequence[Task] = Task.TOP_N.together,
    **about: Any,  # noqa: ANN401
) -> str:
    """The metric's id, of some tasks; `about` is the widget's label, key and help."""
    names = [name for name in CHOICES if METRICS[name].task in tasks]
    listed = "\n".join(f"- **{METRICS[name].title}**: {METRICS[name].help}" for name in names)
    about["help"] = f"{about['help']}\n\n{listed}"
    picked = place.selectbox(options=names, format_func=lambda name: METRICS[name].title, **about)
    return picked or names[0]


def score_settings(metric: str) -> dict[str, Any]:
    """The metric's definition and the widgets of the ranking protocol, folded away at first.

    What is predicted has no such protocol: every held-out rating or sample counts.

    Returns: what was picked, as arguments of `make_spec`.
    """
    if METRICS[metric].task is not Task.TOP_N:
        with st.expander("How predictions are scored", icon=":material/leaderboard:"):
            _definition(metric)
        return {}
    sampled = SAMPLED in (st.session_state.get("ranking"), st.query_params.get("ranking"))
    with st.expander(
        "What is ranked, and how it is scored", icon=":material/leaderboard:", expanded=sampled
    ):
        _definition(metric)
        picked = {"candidates": setting_widget("candidates")}
        ranking = st.segmented_control(
            "Ranked against",
            [FULL, SAMPLED],
            default=FULL,
            required=True,
            key="ranking",
            **KEPT,
            help="Full ranking compares a held-out item with every candidate. With sampled "
            "negatives a few are drawn once for each user, and each held-out item is ranked alone "
            "against them; every algorithm meets the same ones.",
        )
        if ranking == SAMPLED:
            with st.container(horizontal=True):
                negatives = st.number_input(value=NEGATIVES, **about("negatives", width=160))
                picked["negatives"] = int(negatives)
                picked["negative_sampling"] = setting_widget("negative_sampling")
        picked |= other_settings(SCORES, PLACED)
    if ranking == SAMPLED:
        st.warning(SAMPLED_WARNING, icon=":material/warning:")
    return picked


def _definition(metric: str) -> None:
    known = METRICS[metric]
    st.markdown(f"**{known.title}.** {known.help}")
    if not known.formula:
        return
    st.latex(known.formula)
    symbols = _SYMBOLS.get(known.task, SYMBOLS_OF_SAMPLES)
    st.caption(f"{symbols} Source: {known.source}. {known.elsewhere}".rstrip())
