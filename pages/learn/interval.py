"""Chapter 5: the interval of the mean, and the three numbers that make it narrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from ecv_core.figures.efold import FoldHistory
from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.palette import FIGURE_1_SCALE, Step
from pages.learn.material.dealing import Width, widths
from pages.learn.material.recorded_runs import CONFIDENCE, replayed
from pages.learn.parts import Guide, SliderNumbers, guide, save_chart
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT
from pages.shared.widgets.sliders import slider_numbers, slider_watch

SLIDER = "learn-n"
KEY = "lesson_n"
_BOX = "learn-n-box"
_USUAL = 3
_HEIGHT = 400
_LABELS = [
    ("Interval width", "2 x t x s / √n; the paper calls it c_n"),
    ("t: caution", "How many standard errors the interval reaches to each side"),
    ("s: spread", "Standard deviation of the fold scores so far"),
    ("√n: evidence", "Square root of the number of folds"),
]


def show() -> None:
    """The slider, the formula in numbers, figure 1 after so many folds."""
    guide_run = guide()
    by_folds = widths(guide_run.scores)
    with st.container(key=_BOX):
        _draw_slider(guide_run.k)
    formula = _formula_numbers(by_folds)
    slider_numbers(SLIDER, key="learn-formula-said", sentences=formula.sentences)
    _draw_picture(guide_run, by_folds, formula.sentences)
    slider_numbers(
        SLIDER,
        key="learn-formula-counted",
        labels=_LABELS,
        values=formula.values,
        notes=formula.notes,
    )
    st.caption(
        f"{guide_run.note} The interval of n scores is 2 x t x s / √n wide, where t is Student's "
        "factor for 95 % and s is the standard deviation of the scores."
    )


def _draw_picture(guide_run: Guide, by_folds: Sequence[Width], sentences: Sequence[str]) -> None:
    """Figure 1 after each number of folds from 2 on: one score has no interval."""
    k = guide_run.k
    metric = guide_run.metric
    history = FoldHistory(
        moments=replayed(guide_run.scores, range(k)), k=k, metric=metric, confidence=CONFIDENCE
    )
    span = _span(guide_run, by_folds)

    def draw(*, dark: bool) -> list[go.Figure]:
        figures = efold_figures(
            history,
            dark=dark,
            height=_HEIGHT,
            type_scale=FIGURE_1_SCALE,
            span=span,
        )
        return figures[2:]  # after no fold and after one there is no interval

    def steps() -> list[Step]:
        return [replace(step, figure=step.figure - 2) for step in efold_steps(history)[2:]]

    plot(
        draw,
        version=guide_run.version,
        key="learn-widths",
        name="interval widths",
        alt="95 % intervals of the mean, narrower with every fold.",
        slider=SLIDER,
        steps=steps,
    )
    save_chart(
        "interval",
        draw,
        under=f"{guide_run.note} {metric}, k = {k}",
        sentences=sentences,
        step_names=[f"n = {width.n}" for width in by_folds],
    )


def _span(guide_run: Guide, by_folds: Sequence[Width]) -> tuple[float, float]:
    """Of the axis: every interval is in the chart, that of two scores too, which is the widest."""
    ends = guide_run.scores.tolist()
    for width in by_folds:
        ends += [width.low, width.high]
    margin = 0.05 * (max(ends) - min(ends))
    return min(ends) - margin, max(ends) + margin


@st.fragment
def _draw_slider(k: int) -> None:
    n = st.slider("Folds seen (n)", 2, k, _USUAL, key=KEY, **KEPT)
    slider_watch(SLIDER, container=_BOX, step=int(n) - 2)


def _formula_numbers(by_folds: Sequence[Width]) -> SliderNumbers:
    """The numbers of the formula after each number of folds."""
    formula = SliderNumbers()
    before: float | None = None
    for width in by_folds:
        change = "the first width"
        if before is not None:
            change = f"{width.width - before:+.4f} by this fold"
        formula.values.append(
            [
                f"{width.width:.4f}",
                f"{width.t:.2f}",
                f"{width.deviation:.4f}",
                f"{math.sqrt(width.n):.2f}",
            ]
        )
        formula.notes.append(
            [change, "1.96 for very many folds", "of the scores seen", f"of n = {width.n}"]
        )
        formula.sentences.append(_sentence(width, before))
        before = width.width
    return formula


def _sentence(width: Width, before: float | None) -> str:
    """How sure the mean is, and what the newest fold changed about that.

    Args:
        width: The interval and what it is made of.
        before: Its width one fold before; None for the first.
    """
    half_width = width.width / 2
    words = f"After {width.n} folds, the mean is {width.mean:.4f}, give or take {half_width:.4f}."
    if before is None:
        return f"{words} Two scores are hardly evidence, so the factor t is enormous."
    if width.width > before:
        return f"{words} A surprising score made it wider; that happens."
    percent = 100 * (1 - width.width / before)
    return f"{words} This fold made the interval {percent:.0f} % narrower."
