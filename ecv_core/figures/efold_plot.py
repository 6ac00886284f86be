"""Moments of a run -> figure 1, of what has run or after each fold."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.efold import FoldHistory, alt_text, history_of_run, score_range
from ecv_core.figures.palette import (
    Looks,
    Palette,
    Span,
    Step,
    base_layout,
    fold_ticks,
    lay_out,
    note,
    palette,
    plain_axis,
)
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import RunRecord

MEAN = "mean so far"
BAND = "interval"
SCORES = "score of one fold"
WIDTH = "interval width"
CHECKED = "folds run to check"

_HEADROOM = 0.13
"""Of the score axis, above all marks: there the stop is named, where nothing is overprinted."""
_TOP_OF_MARKS = 1 / (1 + _HEADROOM)
"""Where the headroom begins, as a share of the axis."""
_SHORTEST = 1e-12
"""Length of an axis below which its ticks need not differ: they would by rounding."""
_AXIS_TITLE_SIZE = 17
"""Pixels of the type of an axis's title."""


def run_figure(run: RunRecord, *, dark: bool = False, height: int = 470) -> go.Figure:
    """Figure 1 of the paper, of the folds that a run has."""
    return efold_figure(history_of_run(run), dark=dark, height=height)


def run_alt_text(run: RunRecord) -> str:
    """`run_figure` in one sentence, for those who do not see it."""
    return alt_text(history_of_run(run))


def efold_figure(
    history: FoldHistory,
    *,
    dark: bool = False,
    height: int = 470,
    type_scale: float = 1.0,
    span: Span | None = None,
    note_if_empty: str = "no fold is finished yet",
) -> go.Figure:
    """Figure 1 of the paper, a pure function of the completed folds.

    Both score axes have the same length per unit, so the green height is the blue band's thickness.

    Args:
        history: What is shown.
        dark: Whether the page is dark.
        height: In pixels.
        type_scale: How much larger than usual all type is, for a lecture hall.
        span: The span of the marks on the score axis; by default what fits those of the history.
        note_if_empty: What stands in the figure before the first fold.
    """
    colours = palette(dark)
    frame = history.frame()
    used_folds = frame[frame["used"]]
    # Folds after the stop ran to check it. Their lines begin at the last fold that is used, so that
    # they join those of the folds used.
    checked_folds = frame[~frame["used"]]
    from_stop_on = frame[len(used_folds) - 1 :]
    figure = go.Figure()
    band_name = f"{percent_text(history.confidence, 'g')} {BAND} of the {history.interval_kind}"
    _add_interval_band(figure, used_folds, colours.band, name=band_name)
    if not checked_folds.empty:
        _add_interval_band(figure, from_stop_on, colours.faint_band, showlegend=False)
        _add_checked_means(figure, from_stop_on, colours)
    _add_scores(figure, used_folds, colours, SCORES, "circle", 0.6)
    _add_scores(figure, checked_folds, colours, CHECKED, "circle-open", 0.5)
    _add_means(figure, used_folds, colours)
    _add_widths(figure, used_folds, colours, opacity=1.0)
    if not checked_folds.empty:
        _add_widths(figure, from_stop_on, colours, opacity=0.4, showlegend=False, hoverinfo="skip")
    if history.early_stop is not None:
        _add_stop(figure, history, history.early_stop, colours)
        if history.has_all_folds:
            _add_mean_of_all(figure, history.k, history.moments[-1].mean, colours)
    if frame.empty:
        middle = {"x": 0.5, "xref": "paper", "y": 0.5, "yref": "paper"}
        figure.add_annotation(note(note_if_empty, 19, colours.muted, **middle))
    low, high = span or score_range(frame)
    lay_out(
        figure,
        base_layout(colours, height),
        **_axes(history, low, high, colours),
        uirevision="figure-1",
    )
    if frame.empty and span is None:  # without a fold there is no scale for this axis
        figure.update_yaxes(showticklabels=False, showgrid=False)
    _enlarge_type(figure, type_scale)
    return figure


