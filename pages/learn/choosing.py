"""Chapter 9: to choose the best of several, most of them need only a fold or two."""

from __future__ import annotations

import streamlit as st

from ecv_core.records.parameters import percent_text
from pages.best.show import recorded_selection, show_selection_by_slider
from pages.learn.material.dealing import half_widths_percent
from pages.learn.material.recorded_runs import complete_runs
from pages.learn.parts import show_takeaway

_USUAL_DATASET = "ml-100k"


def show() -> None:
    """The recorded selection, and why a difference is known sooner than a mean."""
    datasets = [run.spec.dataset for run in complete_runs()]
    dataset = datasets[0]
    if _USUAL_DATASET in datasets:
        dataset = _USUAL_DATASET
    selection = recorded_selection(dataset, question={})  # an empty question means the usual terms
    show_selection_by_slider(selection)
    best, second, *_ = selection.result.verdict.order
    users_of_best = selection.contenders[best].users
    users_of_second = selection.contenders[second].users
    if users_of_best is not None and users_of_second is not None:
        first_fold = 0
        half_widths = half_widths_percent(users_of_best[first_fold], users_of_second[first_fold])
        show_takeaway(
            f"One fold knows the mean of **{selection.titles[best]}** to ± "
            f"{percent_text(half_widths.of_mean / 100, '.1f')}, but its distance to "
            f"**{selection.titles[second]}** to ± "
            f"{percent_text(half_widths.of_difference / 100, '.1f')}: "
            "what makes a fold or a user easy is the same for both, and cancels."
        )
    st.caption(
        "95 % intervals over the users of the first fold. The lanes above are wider: they hold "
        "over all looks, and allow for differences between folds that do not come from users, such "
        "as chance in training."
    )
    st.page_link("best/best.py", label="Choose among your own", icon=":material/trophy:")
