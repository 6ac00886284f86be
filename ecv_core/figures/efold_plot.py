"""The frame of figure 1 -> a Plotly figure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.efold import (
    HEADROOM,
    alt_text,
    band_rows,
    efold_frame,
    plot_range,
    score_range,
    side_of_stop,
    stop_words,
    whole_words,
)
from ecv_core.figures.palette import Palette, base_layout, lay_out, note, palette, plain_axis
from ecv_core.figures.steps import Steps
from ecv_core.records.run import Moment

MEAN, BAND, SCORES, WIDTH = "mean so far", "interval", "score of one fold", "interval width"
CHECKED = "folds run to check"


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
    low, top = plot_range(frame, span)
    figure = go.Figure()
    used, checked = frame[frame["used"]], frame[~frame["used"]]
    _band(
        figure,
        used,
        colours,
        colours.band,
        f"{100 * confidence:g} % {BAND} of the {frame.attrs.get('holds', 'mean')}",
    )
    if not checked.empty:
        rest = frame[frame["n"] >= (stopped_at or 0)]
        _band(figure, rest, colours, colours.faint_band, "")
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
        _stop(figure, k, stopped_at, bool(len(checked)), colours)
    if stopped_at is not None and stopped_at < k == len(frame):
        _k_fold_mean(figure, float(frame["mean"].iloc[-1]), k, colours)
    if frame.empty:
        _waiting(figure, colours)
    lay_out(
        figure,
        base_layout(colours, height),
        xaxis=plain_axis(
            "folds seen (n)",
            range=[0.5, k + 0.5],
            tickmode="linear" if k <= 20 else "auto",
            dtick=1,
            tick0=1,
            fixedrange=False,
            showgrid=False,
            showline=True,
            linecolor=colours.muted,
        ),
        yaxis=_axis(metric, colours.mean, [low, top], colours) | {"gridcolor": colours.grid},
        yaxis2=_axis("interval width", colours.width, [0, top - low], colours)
        | {"overlaying": "y", "side": "right", "showgrid": False, "rangemode": "nonnegative"},
        uirevision="figure-1",
    )
    if frame.empty and span is None:  # there is no scale yet
        figure.update_yaxes(showticklabels=False, showgrid=False)
    return figure


def _axis(title: str, colour: str, span: list[float], colours: Palette) -> dict[str, object]:
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


def _band(figure: go.Figure, rows: pd.DataFrame, colours: Palette, fill: str, name: str) -> None:
    rows = band_rows(rows)
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


def _waiting(figure: go.Figure, colours: Palette) -> None:
    figure.add_annotation(
        note(
            "waiting for the first fold",
            19,
            colours.muted,
            x=0.5,
            xref="paper",
            y=0.5,
            yref="paper",
        )
    )


def _stop(figure: go.Figure, k: int, stopped_at: int, checked: bool, colours: Palette) -> None:
    """The line, the shade behind it, and both said in the room that the axis has for it."""
    stop, rest = stop_words(k, stopped_at, checked)
    marks = 1 / (1 + HEADROOM)
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
            xanchor=side_of_stop(k, stopped_at),
        )
    )


def _k_fold_mean(figure: go.Figure, mean: float, k: int, colours: Palette) -> None:
    figure.add_scatter(
        x=[0.5, k + 0.5],
        y=[mean, mean],
        mode="lines",
        line={"color": colours.ink, "width": 1.5},
        name=whole_words(mean, k),
        hoverinfo="skip",
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
    span = span or score_range(efold_frame(moments, stopped_at))
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
    for words in layout.annotations:
        words.font.size *= scale
    return figure
