"""Chapter 10: one method, many settings; a baseline is as good as the work that goes into it."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.baselines import published, recorded, set_ups
from ecv_core.figures.baselines import spread_figure, spread_frame
from ecv_core.records.errors import InputError
from pages.learn.parts import takeaway
from pages.shared.charts.plot import plot
from pages.shared.widgets.choices import switch

DATASET = "ml-100k"
_HEIGHT = 250
_CARE = "the best setting of the grid"
_WITHOUT = "the worst setting of the grid"


def show() -> None:
    """Pick how much care a baseline gets, and see what a new method then seems to be worth."""
    found, reported = set_ups(DATASET), published(DATASET).entries
    if not found:
        raise InputError(
            "the recorded grid of sgd-mf is not there; restore data/recorded/ratings/grids"
        )
    care = switch("The baseline gets", [_WITHOUT, _CARE], "lesson_care")
    newest = min(reported, key=lambda one: one.rmse)
    low, high = found[0], found[-1]
    baseline = low if care == _CARE else high
    gain = baseline - newest.rmse
    frame = spread_frame(found, reported)
    plot(
        lambda dark: spread_figure(frame, dark=dark, height=_HEIGHT),
        version=len(frame),
        key="learn-baseline",
        alt=f"The same method over its settings: RMSE {low:.3f} to {high:.3f}.",
        name="one method, many settings",
    )
    best = min(
        (run for run in recorded(DATASET) if run.folds),
        key=lambda run: sum(fold.score for fold in run.folds) / len(run.folds),
    )
    mean = sum(fold.score for fold in best.folds) / len(best.folds)
    takeaway(
        f"With {care} as its baseline, {newest.method} (RMSE {newest.rmse:.4f}) looks better by "
        f"**{gain:.3f}**. Pick the other one, and the difference changes, although the new method "
        f"is the same. And an old method, run with care, gets {mean:.4f}: "
        f"`{best.spec.algorithm}`. **A baseline is hard work**; ask how it was set up before you "
        "believe a difference."
    )
    st.caption(
        f"{len(found)} settings of learning rate, regularization and dimension of sgd-mf on "
        f"{DATASET}, and what papers report there, on another split than ours (80:20, not 90:10). "
        "The page Baselines has them all."
    )
