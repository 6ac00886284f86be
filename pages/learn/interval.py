"""Chapter 5: the interval of the mean, and the three numbers that make it narrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from ecv_core.figures.efold import FoldHistory
from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.palette import FIGURE_1_SCALE, Span, Step
from ecv_core.records.parameters import percent_text, score_text
from pages.learn.material.dealing import MeanInterval, mean_intervals
from pages.learn.material.recorded_runs import CONFIDENCE, moments_in_order
from pages.learn.parts import Guide, SliderNumbers, guide, save_chart
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT_IN_ADDRESS
from pages.shared.widgets.sliders import show_numbers_of_slider, watch_slider

SLIDER = "learn-n"
KEY = "lesson_n"
_BOX = "learn-n-box"
_FIRST_WITH_INTERVAL = 2
"""Folds: one score has no interval."""
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
    intervals = mean_intervals(guide_run.scores)
    with st.container(key=_BOX):
        _draw_slider(guide_run.k)
    formula = _formula_numbers(intervals)
    # The browser gets the numbers of every step, and shows those of the slider's: a sentence above
    # the picture, and the numbers of the formula below it.
    show_numbers_of_slider(SLIDER, key="learn-formula-said", sentences=formula.sentences)
    _draw_picture(guide_run, intervals, formula.sentences)
    show_numbers_of_slider(
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


def _draw_picture(
    guide_run: Guide, intervals: Sequence[MeanInterval], sentences: Sequence[str]
) -> None:
    """Figure 1 after each number of folds from 2 on: one score has no interval."""
    k = guide_run.k
    metric = guide_run.metric
    history = FoldHistory(
        moments=moments_in_order(guide_run.scores, range(k)),
        k=k,
        metric=metric,
        confidence=CONFIDENCE,
    )
    score_span = _score_span(guide_run, intervals)
    # The first figures, of 0 folds and of 1, have no interval and are left out. A step names its
    # figure by its place in the list, which becomes lower by as many.

    def draw(*, dark: bool) -> list[go.Figure]:
        figures = efold_figures(
            history,
            dark=dark,
            height=_HEIGHT,
            type_scale=FIGURE_1_SCALE,
            span=score_span,
        )
        return figures[_FIRST_WITH_INTERVAL:]

    def steps() -> list[Step]:
        steps_with_interval = efold_steps(history)[_FIRST_WITH_INTERVAL:]
        return [
            replace(step, figure=step.figure - _FIRST_WITH_INTERVAL) for step in steps_with_interval
        ]

    plot(
        draw,
        cache_key=guide_run.cache_key,
        key="learn-widths",
        name="interval widths",
        alt="95 % intervals of the mean, narrower with every fold.",
        slider_name=SLIDER,
        steps=steps,
    )
    save_chart(
        "interval",
        draw,
        subtitle=f"{guide_run.note} {metric}, k = {k}",
        sentences=sentences,
        step_names=[f"n = {interval.n}" for interval in intervals],
    )


def _score_span(guide_run: Guide, intervals: Sequence[MeanInterval]) -> Span:
    """Of the axis of scores: every interval is in the chart, even the widest, of two scores."""
    ends = guide_run.scores.tolist()
    for interval in intervals:
        ends += [interval.low, interval.high]
    margin = 0.05 * (max(ends) - min(ends))
    return min(ends) - margin, max(ends) + margin


@st.fragment
def _draw_slider(k: int) -> None:
    n = st.slider("Folds seen (n)", _FIRST_WITH_INTERVAL, k, _USUAL, key=KEY, **KEPT_IN_ADDRESS)
    watch_slider(SLIDER, container=_BOX, step=int(n) - _FIRST_WITH_INTERVAL)


def _formula_numbers(intervals: Sequence[MeanInterval]) -> SliderNumbers:
    """The numbers of the formula after each number of folds."""
    formula = SliderNumbers()
    width_before: float | None = None
    for interval in intervals:
        change = "the first width"
        if width_before is not None:
            change = f"{score_text(interval.width - width_before, '+')} by this fold"
        formula.values.append(
            [
                score_text(interval.width),
                f"{interval.t:.2f}",
                score_text(interval.deviation),
                f"{math.sqrt(interval.n):.2f}",
            ]
        )
        formula.notes.append(
            [change, "1.96 for very many folds", "of the scores seen", f"of n = {interval.n}"]
        )
        formula.sentences.append(_sentence(interval, width_before))
        width_before = interval.width
    return formula


def _sentence(interval: MeanInterval, width_before: float | None) -> str:
    """How sure the mean is, and what the newest fold changed about that.

    Args:
        interval: After the newest fold.
        width_before: How wide the interval was one fold before; None for the first.
    """
    half_width = score_text(interval.width / 2)
    mean = score_text(interval.mean)
    words = f"After {interval.n} folds, the mean is {mean}, give or take {half_width}."
    if width_before is None:
        return f"{words} Two scores are hardly evidence, so the factor t is enormous."
    if interval.width > width_before:
        return f"{words} A surprising score made it wider; that happens."
    share = 1 - interval.width / width_before
    return f"{words} This fold made the interval {percent_text(share, '.0f')} narrower."
