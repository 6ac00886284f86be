"""How the parts of a fold are spread -> stacked bars over time, histories or kinds of users."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import LABEL, axis, lecture_layout
from ecv_core.figures.palette import palette, part_styles

TITLES = {
    "time": ("", "interactions"),
    "history": ("place in each user's own history: first 0 %, last 100 %", "interactions"),
    "activity": ("users, from the least to the most active tenth", "interactions per user"),
}
"""Titles of the axes, by what the parts are spread over."""
HEADROOM = 1.2
"""Of the highest bar, where the cut's label stands above the bars."""
_LATEST = 9_000_000_000  # the year 2255; own files may have any numbers for times


def spread_figure(
    frame: pd.DataFrame,
    *,
    over: str,
    cut: int | None = None,
    dark: bool = False,
    height: int = 400,
) -> go.Figure:
    """The figure.

    Args:
        frame: columns part, low, high, count: one row per part and bin.
        over: a key of TITLES.
        cut: the point in time from which on is held out, in Unix seconds.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    figure = go.Figure(layout=lecture_layout(colours, height) | {"barmode": "stack", "bargap": 0.1})
    dated = over == "time" and frame["low"].min() >= -_LATEST and frame["high"].max() <= _LATEST
    for word, style in part_styles(colours).items():
        rows = frame[frame["part"] == word]
        if rows.empty:
            continue
        figure.add_bar(
            x=_middles(rows, over, dated),
            y=rows["count"].tolist(),
            name=word,
            marker={
                "color": style.colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": style.pattern,
                    "fillmode": "overlay",
                    "fgcolor": colours.ground,
                    "size": 7,
                    "solidity": 0.25,
                },
            },
            customdata=[
                _bin_text(low, high, over, dated)
                for low, high in zip(rows["low"], rows["high"], strict=True)
            ],
            hovertemplate="%{customdata}<br>%{y:,.4~g}<extra>" + word + "</extra>"
            if over == "activity"
            else "%{customdata}<br>%{y:,}<extra>" + word + "</extra>",
        )
    figure.update_layout(legend_traceorder="normal")
    x_title, y_title = TITLES[over]
    if over == "time":
        x_title = "" if dated else "time"
    figure.update_xaxes(
        **axis(x_title, colours, showgrid=False, type="date" if dated else "linear"),
        ticksuffix="\u00a0%" if over == "history" else "",
    )
    if over == "activity":
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(**axis(y_title, colours, rangemode="tozero", nticks=6))
    if cut is not None and over == "time":
        highest = float(frame.groupby("low")["count"].sum().max())
        figure.update_yaxes(range=[0, HEADROOM * highest])
        _line(figure, _moment(cut) if dated else float(cut), colours.ink)
    return figure


def _line(figure: go.Figure, at: datetime | float, ink: str) -> None:
    figure.add_shape(
        type="line",
        x0=at,
        x1=at,
        y0=0,
        y1=1,
        yref="paper",
        line={"color": ink, "width": 3, "dash": "dash"},
    )
    figure.add_annotation(
        x=at,
        y=1,
        yref="paper",
        xanchor="right",
        yanchor="top",
        xshift=-6,
        showarrow=False,
        text="point in time",
        font={"size": LABEL, "color": ink},
    )


def _middles(rows: pd.DataFrame, over: str, dated: bool) -> list[object]:
    if over == "activity":
        return list(range(1, len(rows) + 1))
    middles = (rows["low"] + rows["high"]) / 2
    return [_moment(one) for one in middles] if dated else middles.tolist()


def _bin_text(low: float, high: float, over: str, dated: bool) -> str:
    if dated:
        return f"{_moment(low):%Y-%m-%d} to {_moment(high):%Y-%m-%d}"
    if over == "history":
        return f"{low:.0f} to {high:.0f} % of a history"
    if over == "activity":
        return f"users with {low:,.0f} to {high:,.0f} interactions"
    return f"{low:,.0f} to {high:,.0f}"


def _moment(seconds: float | np.floating) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC).replace(tzinfo=None)
