"""Every score of the study, early stops too: which model is best where."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.figures.heatmap import (
    EARLY,
    Marks,
    height_of,
    score_words,
    scores_figure,
    scores_words,
)
from pages.shared.charts.plot import plot

EARLY_WORDS = (
    f"{EARLY} ran only until its own rule said stop, whatever alpha is picked above: its score is "
    "of those folds, and it is in no average, since only all folds tell how far off a stop is. "
    "Hover, or tap it, for its rule and folds."
)
_SCORES = "study-scores-figure"
NAMES = 215
"""Pixels of the datasets' names."""
_COLUMN = 56
"""Pixels of a column that can still be read."""


def scores_section(scores: pd.DataFrame) -> None:
    """Which algorithm is best where: every score, those that ended at their stop too."""
    st.header("Which algorithm is best where?", anchor=False)
    if words := scores_words(scores):
        st.markdown(words)
    why = f" {EARLY_WORDS}" if len(early_of(scores)) else ""
    st.caption(
        "The mean over all folds, whatever alpha; the paler, the nearer to the dataset's best, "
        f"which is bold.{why}"
    )
    columns = scores["algorithm"].nunique()
    least = NAMES + _COLUMN * columns
    st.html(
        f"<style>.st-key-{_SCORES} .ecv-chart {{ overflow-x: auto; }} "
        f".st-key-{_SCORES} .ecv-figure {{ min-width: {least}px; }}</style>"
    )
    with st.container(key=_SCORES):
        plot(
            lambda dark: scores_figure(scores, dark=dark),
            version=tuple(scores["run_id"]),
            key="study-scores",
            alt=f"Scores, datasets by algorithms. {scores_words(scores)}".strip(),
            height=height_of(scores),
            name="study scores",
            opens=addresses(scores),
            table=lambda: scores,
        )


def early_of(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows whose k-fold mean is not known."""
    return scores[scores["folds"] < scores["k"]]


def marks(scores: pd.DataFrame) -> Marks:
    """Of the cells whose k-fold mean is not known."""
    return {
        (str(row["dataset"]), str(row["algorithm"])): (EARLY, score_words(row))
        for row in early_of(scores).to_dict("records")
    }


def addresses(scores: pd.DataFrame) -> dict[str, str]:
    """Where a click on a cell leads: its run, fold by fold."""
    return {
        f"{algorithm}|{dataset}": f"replay?run={run}"
        for algorithm, dataset, run in scores[["algorithm", "dataset", "run_id"]].to_numpy()
    }
