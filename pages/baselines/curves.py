"""More dimensions, more steps: figures 3 to 5 of the paper from recorded runs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.baselines import recorded
from ecv_core.figures.baselines import curves_figure, dimension_frame, steps_frame
from ecv_core.records.run import Run
from pages.shared.charts.plot import plot

_BAYESIAN = ("bayesian-mf", "bayesian-svd++", "bayesian-time-svd++-flipped")
_LEARNT = ("bayesian-mf", "sgd-mf")
_HEIGHT = 380
_DIMENSION = {"ml-100k": 16}
"""Of the steps shown; elsewhere 32."""


def curves(dataset: str) -> None:
    """The three figures, each where runs for it are recorded."""
    runs = recorded(dataset)
    figures = (
        (
            "More dimensions",
            "dimension",
            dimension_frame(runs, _BAYESIAN),
            "Figure 3 of the paper: the RMSE of the Bayesian models as vectors get longer, after "
            "all sampling steps.",
        ),
        (
            "More sampling steps",
            "step",
            steps_frame([run for run in runs if run.spec.algorithm in _BAYESIAN and _usual(run)]),
            "Figure 4: one run gives the RMSE at every number of steps. Nothing was stopped by it.",
        ),
        (
            "Gibbs sampling or SGD",
            "dimension",
            dimension_frame(runs, _LEARNT),
            "Figure 5: the same model, learnt by Gibbs sampling and by stochastic gradient descent "
            "with the paper's settings.",
        ),
    )
    for number, (title, across, frame, words) in enumerate(figures, start=3):
        if frame.groupby("algorithm")[across].nunique().max() in (0, 1) or frame.empty:
            continue
        _curve(dataset, number, title, across, frame, words)


def _curve(
    dataset: str, number: int, title: str, across: str, frame: pd.DataFrame, words: str
) -> None:
    st.header(title, anchor=False)
    plot(
        lambda dark: curves_figure(frame, across=across, dark=dark, height=_HEIGHT),
        version=(dataset, number, len(frame)),
        key=f"baselines-{number}",
        alt=f"{words} RMSE from {frame['rmse'].max():.3f} to {frame['rmse'].min():.3f}.",
        height=_HEIGHT,
        name=f"figure {number} on {dataset}",
        table=lambda: frame,
    )
    st.caption(f"{words} First of ten folds of {dataset}.")


def _usual(run: Run) -> bool:
    return dict(run.spec.params)["dimension"] == _DIMENSION.get(run.spec.dataset, 32)
