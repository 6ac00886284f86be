"""Running means of random draws of the folds -> lines that wander and meet."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import LABEL, axis, fold_axis, lecture_layout
from ecv_core.figures.palette import lay_out, palette


def wander_figure(
    frame: pd.DataFrame, *, metric: str, dark: bool = False, height: int = 420
) -> go.Figure:
    """The newest draw bold, with its fold scores; all earlier ones thin.

    Args:
        frame: from `lessons.draws.draws_frame`.
        metric: the score's name as shown.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    k, newest = int(frame["n"].max()), int(frame["draw"].max())
    low, high = float(frame["score"].min()), float(frame["score"].max())
    room = (high - low) * 0.08 or 0.01
    earlier, last = frame[frame["draw"] < newest], frame[frame["draw"] == newest]
    figure = go.Figure()
    # One trace with gaps: a hundred lines cost as much as one.
    x: list[float | None] = []
    y: list[float | None] = []
    for _, rows in earlier.groupby("draw"):
        x += [*rows["n"].tolist(), None]
        y += [*rows["mean"].tolist(), None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colours.muted, "width": 1.5},
        opacity=0.55,
        name="earlier draws",
        showlegend=not earlier.empty,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=last["n"],
        y=last["score"],
        mode="markers",
        marker={"size": 13, "color": colours.muted, "symbol": "circle-open", "line": {"width": 3}},
        name="score of one fold",
        hovertemplate="fold %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=last["n"],
        y=last["mean"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 5},
        marker={"size": 14, "symbol": "diamond"},
        name="mean so far",
        hovertemplate="mean of %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_hline(y=float(last["mean"].iloc[-1]), line={"color": colours.ink, "width": 2})
    figure.add_annotation(
        x=1,
        xref="paper",
        xanchor="right",
        y=float(last["mean"].iloc[-1]),
        yanchor="top",
        yshift=-6,
        text=f"mean of all {k}",
        showarrow=False,
        font={"color": colours.ink, "size": LABEL},
    )
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "xaxis": fold_axis("folds drawn (n)", k, colours),
            "yaxis": axis(metric, colours, range=[low - room, high + room], nticks=6),
            "uirevision": "wander",
        },
    )
    return figure
