"""Chapter 10: where the idea comes from, and what holds of it for classifiers and regressors."""

from __future__ import annotations

import streamlit as st

from ecv_core.figures.estimators import estimators_frame, estimators_words
from pages.learn.parts import show_takeaway
from pages.shared.address.navigation import ESTIMATORS, VIEW


def show() -> None:
    """The first rule, what it and those of today keep, and the ways to try and to see more."""
    st.markdown(
        "In 2024 Mahlich, Vente and Beel stopped the cross-validation of classifiers and "
        "regressors (15 tables, 10 algorithms) once the **standard deviation** of the fold "
        "scores stopped changing. A row of a table, a **sample**, takes the place that a user has "
        "with recommenders: it has a score of its own, and the spread of these scores tells how "
        "certain a mean is."
    )
    st.markdown(estimators_words(estimators_frame()))
    show_takeaway(
        "A deviation that stops changing shows that the spread is known, not that the mean is."
    )
    st.caption("Recorded folds of scikit-learn's estimators, in 1,000 orders each.")
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
