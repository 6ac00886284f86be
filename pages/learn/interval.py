"""Chapter 5: the interval of the mean, and the three numbers that make it narrow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.palette import FIGURE_1_SCALE
from pages.learn.material.dealing import widths_frame
from pages.learn.material.recorded_runs import CONFIDENCE, replayed
from pages.learn.parts import Row, guide, guide_note
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT
from pages.shared.widgets.sliders import numbers, slider_watch

SLIDER, KEY, _BOX = "learn-n", "lesson_n", "learn-n-box"
_USUAL, _HEIGHT = 3, 400
_LABELS = [
    ("Interval width", "2 x t x s / √n; the paper calls it c_n"),
    ("t: caution", "How many standard errors the interval reaches to each side"),
    ("s: spread", "Standard deviation of the fold scores so far"),
    ("√n: evidence", "Square root of the number of folds"),
]


def show() -> None:
    """The slider, the formula in numbers, figure 1 after so many folds."""
    run, scores, metric = guide()
    frame = widths_frame(scores)
    told = replayed(scores, range(len(scores)))
    span = _span(frame, scores)
    steps = efold_steps(told, k=len(told), metric=metric, stopped_at=None)
    with st.container(key=_BOX):
        _slider(len(told))
    values, notes, sentences = _formula(frame)
    numbers(SLIDER, key="learn-formula-said", sentences=sentences)
    plot(
        lambda dark: efold_figures(
            told,
            k=len(told),
            metric=metric,
            stopped_at=None,
            confidence=CONFIDENCE,
            dark=dark,
            height=_HEIGHT,
            type_scale=FIGURE_1_SCALE,
            span=span,
        )[2:],
        version=(run.run_id, *scores.tolist()),
        key="learn-widths",
        name="interval widths",
        alt="95 % intervals of the mean, narrower with every fold.",
        slider=SLIDER,
        steps=lambda: replace(steps, variants=range(len(frame)), alts=steps.alts[2:]),
    )
    numbers(SLIDER, key="learn-formula-counted", labels=_LABELS, values=values, notes=notes)
    st.caption(
        f"{guide_note(run)} The interval of n scores is 2 x t x s / √n wide; t is Student's factor "
        "for 95 %, s the standard deviation of the scores."
    )


def _span(frame: pd.DataFrame, scores: NDArray[np.float64]) -> tuple[float, float]:
    """Of the axis: two scores have an interval so wide that it may leave the chart."""
    centre = float(frame["mean"].iloc[-1])
    later = frame[frame["n"] >= min(3, len(scores))]
    ends = np.concatenate([later["low"], later["high"], scores])
    reach = 1.1 * float(np.abs(ends - centre).max())
    return centre - reach, centre + reach


@st.fragment
def _slider(k: int) -> None:
    n = st.slider("Folds seen (n)", 2, k, _USUAL, key=KEY, **KEPT)
    slider_watch(SLIDER, container=_BOX, step=int(n) - 2)


def _formula(frame: pd.DataFrame) -> Row:
    rows = frame.to_dict("records")
    values, notes, sentences = [], [], []
    for at, row in enumerate(rows):
        n, width = int(row["n"]), row["width"]
        values.append(
            [f"{width:.4f}", f"{row['t']:.2f}", f"{row['deviation']:.4f}", f"{math.sqrt(n):.2f}"]
        )
        change = f"{width - rows[at - 1]['width']:+.4f} by this fold" if at else "the first width"
        notes.append([change, "1.96 for very many folds", "of the scores seen", f"of n = {n}"])
        sentences.append(_sentence(n, row["mean"], width, rows[at - 1]["width"] if at else None))
    return values, notes, sentences


def _sentence(n: int, mean: float, width: float, before: float | None) -> str:
    said = f"{n} folds: the mean is {mean:.4f}, give or take {width / 2:.4f}."
    if before is None:
        return f"{said} Two scores are hardly evidence, so the factor t is enormous."
    if width > before:
        return f"{said} A surprising score made it wider; that happens."
    less = 100 * (1 - width / before)
    return f"{said} This fold made the interval {less:.0f} % narrower."
