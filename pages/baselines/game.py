"""Set-up matters more than method: one method over its settings, and a game with its knobs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.analysis.baselines import EPOCHS, Entry, passed, set_ups
from ecv_core.figures.baselines import spread_figure, spread_frame
from pages.shared.charts.plot import plot

_LABELS = {
    "learning_rate": "Learning rate",
    "regularization": "Regularization",
    "dimension": "Dimension",
}


def spread(dataset: str, entries: Sequence[Entry]) -> None:
    """How far settings of one method are apart, beside how far published methods are."""
    found = set_ups(dataset)
    reported = [one for one in entries if one.published]
    if found is None or len(found.last) < 2:
        return
    st.header("Set-up matters more than the method", anchor=False)
    values = found.last
    low, high = values[0], values[-1]
    newest = [one.rmse for one in reported]
    inside = max(newest) - min(newest)
    st.markdown(
        f"Plain matrix factorization by SGD, the **same method**, gets from **{low:.3f} to "
        f"{high:.3f}** with {len(values)} settings of learning rate, regularization and dimension: "
        f"{high - low:.3f} apart. All {len(newest)} published results are {inside:.3f} apart."
    )
    frame = spread_frame(values, reported)
    plot(
        lambda dark: spread_figure(frame, dark=dark),
        version=(dataset, len(frame)),
        key="baselines-spread",
        alt=f"One method over its settings: RMSE {low:.3f} to {high:.3f}; published methods: "
        f"{min(newest):.3f} to {max(newest):.3f}.",
        height=210,
        name=f"spread of set-ups on {dataset}",
        table=lambda: frame,
    )


def game(dataset: str, entries: Sequence[Entry]) -> None:
    """Turn the knobs of sgd-mf and see which published methods it passes."""
    found = set_ups(dataset)
    if found is None or not found.found:
        return
    st.header("Turn the knobs yourself", anchor=False)
    st.markdown(
        "Every setting here has been run. Which published results does plain matrix factorization "
        "pass, and with which settings would you have written that it is weak?"
    )
    picked = {}
    with st.container(horizontal=True):
        for name, label in _LABELS.items():
            options = found.values[name]
            picked[name] = st.select_slider(
                label, options, value=options[0], key=f"knob_{dataset}_{name}", width=220
            )
        epochs = st.select_slider(
            "Epochs", EPOCHS, value=EPOCHS[0], key=f"knob_{dataset}_epochs", width=220
        )
    one = found.of(**picked)
    if one is None:
        st.info("This combination has not been run; move a knob.")
        return
    if not one.rmse:
        st.error("With these settings the fit diverges: no prediction is a number any more.")
        return
    rmse = one.rmse[EPOCHS.index(epochs)]
    reported = [entry for entry in entries if entry.published]
    behind = passed(rmse, reported)
    best = found.last[0]
    with st.container(horizontal=True):
        st.metric("RMSE of sgd-mf", f"{rmse:.4f}", border=True)
        st.metric("Published results passed", f"{len(behind)} of {len(reported)}", border=True)
        st.metric("Above the best setting here", f"{max(rmse - best, 0):.4f}", border=True)
    names = ", ".join(dict.fromkeys(entry.method for entry in behind))
    text = f"Passed: {names}." if names else "None of them is passed."
    folds = len(found.folds)
    where = "the first fold" if folds == 1 else f"the first {folds} folds"
    st.markdown(text)
    st.caption(
        f"RMSE of {where} of {dataset} (record-k-fold, k = 10, seed 42), at most {EPOCHS[-1]} "
        "epochs. Choosing settings by the held-out part, as this game does, flatters a method; a "
        "paper has to choose them on training data."
    )