def _axes(history: FoldHistory, low: float, high: float, colours: Palette) -> dict[str, Looks]:
    """The axes of folds, of scores from low to high, and of widths.

    Those of scores and widths are equally long: a width is as high as the interval band is thick.
    """
    length = (1 + _HEADROOM) * (high - low)
    score_axis = _value_axis(history.metric, colours.mean, [low, low + length])
    score_axis["gridcolor"] = colours.grid
    width_axis = _value_axis(WIDTH, colours.width, [0, length])
    width_axis |= {
        "overlaying": "y",
        "side": "right",
        "showgrid": False,
        "rangemode": "nonnegative",
    }
    folds = fold_ticks(history.k) | {"fixedrange": False, "linecolor": colours.muted}
    return {
        "xaxis": plain_axis("folds seen (n)", **folds),
        "yaxis": score_axis,
        "yaxis2": width_axis,
    }


def _value_axis(title: str, colour: str, span: list[float]) -> Looks:
    """An axis of scores or of widths, in the colour of what it is of."""
    low, high = span
    # Some seven ticks differ in the second digit of the span: 0.01 and 0.015 of 0.06.
    length = min(max(high - low, _SHORTEST), 1.0)
    decimals = 2 - math.floor(math.log10(length))
    axis = plain_axis(
        title,
        size=_AXIS_TITLE_SIZE,
        standoff=8,
        tickfont={"color": colour},
        range=span,
        tickmode="auto",
        nticks=7,
        fixedrange=False,
        tickformat=f".{decimals}~f",
    )
    axis["title"]["font"]["color"] = colour
    return axis


def _folds_of(rows: pd.DataFrame) -> list[float]:
    """Where rows are on the axis of folds; as a list, of which a browser can show a part."""
    return rows["n"].tolist()


