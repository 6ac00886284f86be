"""What Learn tells -> one figure each, in type for the last row of a lecture hall."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    LABEL,
    axis,
    fold_axis,
    lay_out,
    lecture_layout,
    note,
    palette,
)
from ecv_core.records.parameters import score_text


def grades_figure(frame: pd.DataFrame, graded_data: str, *, dark: bool = False) -> go.Figure:
    """Horizontal bars, the best on top.

    Args:
        frame: A row for each `model`, with its grades: the mean nDCG@10 with training or held-out
            interactions as the right answers.
        graded_data: The column of the grades to show.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    # Plotly draws the first row at the bottom, so the best model comes last. Its bar is of another
    # colour, and is not hatched.
    worst_first = frame.sort_values(graded_data)
    models = worst_first["model"].tolist()
    scores = worst_first[graded_data].tolist()
    fills = [colours.muted] * len(models)
    fills[-1] = colours.mean
    hatches = ["/"] * len(models)
    hatches[-1] = ""
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=scores,
        y=models,
        marker={"color": fills, "pattern": {"shape": hatches}},
        showlegend=False,
        customdata=[score_text(score) for score in scores],
        hovertemplate="%{y}: %{customdata}<extra></extra>",
    )
    # The words stand on the bars, because narrow screens have no room beside them.
    above_bar = {"xanchor": "left", "yanchor": "bottom", "yshift": 12, "align": "left"}
    for model, score in zip(models, scores, strict=True):
        words = f"<b>{score:.2f}</b>  {model}"
        if model == models[-1]:
            words += ", <b>best</b>"
        figure.add_annotation(note(words, LABEL, colours.ink, x=0, y=model, **above_bar))
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
    newest_draw = frame[is_newest]
    earlier_draws = frame[~is_newest]
    low = float(frame["score"].min())
    high = float(frame["score"].max())
    # If all scores are equal, the margin is 0.01.
    margin = (high - low) * 0.08 or 0.01
    figure = go.Figure()
    # All lines are one trace with gaps between them, which is drawn as fast as a single line.
    folds = []
    means = []
    for _, rows in earlier_draws.groupby("draw"):
        folds += [*rows["n"].tolist(), None]
        means += [*rows["mean"].tolist(), None]
    figure.add_scatter(
        x=folds,
        y=means,
        mode="lines",
        line={"color": colours.muted, "width": 1.5},
        opacity=0.55,
        name="earlier draws",
        showlegend=not earlier_draws.empty,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=newest_draw["n"],
        y=newest_draw["score"],
        mode="markers",
        marker={"size": 13, "color": colours.muted, "symbol": "circle-open", "line": {"width": 3}},
        name="score of one fold",
        customdata=newest_draw["score"].map(score_text),
        hovertemplate="fold %{x}: %{customdata}<extra></extra>",
    )
    figure.add_scatter(
        x=newest_draw["n"],
        y=newest_draw["mean"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 5},
        marker={"size": 14, "symbol": "diamond"},
        name="mean so far",
        customdata=newest_draw["mean"].map(score_text),
        hovertemplate="mean of %{x}: %{customdata}<extra></extra>",
    )
    mean_of_all = float(newest_draw["mean"].iloc[-1])
    figure.add_hline(
        y=mean_of_all,
        line={"color": colours.ink, "width": 2},
        annotation=note(f"mean of all {k}", LABEL, colours.ink, yshift=-6),
        annotation_position="bottom right",
    )
    return lay_out(
        figure,
        lecture_layout(colours, 400),
        xaxis=fold_axis("folds drawn (n)", k, colours),
        yaxis=axis(metric, colours, range=[low - margin, high + margin], nticks=6),
        uirevision="wander",
    )
