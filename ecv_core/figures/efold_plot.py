"""Moments of a run -> figure 1, of what has run or after each fold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures import efold
from ecv_core.figures.palette import (
    Palette,
    Steps,
    base_layout,
    fold_ticks,
    lay_out,
    note,
    palette,
    plain_axis,
)
from ecv_core.figures.words import metric_label, run_title
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Moment, RunRecord

MEAN = "mean so far"
BAND = "interval"
SCORES = "score of one fold"
WIDTH = "interval width"
CHECKED = "folds run to check"


def run_figure(run: RunRecord, *, dark: bool = False, height: int = 470) -> go.Figure:
    """Figure 1 of the paper, of the folds that a run has."""
    return efold_figure(
        efold.frame_of_run(run),
        k=run.k,
        metric=metric_label(run.spec),
        stopped_at=run.stopped_at,
        confidence=run.spec.confidence,
        dark=dark,
        height=height,
    )


def run_alt_text(run: RunRecord) -> str:
    """`run_figure` in one sentence, for those who do not see it."""
    return efold.alt_text(
        efold.frame_of_run(run),
        k=run.k,
        metric=metric_label(run.spec),
        stopped_at=run.stopped_at,
        title=run_title(run),
    )


def efold_figure(
    frame: pd.DataFrame,
    *,
    k: int,
    metric: str,
    stopped_at: int | None,
    confidence: float = 0.95,
    dark: bool = False,
    height: int = 470,
    span: tuple[float, float] | None = None,
) -> go.Figure:
    """Figure 1 of the paper, a pure function of the completed folds.

    Both score axes have the same length per unit, so the green height is the blue band's thickness.

    Args:
        frame: from `efold.efold_frame`.
        k: folds of a whole cross-validation; fixes the x axis.
        metric: the score's name as shown, such as 'nDCG@10'.
        stopped_at: folds used (e); None while the run has not stopped.
        confidence: of the interval, for the legend.
        span: of the score axis; by default what fits the frame.
    """
    colours = palette(dark)
    used = frame[frame["used"]]
    checked = frame[~frame["used"]]
    figure = go.Figure()
    name = f"{percent_text(confidence, 'g')} {BAND} of the {frame.attrs.get('holds', 'mean')}"
    _add_interval_band(figure, used, colours.band, name=name)
    # What belongs to the folds that ran to check begins at the stop.
    after_stop = frame[frame["n"] >= (stopped_at or 0)]
    if not checked.empty:
        _add_interval_band(figure, after_stop, colours.faint_band, showlegend=False)
        _add_checked_means(figure, after_stop, colours)
    _add_scores(figure, used, colours, SCORES, "circle", 0.6)
    _add_scores(figure, checked, colours, CHECKED, "circle-open", 0.5)
    _add_means(figure, used, colours)
    _add_widths(figure, used, colours, opacity=1.0)
    if not checked.empty:
        _add_widths(figure, after_stop, colours, opacity=0.4, showlegend=False, hoverinfo="skip")
    if stopped_at is not None and stopped_at < k:
        _add_stop(figure, k, stopped_at, frame.attrs["checked"], colours)
        if len(frame) == k:
            _add_mean_of_all(figure, k, float(frame["mean"].iloc[-1]), colours)
    if frame.empty:
        middle = {"x": 0.5, "xref": "paper", "y": 0.5, "yref": "paper"}
        figure.add_annotation(note("no fold is finished yet", 19, colours.muted, **middle))
    folds = fold_ticks(k) | {"fixedrange": False, "linecolor": colours.muted}
    low, high = efold.plot_range(frame, span)
    scores = _value_axis(metric, colours.mean, [low, high])
    scores["gridcolor"] = colours.grid
    widths = _value_axis("interval width", colours.width, [0, high - low])
    widths |= {"overlaying": "y", "side": "right", "showgrid": False, "rangemode": "nonnegative"}
    lay_out(
        figure,
        base_layout(colours, height),
        xaxis=plain_axis("folds seen (n)", **folds),
        yaxis=scores,
        yaxis2=widths,
        uirevision="figure-1",
    )
    if frame.empty and span is None:  # there is no scale yet
        figure.update_yaxes(showticklabels=False, showgrid=False)
    return figure


def _value_axis(title: str, colour: str, span: list[float]) -> dict[str, object]:
    """An axis of scores or of widths, in the colour of what it is of."""
    tick_format = ".3~f"
    if span[1] - span[0] > 0.5:
        tick_format = ".2~f"
    return {
        "title": {"text": title, "font": {"color": colour, "size": 17}, "standoff": 8},
        "tickfont": {"color": colour},
        "range": span,
        "tickmode": "auto",
        "nticks": 7,
        "zeroline": False,
        "automargin": True,
        "fixedrange": False,
        "tickformat": tick_format,
    }


def _folds_of(rows: pd.DataFrame) -> list[float]:
    """Where rows are on the axis of folds; as a list, of which a browser can show a part."""
    folds: list[float] = rows["n"].tolist()
    return folds


def _add_interval_band(
    figure: go.Figure,
    rows: pd.DataFrame,
    fill: str,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> None:
    """The interval after each fold, shaded; `looks` are of the entry in the legend."""
    rows = efold.band_rows(rows)
    edge: dict[str, Any] = {
        "x": _folds_of(rows),
        "mode": "lines",
        "hoverinfo": "skip",
        "line": {"color": fill, "width": 2},
        "legendgroup": "band",
    }
    figure.add_scatter(y=rows["high"], showlegend=False, **edge)
    figure.add_scatter(y=rows["low"], fill="tonexty", fillcolor=fill, **edge, **looks)


def _add_scores(
    figure: go.Figure, rows: pd.DataFrame, colours: Palette, name: str, symbol: str, opacity: float
) -> None:
    """A mark at the score of each fold."""
    marker = {
        "size": 10,
        "color": colours.muted,
        "symbol": symbol,
        "opacity": opacity,
        "line": {"width": 2, "color": colours.muted},
    }
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["score"],
        mode="markers",
        marker=marker,
        name=name,
        showlegend=not rows.empty,
        hovertemplate="%{y:.4f}",
    )


def _add_means(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The mean of the folds so far, after each fold that is used."""
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["mean"],
        customdata=rows[["low", "high"]],
        mode="lines+markers",
        line={"color": colours.mean, "width": 4},
        marker={"size": 11, "symbol": "diamond"},
        name=MEAN,
        hovertemplate="%{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]",
    )


