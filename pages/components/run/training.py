"""How the networks of a run train: the curve that early stopping looks at, live."""

from __future__ import annotations

import streamlit as st

from ecv_core.figures.training import training_figure, training_frame, training_text
from ecv_core.records import Run
from pages.components.shared.plot import plot
from pages.components.shared.words import run_title

_HEIGHT = 280


def training(run: Run) -> None:
    """The curves of a run whose model stops early; nothing for any other run."""
    params = dict(run.spec.params)
    if not params.get("early_stopping"):
        return
    st.header("Training, epoch by epoch", anchor=False)
    curves = [(fold.fold, fold.inner_curve) for fold in run.folds if fold.inner_curve]
    if run.progress is not None and run.progress.curve:
        curves.append((run.progress.fold, run.progress.curve))
    if not curves:
        st.caption("The curve starts with the first epoch.")
        return
    frame = training_frame(curves)
    text = training_text(frame)
    plot(
        lambda dark: training_figure(
            frame, epochs=int(params["epochs"]), dark=dark, height=_HEIGHT
        ),
        version=(run.run_id, tuple((fold, len(curve)) for fold, curve in curves)),
        key="training",
        alt=f"Inner nDCG@100 after each epoch. {text}",
        height=_HEIGHT,
        name=f"{run_title(run)} training",
        table=lambda: frame,
    )
    st.caption(
        f"{text} Training stops after {params['patience']} epochs without a better one and keeps "
        "the best. The inner part is taken from the training data, never from what is held out."
    )
