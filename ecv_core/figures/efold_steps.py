"""Moments of a finished run -> figure 1 after each of its folds, on axes that never move."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ecv_core.figures.efold import alt_text, efold_frame, score_range
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.figures.steps import Steps
from ecv_core.records import Moment


def efold_figures(
    moments: Sequence[Moment],
    *,
    k: int,
    metric: str,
    stopped_at: int | None,
    confidence: float = 0.95,
    dark: bool = False,
    height: int = 470,
    type_scale: float = 1.0,
) -> list[go.Figure]:
    """One figure per step: before the first fold, then after each.

    Args:
        moments: all of them.
        k: folds of a whole cross-validation.
        metric: the score's name as shown.
        stopped_at: folds used (e); the stop is shown from its fold on. None where there is none.
        confidence: of the interval.
        dark: colours for a dark page.
        height: in pixels.
        type_scale: how much larger than usual all type is, for a lecture hall.
    """
    span = score_range(efold_frame(moments, stopped_at))
    figures = []
    for n in range(len(moments) + 1):
        stop = _known(stopped_at, n)
        figure = efold_figure(
            efold_frame(moments[:n], stop),
            k=k,
            metric=metric,
            stopped_at=stop,
            confidence=confidence,
            dark=dark,
            height=height,
            span=span,
        )
        if n == 0:
            figure.layout.annotations[0].text = "press play"
        figures.append(larger(figure, type_scale) if type_scale != 1.0 else figure)
    return figures


def efold_steps(
    moments: Sequence[Moment], *, k: int, metric: str, stopped_at: int | None, title: str = ""
) -> Steps:
    """Which of `efold_figures` each step shows, and its sentence for those who do not see it."""
    alts = []
    for n in range(len(moments) + 1):
        stop = _known(stopped_at, n)
        frame = efold_frame(moments[:n], stop)
        alts.append(alt_text(frame, k=k, metric=metric, stopped_at=stop, title=title))
    return Steps(variants=range(len(moments) + 1), alts=alts)


def _known(stopped_at: int | None, n: int) -> int | None:
    return stopped_at if stopped_at is not None and n >= stopped_at else None


def larger(figure: go.Figure, scale: float) -> go.Figure:
    """Figure 1 with all its type larger by this factor, in place."""
    layout = figure.layout
    layout.font.size *= scale
    layout.legend.font.size *= scale
    layout.margin.t *= scale
    for axis in (layout.xaxis, layout.yaxis, layout.yaxis2):
        axis.title.font.size = (axis.title.font.size or 17) * scale
    for note in layout.annotations:
        note.font.size *= scale
    return figure