def _add_interval_band(
    figure: go.Figure,
    rows: pd.DataFrame,
    fill: str,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> None:
    """The interval after each fold, shaded; `looks` are of the entry in the legend."""
    rows = rows.dropna(subset=["width"])
    if len(rows) == 1:
        # A band over a single fold would have no area, so it is drawn as a narrow strip.
        fold = rows["n"].iloc[0]
        rows = pd.concat([rows, rows]).assign(n=[fold - 0.1, fold + 0.1])
    edge = {
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
        customdata=rows["score"].map(score_text),
        hovertemplate="%{customdata}",
    )


def _add_means(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The mean of the folds so far, after each fold that is used."""
    hover_words = [_mean_words(row) for _, row in rows.iterrows()]
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["mean"],
        customdata=hover_words,
        mode="lines+markers",
        line={"color": colours.mean, "width": 4},
        marker={"size": 11, "symbol": "diamond"},
        name=MEAN,
        hovertemplate="%{customdata}",
    )


def _mean_words(row: pd.Series) -> str:
    """'0.3000 [0.2900, 0.3100]': a mean and its interval, where it has one."""
    mean = score_text(row["mean"])
    if pd.isna(row["width"]):
        return mean
    return f"{mean} [{score_text(row['low'])}, {score_text(row['high'])}]"


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
    line = {"color": colours.width, "width": 3, "dash": "dash"}
    figure.add_scatter(
        x=_folds_of(rows),
        y=rows["width"],
        yaxis="y2",
        mode="lines+markers",
        line=line,
        marker={"size": 9, "symbol": "square"},
        name=WIDTH,
        customdata=rows["width"].map(score_text),
        hovertemplate="%{customdata}",
        **looks,
    )


def _add_stop(figure: go.Figure, history: FoldHistory, stop: int, colours: Palette) -> None:
    """The line, the shade behind it, and both said in the room that the axis has for it."""
    k = history.k
    figure.add_vrect(x0=stop, x1=k + 0.5, fillcolor=colours.saved, line_width=0, layer="below")
    figure.add_shape(
        type="line",
        x0=stop,
        x1=stop,
        y0=0,
        y1=_TOP_OF_MARKS,
        yref="paper",
        line={"color": colours.stop, "width": 3, "dash": "dash"},
    )
    # Near an end of the axis, the words stand on the side of the stop that has room for them.
    side = "center"
    if stop < k / 3:
        side = "left"
    elif stop > 2 * k / 3:
        side = "right"
    place = {"x": stop, "xanchor": side, "y": (1 + _TOP_OF_MARKS) / 2, "yref": "paper"}
    text = f"<b>stop after {stop}</b>, {history.later_folds_words(stop)}"
    # Plotly would put words near the top below their place, where the line goes through them, if
    # `yanchor` did not centre them.
    figure.add_annotation(note(text, 17, colours.stop, yanchor="middle", **place))


def _add_mean_of_all(figure: go.Figure, k: int, mean: float, colours: Palette) -> None:
    """A line across at the mean of all k folds."""
    figure.add_scatter(
        x=[0.5, k + 0.5],
        y=[mean, mean],
        mode="lines",
        line={"color": colours.ink, "width": 1.5},
        name=f"mean of all {k}: {score_text(mean)}",
        hoverinfo="skip",
    )


def _enlarge_type(figure: go.Figure, scale: float) -> None:
    """Make all type of figure 1 larger by this factor, in place."""
    layout = figure.layout
    layout.font.size *= scale
    layout.legend.font.size *= scale
    layout.margin.t *= scale
    for axis in (layout.xaxis, layout.yaxis, layout.yaxis2):
        # The axis of folds leaves the size at its default.
        usual_size = axis.title.font.size or _AXIS_TITLE_SIZE
        axis.title.font.size = scale * usual_size
    for annotation in layout.annotations:
        annotation.font.size *= scale


# Moments of a finished run -> figure 1 after each of its folds, on axes that never move.


_MOST_FOLDS_ALL_DRAWN = 40
"""Folds up to which each has a figure of its own; of more, some are cut out of a later one."""
_FIGURES_TO_EACH_SIDE = 3
"""Figures before and behind the stop, and before the last fold, where what there is to see changes;
and at the beginning, where the first interval comes."""


def drawn_steps(history: FoldHistory) -> list[int]:
    """The numbers of folds after which a run is drawn; after others the next figure is cut.

    Returns:
        Ascending, from 0 to the number of folds that the run has. A figure between two of them
        shows what the latter shows up to its own fold, and nothing else.
    """
    folds = len(history.moments)
    if folds <= _MOST_FOLDS_ALL_DRAWN:
        return list(range(folds + 1))
    # With many folds, there are figures only where more happens than that one point is added: at
    # the beginning, around the stop, and at the end.
    steps = {*range(_FIGURES_TO_EACH_SIDE + 1), *range(folds - _FIGURES_TO_EACH_SIDE, folds + 1)}
    stop = history.stopped_at
    if stop is not None:
        steps.update(range(stop - _FIGURES_TO_EACH_SIDE, stop + _FIGURES_TO_EACH_SIDE + 1))
    return sorted(step for step in steps if 0 <= step <= folds)


def efold_figures(
    history: FoldHistory,
    *,
    dark: bool = False,
    height: int = 470,
    type_scale: float = 1.0,
    span: Span | None = None,
) -> list[go.Figure]:
    """One figure for each of `drawn_steps`: before the first fold, and after others.

    Args:
        history: All folds; the stop is shown from its fold on.
        dark: Whether the page is dark.
        height: In pixels.
        type_scale: See `efold_figure`.
        span: The span of the score axis; by default what fits all moments.
    """
    if span is None:
        span = score_range(history.frame())
    figures = []
    for n in drawn_steps(history):
        figure = efold_figure(
            history.after(n),
            dark=dark,
            height=height,
            type_scale=type_scale,
            span=span,
            note_if_empty="press play",
        )
        figures.append(figure)
    return figures


def efold_steps(history: FoldHistory) -> list[Step]:
    """Which of `efold_figures` each step shows, and its sentence for those who do not see it.

    Returns:
        One before the first fold, and one after each.
    """
    folds = len(history.moments)
    drawn = drawn_steps(history)
    steps = []
    for n in range(folds + 1):
        # If no figure has exactly these n folds, the next larger one is shown, cut after the
        # n-th fold.
        figure_number = bisect_left(drawn, n)
        largest_x = None
        if folds > _MOST_FOLDS_ALL_DRAWN:
            largest_x = n + 0.5
        step = Step(figure=figure_number, largest_x=largest_x, alt=alt_text(history.after(n)))
        steps.append(step)
    return steps
