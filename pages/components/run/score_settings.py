"""What the score is: the metric with its definition, and what held-out items are ranked against."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from ecv_core.evaluation import CANDIDATES, METRICS, NEGATIVE_SAMPLING, SAMPLED_WARNING, Kind

FULL, SAMPLED = "full ranking", "sampled negatives"
NEGATIVES = 100
"""As many as most work that samples."""

CHOICES = [name for name, known in METRICS.items() if known.kind is not Kind.RATINGS]
"""Metrics that some algorithm here has a value of."""

SYMBOLS = (
    r"$H$: the user's held-out items; $C$: candidates; $i_r$: the item at rank $r$; $rel_r$: 1 if "
    r"it is held out; $s$: scores; $p$: probabilities."
)

METRIC_HELP = (
    "The score that the rule watches. The other metrics of lists are computed too.\n\n"
    + "\n".join(f"- **{METRICS[name].title}**: {METRICS[name].help}" for name in CHOICES)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """How held-out items are ranked, as in RunSpec."""

    candidates: str
    negatives: int | None
    negative_sampling: str


def score_settings(metric: str) -> ScoreSettings:
    """The metric's definition and the widgets of the ranking protocol, folded away at first."""
    sampled = SAMPLED in (st.session_state.get("ranking"), st.query_params.get("ranking"))
    with st.expander(
        "What is ranked, and how it is scored", icon=":material/leaderboard:", expanded=sampled
    ):
        _definition(metric)
        candidates = st.segmented_control(
            "Candidates",
            list(CANDIDATES),
            default="all",
            required=True,
            format_func=lambda name: {"all": "all items", "train": "items in training"}[name],
            key="candidates",
            bind="query-params",
            persist_state="session",
            help="\n\n".join(f"**{name}**: {text}" for name, text in CANDIDATES.items()),
        )
        ranking = st.segmented_control(
            "Ranked against",
            [FULL, SAMPLED],
            default=FULL,
            required=True,
            key="ranking",
            bind="query-params",
            persist_state="session",
            help="Full ranking compares a held-out item with every candidate. With sampled "
            "negatives a few are drawn once for each user, and each held-out item is ranked alone "
            "against them; every algorithm meets the same ones.",
        )
        negatives, sampling = _negatives() if ranking == SAMPLED else (None, "uniform")
    if negatives is not None:
        st.warning(SAMPLED_WARNING, icon=":material/warning:")
    return ScoreSettings(
        candidates=candidates or "all", negatives=negatives, negative_sampling=sampling
    )


def _definition(metric: str) -> None:
    known = METRICS[metric]
    st.markdown(f"**{known.title}.** {known.help}")
    st.latex(known.formula)
    st.caption(f"{SYMBOLS} Source: {known.source}. {known.elsewhere}")


def _negatives() -> tuple[int, str]:
    with st.container(horizontal=True):
        negatives = st.number_input(
            "Negatives (N)",
            value=NEGATIVES,
            key="negatives",
            bind="query-params",
            persist_state="session",
            help="Items drawn for each user, none of which the user has in training or held out.",
            width=160,
        )
        sampling = st.segmented_control(
            "Drawn",
            list(NEGATIVE_SAMPLING),
            default="uniform",
            required=True,
            format_func=lambda name: {"uniform": "uniformly", "popularity": "by popularity"}[name],
            key="negative_sampling",
            bind="query-params",
            persist_state="session",
            help="\n\n".join(f"**{name}**: {text}" for name, text in NEGATIVE_SAMPLING.items()),
        )
    return int(negatives), sampling or "uniform"
