"""What Learn tells -> one figure each, in type for the last row of a lecture hall."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    LABEL,
    axis,
    bar_label,
    fold_axis,
    lay_out,
    lecture_layout,
    note,
    palette,
)

GRADES_COLUMNS = {
    "model": "as shown",
    "seen": "mean nDCG@10 with the training interactions as the right answers",
    "held_out": "mean nDCG@10 with the held-out interactions as the right answers",
}
"""The columns of the frame of grades."""


def grades_figure(frame: pd.DataFrame, *, held_out: bool, dark: bool = False) -> go.Figure:
    """Horizontal bars, the best on top.

    Args:
        frame: with the GRADES_COLUMNS.
        held_out: which of the two grades to show.
    """
    colours = palette(dark)
    column = "held_out" if held_out else "seen"
    rows = frame.sort_values(column)  # Plotly draws the first row at the bottom
    best = rows["model"].iloc[-1]
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=rows[column],
        y=rows["model"],
        marker={
            "color": [colours.mean if model == best else colours.muted for model in rows["model"]],
            "pattern": {"shape": ["" if model == best else "/" for model in rows["model"]]},
        },
        showlegend=False,
        hovertemplate="%{y}: %{x:.4f}<extra></extra>",
    )
    for model, value in zip(rows["model"], rows[column], strict=True):
        words = f"<b>{value:.2f}</b>  {model}" + (", <b>best</b>" if model == best else "")
        figure.add_annotation(**bar_label(model, words, colours))
    return lay_out(
        figure,
        lecture_layout(colours, 330),
        margin={"l": 12, "r": 12, "t": 30, "b": 12},
        bargap=0.55,
        xaxis=axis("nDCG@10: 0 useless, 1 perfect", colours, range=[0, 1.02])
        | {"tickvals": [0, 0.25, 0.5, 0.75, 1]},
        yaxis=axis("", colours, showticklabels=False, showgrid=False),
    )


def wander_figure(frame: pd.DataFrame, *, metric: str, dark: bool = False) -> go.Figure:
    """The newest draw bold, with its fold scores; all earlier ones thin.

    Args:
        frame: from `lessons.folds.draws_frame`.
        metric: the score's name as shown.
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
        note(
            f"mean of all {k}",
            LABEL,
            colours.ink,
            x=1,
            xref="paper",
            xanchor="right",
            y=float(last["mean"].iloc[-1]),
            yanchor="top",
            yshift=-6,
        )
    )
    return lay_out(
        figure,
        lecture_layout(colours, 400),
        xaxis=fold_axis("folds drawn (n)", k, colours),
        yaxis=axis(metric, colours, range=[low - room, high + room], nticks=6),
        uirevision="wander",
    )
