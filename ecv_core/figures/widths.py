"""Intervals of growing numbers of folds -> whiskers that shrink, one of them lit along a slider."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import LABEL, axis, fold_axis, lecture_layout
from ecv_core.figures.palette import lay_out, palette
from ecv_core.figures.steps import Steps

LIT, LIT_WIDTH, SEEN = 2, 3, 4


def widths_figure(
    frame: pd.DataFrame,
    scores: list[float],
    *,
    metric: str,
    dark: bool = False,
    height: int = 420,
) -> go.Figure:
    """One interval per number of folds; `widths_steps` lights one of them.

    Args:
        frame: from `lessons.draws.widths_frame`.
        scores: of the k folds in the same order.
        metric: the score's name as shown.
        dark: colours for a dark page.
        height: in pixels.
    """
    colours = palette(dark)
    k = len(scores)
    figure = go.Figure()
    half = frame["width"] / 2
    figure.add_scatter(
        x=frame["n"],
        y=frame["mean"],
        error_y={"array": half, "thickness": 5, "width": 10, "color": colours.band},
        mode="markers",
        marker={"size": 8, "color": colours.mean, "opacity": 0.5},
        name="other numbers of folds",
        showlegend=False,
        hovertemplate="%{x} folds: %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=list(range(1, k + 1)),
        y=scores,
        mode="markers",
        marker={"size": 12, "color": colours.muted, "symbol": "circle-open", "opacity": 0.5},
        name="fold not used",
        showlegend=False,
        hovertemplate="fold %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=[],
        y=[],
        mode="lines",
        line={"color": colours.mean, "width": 11},
        name="95 % interval",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[],
        y=[],
        text=[],
        mode="markers+text",
        textposition="middle right",
        textfont={"size": LABEL, "color": colours.ink},
        marker={"size": 17, "symbol": "diamond", "color": colours.ink},
        cliponaxis=False,
        name="mean",
        hovertemplate="mean %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=[],
        y=[],
        mode="markers",
        marker={"size": 14, "color": colours.stop, "symbol": "circle"},
        name="score of one fold",
        hovertemplate="fold %{x}: %{y:.4f}<extra></extra>",
    )
    # The interval of two scores is so wide that all others would be dots: it may leave the chart.
    centre = float(frame["mean"].iloc[-1])
    later = frame[frame["n"] >= min(3, k)]
    reach = float((later["high"] - centre).abs().max())
    reach = max(reach, float((later["low"] - centre).abs().max()))
    reach = max([reach, *(abs(score - centre) for score in scores)])
    lay_out(
        figure,
        lecture_layout(colours, height)
        | {
            "xaxis": fold_axis("folds seen (n)", k, colours)
            | {"range": [0.5, k + 1.1], "tickmode": "array", "tickvals": list(range(1, k + 1))},
            "yaxis": axis(
                metric, colours, range=[centre - 1.12 * reach, centre + 1.12 * reach], nticks=6
            ),
            "uirevision": "widths",
        },
    )
    return figure


def widths_steps(frame: pd.DataFrame, scores: list[float]) -> Steps:
    """One step per number of folds, 2 .. k."""
    patches: list[dict[int, dict[str, Any]]] = []
    alts = []
    for row in frame.to_dict("records"):
        n = int(row["n"])
        low, high, width = row["low"], row["high"], row["width"]
        patches.append(
            {
                LIT: {"x": [n, n], "y": [low, high]},
                LIT_WIDTH: {
                    "x": [n],
                    "y": [row["mean"]],
                    "text": [f" <b>{width:.4f} wide</b>"],
                },
                SEEN: {"x": list(range(1, n + 1)), "y": scores[:n]},
            }
        )
        alts.append(
            f"With {n} folds the mean is {row['mean']:.4f} and its 95 % interval reaches from "
            f"{low:.4f} to {high:.4f}: {width:.4f} wide. Intervals of more folds are "
            "narrower."
        )
    return Steps(patches=patches, alts=alts)
