"""Chapter 11: where the idea comes from, and what holds of it for classifiers and regressors."""

from __future__ import annotations

import streamlit as st

from ecv_core.figures.estimators import by_rule, estimators_frame, estimators_words
from pages.learn.parts import takeaway
from pages.shared.address.navigation import ESTIMATORS, VIEW
from pages.shared.widgets.tables import number, table


def show() -> None:
    """The first rule, those of today beside it, and the way to try one."""
    st.markdown(
        "In 2024 Mahlich, Vente and Beel stopped the cross-validation of classifiers and "
        "regressors (15 tables, 10 algorithms) once the **standard deviation** of the scores "
        "stood still. A row of a table, a sample, is there what a user is for recommenders: it has "
        "a score of its own, and the spread of these scores tells how sure a mean is."
    )
    frame = estimators_frame()
    means = by_rule(frame)
    table(
        means,
        {
            name: number(name.replace("_percent", " %").replace("_", " "), "%.2f")
            for name in means.columns[1:]
        },
        key="learn-classifiers",
        alt="Rules by folds used, difference, coverage and right winner.",
    )
    takeaway(
        f"{estimators_words(frame)} A deviation that stands still says that the spread is known, "
        "not that the mean is."
    )
    st.caption("Recorded folds of scikit-learn's estimators, 60 orders of the folds each.")
    with st.container(horizontal=True):
        st.page_link(
            "run/run.py",
            label="Stop a classifier yourself",
            icon=":material/play_circle:",
            query_params={"dataset": "Breast cancer"},
        )
        st.page_link(
            "studies/studies.py",
            label="Every table and estimator",
            icon=":material/grid_on:",
            query_params={VIEW: ESTIMATORS},
        )