def _add_checked_means(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The mean of the folds so far, as it goes on behind the stop."""
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["mean"],
        mode="lines",
        line={"color": colours.mean, "width": 2, "dash": "dot"},
        opacity=0.7,
        showlegend=False,
        hoverinfo="skip",
    )


def _add_widths(
    figure: go.Figure,
    rows: pd.DataFrame,
    colours: Palette,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> None:
    """The width of the interval after each fold that has one, on the axis at the right."""
    rows = rows.dropna(subset=["width"])
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["width"],
        yaxis="y2",
        mode="lines+markers",
        line={"color": colours.width, "width": 3, "dash": "dash"},
        marker={"size": 9, "symbol": "square"},
        name=WIDTH,
        hovertemplate="%{y:.4f}",
        **looks,
    )


def _add_stop(figure: go.Figure, k: int, stopped_at: int, checked: bool, colours: Palette) -> None:
    """The line, the shade behind it, and both said in the room that the axis has for it."""
    stop, later_folds = efold.stop_words(k, stopped_at, checked)
    top_of_marks = 1 / (1 + efold.HEADROOM)
    figure.add_vrect(
        x0=stopped_at, x1=k + 0.5, fillcolor=colours.saved, line_width=0, layer="below"
    )
    figure.add_shape(
        type="line",
        x0=stopped_at,
        x1=stopped_at,
        y0=0,
        y1=top_of_marks,
        yref="paper",
        line={"color": colours.stop, "width": 3, "dash": "dash"},
    )
    place = {"x": stopped_at, "y": (1 + top_of_marks) / 2, "yref": "paper"}
    side = efold.side_of_stop(k, stopped_at)
    text = f"<b>{stop}</b>, {later_folds}"
    # Without its anchor Plotly hangs words that are near the top, and the line goes through them.
    figure.add_annotation(note(text, 17, colours.stop, xanchor=side, yanchor="middle", **place))


def _add_mean_of_all(figure: go.Figure, k: int, mean: float, colours: Palette) -> None:
    """A line across at the mean of all k folds."""
    figure.add_scatter(
        x=[0.5, k + 0.5],
        y=[mean, mean],
        mode="lines",
        line={"color": colours.ink, "width": 1.5},
        name=f"mean of all {k}: {mean:.4f}",
        hoverinfo="skip",
    )


# Moments of a finished run -> figure 1 after each of its folds, on axes that never move.


_ALL_DRAWN = 40
"""Folds up to which each has a figure of its own; of more, some are cut out of a later one."""
_BESIDE = 3
"""Figures before and behind the stop, and before the last fold, where what there is to see changes;
and at the beginning, where the first interval comes."""


def drawn_steps(folds: int, stopped_at: int | None) -> list[int]:
    """The numbers of folds after which a run is drawn; after others the next figure is cut.

    Args:
        folds: that the run has.
        stopped_at: folds used (e); None where there is no stop.

    Returns:
        Ascending, from 0 to `folds`. A figure between two of them shows what the latter shows up to
        its own fold, and nothing else.
    """
    if folds <= _ALL_DRAWN:
        return list(range(folds + 1))
    steps = {*range(_BESIDE + 1), *range(folds - _BESIDE, folds + 1)}
    if stopped_at is not None:
        steps.update(range(stopped_at - _BESIDE, stopped_at + _BESIDE + 1))
    return sorted(step for step in steps if 0 <= step <= folds)


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
    span: tuple[float, float] | None = None,
) -> list[go.Figure]:
    """One figure for each of `drawn_steps`: before the first fold, and after others.

    Args:
        moments: all of them.
        k: folds of a whole cross-validation.
        metric: the score's name as shown.
        stopped_at: folds used (e); the stop is shown from its fold on. None where there is none.
        confidence: of the interval.
        type_scale: how much larger than usual all type is, for a lecture hall.
        span: of the score axis; by default what fits all moments.
    """
    if span is None:
        span = efold.score_range(efold.efold_frame(moments, stopped_at))
    figures = []
    for n in drawn_steps(len(moments), stopped_at):
        stop = _stop_so_far(stopped_at, n)
        figure = efold_figure(
            efold.efold_frame(moments[:n], stop),
            k=k,
            metric=metric,
            stopped_at=stop,
            confidence=confidence,
            dark=dark,
            height=height,
            span=span,
        )
        if n == 0:
            (note_of_no_fold,) = figure.layout.annotations
            note_of_no_fold.text = "press play"
        if type_scale != 1.0:
            larger(figure, type_scale)
        figures.append(figure)
    return figures


def efold_steps(
    moments: Sequence[Moment], *, k: int, metric: str, stopped_at: int | None, title: str = ""
) -> Steps:
    """Which of `efold_figures` each step shows, and its sentence for those who do not see it."""
    whole = efold.efold_frame(moments, stopped_at)
    drawn = drawn_steps(len(moments), stopped_at)
    variants = []
    alts = []
    for n in range(len(moments) + 1):
        variants.append(bisect_left(drawn, n))
        stop = _stop_so_far(stopped_at, n)
        frame = efold.first_rows(whole, n)
        alts.append(efold.alt_text(frame, k=k, metric=metric, stopped_at=stop, title=title))
    ends: list[float] = []
    if len(drawn) < len(alts):
        ends = [n + 0.5 for n in range(len(alts))]  # before the next fold
    return Steps(variants=variants, alts=alts, ends=ends)


def _stop_so_far(stopped_at: int | None, n: int) -> int | None:
    """The stop, as far as it is known after n folds."""
    if stopped_at is None or n < stopped_at:
        return None
    return stopped_at


def larger(figure: go.Figure, scale: float) -> go.Figure:
    """Figure 1 with all its type larger by this factor, in place."""
    layout = figure.layout
    layout.font.size *= scale
    layout.legend.font.size *= scale
    layout.margin.t *= scale
    for axis in (layout.xaxis, layout.yaxis, layout.yaxis2):
        axis.title.font.size = scale * (axis.title.font.size or 17)
    for annotation in layout.annotations:
        annotation.font.size *= scale
    return figure
