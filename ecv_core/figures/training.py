"""Curves of a run's folds, step by step of their fits -> a tidy frame -> a figure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette, plain_axis

COLUMNS = ("fold", "epoch", "ndcg", "best", "newest")
METRIC = "inner nDCG@100"
"""What models stop early by, higher is better."""
HELD_OUT = "RMSE of the held-out ratings"
"""What models of ratings report, lower is better; nothing is stopped or chosen by it."""


def training_frame(curves: Sequence[tuple[int, Sequence[float]]]) -> pd.DataFrame:
    """One row per fold and epoch.

    Args:
        curves: (fold, FoldResult.inner_curve), newest fold last.
    Returns: columns COLUMNS; `best` marks the first best epoch of each fold, `newest` the rows of
        the last fold.
    """
    rows = [
        {
            "fold": fold,
            "epoch": epoch,
            "ndcg": value,
            "best": epoch == list(curve).index(max(curve)) + 1,
            "newest": at == len(curves) - 1,
        }
        for at, (fold, curve) in enumerate(curves)
        for epoch, value in enumerate(curve, start=1)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def training_text(frame: pd.DataFrame, metric: str = METRIC) -> str:
    """What the newest curve says, in one sentence; empty without a curve.

    Args:
        frame: from `training_frame`.
        metric: METRIC, or HELD_OUT, which has no best to be chosen by.
    """
    newest = frame[frame["newest"]]
    if newest.empty:
        return ""
    best, last = newest[newest["best"]].iloc[0], newest.iloc[-1]
    if metric == HELD_OUT:
        return f"Fold {last['fold']}: {HELD_OUT} {last['ndcg']:.4f} after step {last['epoch']}."
    found = f"Fold {last['fold']}: best {METRIC} {best['ndcg']:.4f} in epoch {best['epoch']}"
    if best["epoch"] == last["epoch"]:
        return f"{found}, the newest."
    return f"{found}, {last['ndcg']:.4f} in epoch {last['epoch']}."


def training_figure(
    frame: pd.DataFrame,
    *,
    epochs: int,
    metric: str = METRIC,
    dark: bool = False,
) -> go.Figure:
    """The newest fold's curve, and the earlier folds' behind it; a star marks the best epoch.

    Args:
        frame: from `training_frame`.
        epochs: at most so many; fixes the x axis while no fold has stopped.
        metric: METRIC, or HELD_OUT, which has no best to be chosen by.
    """
    colours = palette(dark)
    figure = go.Figure()
    step = "epoch" if metric == METRIC else "step"
    hover = "fold %{meta}, " + step + " %{x}<br>" + metric + " %{y:.4f}<extra></extra>"
    for fold, rows in frame.groupby("fold", sort=False):
        newest = bool(rows["newest"].iloc[0])
        colour, width = (colours.mean, 4) if newest else (colours.muted, 1.5)
        figure.add_scatter(
            x=rows["epoch"],
            y=rows["ndcg"],
            mode="lines",
            meta=fold,
            name=f"fold {fold}" if newest else "earlier folds",
            line={"color": colour, "width": width},
            opacity=1 if newest else 0.45,
            showlegend=False,
            hovertemplate=hover,
        )
        if newest and metric == METRIC:
            best = rows[rows["best"]].iloc[0]
            figure.add_scatter(
                x=[best["epoch"]],
                y=[best["ndcg"]],
                mode="markers+text",
                marker={"symbol": "star", "size": 17, "color": colours.stop},
                text=[f"best: epoch {best['epoch']}"],
                textposition="bottom left",
                textfont={"size": 16, "color": colours.ink},
                cliponaxis=False,
                showlegend=False,
                hoverinfo="skip",
            )
    longest = int(frame["epoch"].max()) if len(frame) else epochs
    return lay_out(
        figure,
        base_layout(colours, 280),
        margin={"l": 12, "r": 20, "t": 20, "b": 12},
        xaxis=plain_axis(
            step, range=[0.5, min(epochs, max(10, 1.15 * longest)) + 0.5], showgrid=False
        ),
        yaxis=plain_axis(metric, gridcolor=colours.grid, nticks=5, tickformat=".3~f"),
        uirevision="training",
    )
