"""A run fold by fold: figure 1, and the number that decides after each fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures import efold
from ecv_core.figures.palette import (
    BIG,
    Palette,
    Steps,
    axis,
    base_layout,
    fold_axis,
    fold_ticks,
    lay_out,
    lecture_layout,
    note,
    palette,
    plain_axis,
)
from ecv_core.figures.words import metric_label
from ecv_core.records.run import Moment, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES

MEAN, BAND, SCORES, WIDTH = "mean so far", "interval", "score of one fold", "interval width"
CHECKED = "folds run to check"


def run_figure(run: RunRecord, *, dark: bool = False, height: int = 470) -> go.Figure:
    """Figure 1 of the paper, of the folds that a run has."""
    return efold_figure(
        efold.efold_frame(run.moments, run.stopped_at, checked=run.checked),
        k=run.k,
        metric=metric_label(run.spec),
        stopped_at=run.stopped_at,
        confidence=run.spec.confidence,
        dark=dark,
        height=height,
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
    low, top = efold.plot_range(frame, span)
    figure = go.Figure()
    used, checked = frame[frame["used"]], frame[~frame["used"]]
    _band(
        figure,
        used,
        colours.band,
        f"{100 * confidence:g} % {BAND} of the {frame.attrs.get('holds', 'mean')}",
    )
    if not checked.empty:
        rest = frame[frame["n"] >= (stopped_at or 0)]
        _band(figure, rest, colours.faint_band, "")
        figure.add_scatter(
            x=rest["n"],
            y=rest["mean"],
            mode="lines",
            line={"color": colours.mean, "width": 2, "dash": "dot"},
            opacity=0.7,
            showlegend=False,
            hoverinfo="skip",
        )
    _scores(figure, used, colours, SCORES, "circle", 0.6)
    _scores(figure, checked, colours, CHECKED, "circle-open", 0.5)
    _means(figure, used, colours)
    _widths(figure, used, colours, 1.0)
    if not checked.empty:
        _widths(figure, frame[frame["n"] >= (stopped_at or 0)], colours, 0.4)
    if stopped_at is not None and stopped_at < k:
        _stop(figure, k, stopped_at, frame.attrs["checked"], colours)
    if stopped_at is not None and stopped_at < k == len(frame):
        mean = float(frame["mean"].iloc[-1])
        figure.add_scatter(
            x=[0.5, k + 0.5],
            y=[mean, mean],
            mode="lines",
            line={"color": colours.ink, "width": 1.5},
            name=f"mean of all {k}: {mean:.4f}",
            hoverinfo="skip",
        )
    if frame.empty:
        middle = {"x": 0.5, "xref": "paper", "y": 0.5, "yref": "paper"}
        figure.add_annotation(note("no fold has finished yet", 19, colours.muted, **middle))
    lay_out(
        figure,
        base_layout(colours, height),
        xaxis=plain_axis(
            "folds seen (n)", fixedrange=False, linecolor=colours.muted, **fold_ticks(k)
        ),
        yaxis=_axis(metric, colours.mean, [low, top]) | {"gridcolor": colours.grid},
        yaxis2=_axis("interval width", colours.width, [0, top - low])
        | {"overlaying": "y", "side": "right", "showgrid": False, "rangemode": "nonnegative"},
        uirevision="figure-1",
    )
    if frame.empty and span is None:  # there is no scale yet
        figure.update_yaxes(showticklabels=False, showgrid=False)
    return figure


def _axis(title: str, colour: str, span: list[float]) -> dict[str, object]:
    return {
        "title": {"text": title, "font": {"color": colour, "size": 17}, "standoff": 8},
        "tickfont": {"color": colour},
        "range": span,
        "tickmode": "auto",
        "nticks": 7,
        "zeroline": False,
        "automargin": True,
        "fixedrange": False,
        "tickformat": ".2~f" if span[1] - span[0] > 0.5 else ".3~f",
    }


def _band(figure: go.Figure, rows: pd.DataFrame, fill: str, name: str) -> None:
    rows = efold.band_rows(rows)
    edge = {"color": fill, "width": 2}
    common = {"x": rows["n"], "mode": "lines", "hoverinfo": "skip", "line": edge}
    figure.add_scatter(y=rows["high"], showlegend=False, legendgroup="band", **common)
    figure.add_scatter(
        y=rows["low"],
        fill="tonexty",
        fillcolor=fill,
        name=name,
        showlegend=bool(name),
        legendgroup="band",
        **common,
    )


def _scores(
    figure: go.Figure, rows: pd.DataFrame, colours: Palette, name: str, symbol: str, opacity: float
) -> None:
    figure.add_scatter(
        x=rows["n"],
        y=rows["score"],
        mode="markers",
        marker={
            "size": 10,
            "color": colours.muted,
            "symbol": symbol,
            "opacity": opacity,
            "line": {"width": 2, "color": colours.muted},
        },
        name=name,
        showlegend=not rows.empty,
        hovertemplate="%{y:.4f}",
    )


def _means(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    figure.add_scatter(
        x=rows["n"],
        y=rows["mean"],
        customdata=rows[["low", "high"]],
        mode="lines+markers",
        line={"color": colours.mean, "width": 4},
        marker={"size": 11, "symbol": "diamond"},
        name=MEAN,
        hovertemplate="%{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]",
    )


def _widths(figure: go.Figure, rows: pd.DataFrame, colours: Palette, opacity: float) -> None:
    rows = rows.dropna(subset=["width"])
    figure.add_scatter(
        x=rows["n"],
        y=rows["width"],
        yaxis="y2",
        mode="lines+markers",
        opacity=opacity,
        line={"color": colours.width, "width": 3, "dash": "dash"},
        marker={"size": 9, "symbol": "square"},
        name=WIDTH,
        showlegend=opacity == 1.0,
        hovertemplate="%{y:.4f}",
        hoverinfo=None if opacity == 1.0 else "skip",
    )


def _stop(figure: go.Figure, k: int, stopped_at: int, checked: bool, colours: Palette) -> None:
    """The line, the shade behind it, and both said in the room that the axis has for it."""
    stop, rest = efold.stop_words(k, stopped_at, checked)
    marks = 1 / (1 + efold.HEADROOM)
    figure.add_vrect(
        x0=stopped_at, x1=k + 0.5, fillcolor=colours.saved, line_width=0, layer="below"
    )
    figure.add_shape(
        type="line",
        x0=stopped_at,
        x1=stopped_at,
        y0=0,
        y1=marks,
        yref="paper",
        line={"color": colours.stop, "width": 3, "dash": "dash"},
    )
    figure.add_annotation(
        note(
            f"<b>{stop}</b>, {rest}",
            17,
            colours.stop,
            x=stopped_at,
            y=(1 + marks) / 2,
            yref="paper",
            xanchor=efold.side_of_stop(k, stopped_at),
        )
    )


# Moments of a finished run -> figure 1 after each of its folds, on axes that never move.


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
    """One figure per step: before the first fold, then after each.

    Args:
        moments: all of them.
        k: folds of a whole cross-validation.
        metric: the score's name as shown.
        stopped_at: folds used (e); the stop is shown from its fold on. None where there is none.
        confidence: of the interval.
        type_scale: how much larger than usual all type is, for a lecture hall.
        span: of the score axis; by default what fits all moments.
    """
    span = span or efold.score_range(efold.efold_frame(moments, stopped_at))
    figures = []
    for n in range(len(moments) + 1):
        stop = _known(stopped_at, n)
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
        frame = efold.efold_frame(moments[:n], stop)
        alts.append(efold.alt_text(frame, k=k, metric=metric, stopped_at=stop, title=title))
    return Steps(variants=range(len(moments) + 1), alts=alts)


def _known(stopped_at: int | None, n: int) -> int | None:
    return stopped_at if stopped_at is not None and n >= stopped_at else None


def larger(figure: go.Figure, scale: float) -> go.Figure:
    """Figure 1 with all its type larger by this factor, in place."""
    layout = figure.layout
    layout.font.size *= scale
    layout.legend.font.size *= scale
    layout.margin.t *= scale
    for each in (layout.xaxis, layout.yaxis, layout.yaxis2):
        each.title.font.size = (each.title.font.size or 17) * scale
    for words in layout.annotations:
        words.font.size *= scale
    return figure


# The number that decides after each fold, falling to the line at which the rule stops.


LINE, ABOVE, REACHED, LIMIT, STOP = range(5)
"""Numbers of the traces."""


def threshold_figure(
    moments: Sequence[Moment],
    spec: RunSpec,
    *,
    dark: bool = False,
    height: int = 400,
    span: Sequence[float] = (),
) -> go.Figure:
    """What decides after each fold, filled where the rule may stop, and the stop.

    Args:
        moments: of the run, as its rule told it.
        spec: of the run, or of its telling; its rule has an axis and says what is watched.
        span: numbers that the axis has room for; by default those that are shown.
    """
    rule, colours = RULES[spec.rule], palette(dark)
    assert rule.axis is not None
    assert rule.watched is not None
    logarithmic = rule.axis.scale == "logarithmic"
    values = rule.values(spec)
    limit = float(values[rule.axis.name])
    decides = {
        moment.n: number
        for moment, number in zip(moments, rule.watched.of(moments, values), strict=True)
        if number is not None and (number > 0 or not logarithmic)
    }
    low, high = _range(span or [*decides.values(), limit], logarithmic)
    stop = next((moment.n for moment in moments if moment.decision.stop), None)
    figure = go.Figure()
    figure.add_scatter(
        x=list(decides),
        y=list(decides.values()),
        mode="lines",
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
    )
    for name, symbol, reached in (
        ("above the line: go on", "circle-open", False),
        ("at most the line", "circle", True),
    ):
        some = {n: number for n, number in decides.items() if (number <= limit) is reached}
        figure.add_scatter(
            x=list(some),
            y=list(some.values()),
            mode="markers",
            marker={
                "size": 20,
                "symbol": symbol,
                "color": colours.width,
                "line": {"width": 4, "color": colours.width},
            },
            name=name,
            zorder=1,
            hovertemplate="after fold %{x}: %{y:.2e}<extra></extra>",
        )
    ends = [0.5, spec.max_folds + 0.5]
    text = rule.axis.in_words(limit)
    _named_line(figure, ends, [limit] * 2, text, "top left", colours.mean)
    if stop is not None and stop < spec.max_folds:
        figure.add_vrect(x0=stop, x1=ends[1], fillcolor=colours.saved, line_width=0, layer="below")
    if stop is not None:
        top = high / (high / low) ** 0.04 if logarithmic else high - 0.04 * (high - low)
        _named_line(
            figure, [stop] * 2, [low, top], f" stop after {stop}", "bottom right", colours.stop
        )
    looks: dict[str, Any] = {"range": [low, high]}
    if logarithmic:
        exponents = [float(np.log10(end)) for end in (low, high)]
        looks = {"type": "log", "exponentformat": "power", "dtick": 1, "range": exponents}
    elif rule.axis.scale == "percent":
        looks["tickformat"] = ".1%"
    return lay_out(
        figure,
        lecture_layout(colours, height),
        xaxis=fold_axis("folds seen (n)", spec.max_folds, colours),
        yaxis=axis(rule.watched.label.lower(), colours, **looks),
        uirevision="threshold",
    )


def _named_line(
    figure: go.Figure, x: Sequence[float], y: Sequence[float], text: str, where: str, colour: str
) -> None:
    """A line with its name at its second end."""
    figure.add_scatter(
        x=x,
        y=y,
        text=["", text],
        mode="lines+text",
        textposition=where,
        textfont={"size": BIG, "color": colour},
        line={"color": colour, "width": 5},
        cliponaxis=False,
        name=text.strip(),
        showlegend=False,
        hoverinfo="skip",
    )


def _range(numbers: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    """Whole powers of ten around the numbers, or from zero to above them."""
    if not logarithmic:
        return 0.0, 1.1 * max(numbers)
    low, high = np.log10(min(numbers)), np.log10(max(numbers))
    return float(10.0 ** np.floor(low)), float(10.0 ** np.ceil(high))


PICTURES: dict[str, Callable[..., go.Figure]] = {"threshold": threshold_figure}
"""What can explain the decisions of a rule, by the name that it says as its `picture`."""
