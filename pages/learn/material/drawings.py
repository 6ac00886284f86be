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


def grades_figure(frame: pd.DataFrame, *, held_out: bool, dark: bool = False) -> go.Figure:
    """Horizontal bars, the best on top.

    Args:
        frame: A row for each `model`, with its grades `seen` and `held_out`: the mean nDCG@10
            with training or held-out interactions as the right answers.
        held_out: Which of the two grades to show.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    column = "seen"
    if held_out:
        column = "held_out"
    rows = frame.sort_values(column)  # Plotly draws the first row at the bottom
    best = len(rows) - 1  # so the last one is the best, and looks otherwise than the others
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=rows[column],
        y=rows["model"],
        marker={
            "color": [*[colours.muted] * best, colours.mean],
            "pattern": {"shape": [*["/"] * best, ""]},
        },
        showlegend=False,
        hovertemplate="%{y}: %{x:.4f}<extra></extra>",
    )
    for place, (model, grade) in enumerate(zip(rows["model"], rows[column], strict=True)):
        words = f"<b>{grade:.2f}</b>  {model}"
        if place == best:
            words += ", <b>best</b>"
        figure.add_annotation(**bar_label(model, words, colours))
    grades = axis("nDCG@10: 0 useless, 1 perfect", colours, range=[0, 1.02])
    grades["tickvals"] = [0, 0.25, 0.5, 0.75, 1]
    return lay_out(
        figure,
        lecture_layout(colours, 330),
        margin={"l": 12, "r": 12, "t": 30, "b": 12},
        bargap=0.55,
        xaxis=grades,
        yaxis=axis("", colours, showticklabels=False, showgrid=False),
    )


def wander_figure(frame: pd.DataFrame, *, metric: str, dark: bool = False) -> go.Figure:
    """The newest draw bold, with its fold scores; all earlier ones thin.

    Args:
        frame: From `dealing.draws_frame`.
        metric: The score's name as shown.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    k = int(frame["n"].max())
    is_newest = frame["draw"] == frame["draw"].max()
    newest = frame[is_newest]
    earlier = frame[~is_newest]
    low = float(frame["score"].min())
    high = float(frame["score"].max())
    room = (high - low) * 0.08 or 0.01  # where all scores are equal there is some, too
    figure = go.Figure()
    # One trace with gaps: a hundred lines cost as much as one.
    folds: list[float | None] = []
    means: list[float | None] = []
    for _, rows in earlier.groupby("draw"):
        folds += [*rows["n"].tolist(), None]
        means += [*rows["mean"].tolist(), None]
    figure.add_scatter(
        x=folds,
        y=means,
        mode="lines",
        line={"color": colours.muted, "width": 1.5},
        opacity=0.55,
        name="earlier draws",
        showlegend=not earlier.empty,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=newest["n"],
        y=newest["score"],
        mode="markers",
        marker={"size": 13, "color": colours.muted, "symbol": "circle-open", "line": {"width": 3}},
        name="score of one fold",
        hovertemplate="fold %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=newest["n"],
        y=newest["mean"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 5},
        marker={"size": 14, "symbol": "diamond"},
        name="mean so far",
        hovertemplate="mean of %{x}: %{y:.4f}<extra></extra>",
    )
    whole = float(newest["mean"].iloc[-1])
    figure.add_hline(y=whole, line={"color": colours.ink, "width": 2})
    figure.add_annotation(
        note(
            f"mean of all {k}",
            LABEL,
            colours.ink,
            x=1,
            xref="paper",
            xanchor="right",
            y=whole,
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
