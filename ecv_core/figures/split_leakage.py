"""Leakage of several strategies -> one row each, one mark per notion of helping."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import TEXT, axis, lecture_layout
from ecv_core.figures.palette import palette

MARKS = {
    "anyone": ("anyone's", "circle", 0),
    "item": ("of the same item", "diamond", 1),
    "own": ("of the same user", "square", 2),
}
"""Notion of helping -> its words, symbol and number of the series."""
ROW, FRAME = 44, 130
APART = 0.26
"""Rows between the marks of one strategy: shares that are equal are all seen."""


def leakage_height(frame: pd.DataFrame) -> int:
    """Pixels that `leakage_figure` needs for these strategies."""
    return FRAME + ROW * frame["split"].nunique()


def leakage_figure(frame: pd.DataFrame, *, chosen: str = "", dark: bool = False) -> go.Figure:
    """The figure.

    Args:
        frame: columns split, helps (a key of MARKS) and percent.
        chosen: the strategy whose name is set off.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    figure = go.Figure(layout=lecture_layout(colours, leakage_height(frame)))
    names = list(dict.fromkeys(frame["split"]))
    for helps, (words, symbol, number) in MARKS.items():
        rows = frame[frame["helps"] == helps]
        if rows.empty:
            continue
        figure.add_scatter(
            x=rows["percent"].tolist(),
            y=[names.index(name) + (number - 1) * APART for name in rows["split"]],
            customdata=rows["split"].tolist(),
            mode="markers",
            name=words,
            marker={
                "symbol": symbol,
                "size": 13,
                "color": colours.series[number],
                "line": {"color": colours.ground, "width": 1.5},
            },
            hovertemplate="%{customdata}<br>%{x:.1f} % of the pairs leak<extra>"
            + words
            + "</extra>",
        )
    figure.update_xaxes(
        **axis("training that lies later", colours, rangemode="tozero", ticksuffix="\u00a0%")
    )
    highest = max(60.0, float(frame["percent"].max()) * 1.05)
    figure.update_xaxes(range=[-2, highest], nticks=6)
    figure.update_yaxes(
        **axis(
            "",
            colours,
            range=[len(names) - 0.5, -0.5],
            tickvals=list(range(len(names))),
            ticktext=[f"<b>{name}</b>" if name == chosen else name for name in names],
            tickfont={"size": TEXT - 2},
        )
    )
    return figure
