"""Scores under two splits -> one point per algorithm, as figure 2 of Meng et al. (2020)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette

HEIGHT, WIDTH = 540, 640
"""Pixels; on a narrower page the figure scrolls sideways."""


def rank_scatter_figure(
    points: pd.DataFrame, metric: str, tau: str, *, dark: bool = False
) -> go.Figure:
    """Each algorithm by its scores under both splits, with intervals, name and both ranks.

    Args:
        points: as `rank_swaps.points_frame` makes it.
        metric: its name as shown.
        tau: Kendall's tau between both, as shown.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    across, upwards = points["split"].iloc[0], points["other"].iloc[0]
    # Neighbours from left to right take turns, so that few names meet; hovering tells the rest.
    above = points["score"].rank(method="first") % 2 == 0
    figure = go.Figure(
        go.Scatter(
            x=points["score"],
            y=points["other_score"],
            mode="markers+text",
            text=points["algorithm"],
            textposition=["top center" if one else "bottom center" for one in above],
            textfont={"size": 15, "color": colours.ink},
            marker={"size": 12, "color": colours.mean, "line": {"width": 0}},
            error_x=_bars(points, "", colours.muted),
            error_y=_bars(points, "other_", colours.muted),
            customdata=points[["algorithm", "rank", "other_rank"]].to_numpy(),
            hovertemplate=(
                f"<b>%{{customdata[0]}}</b><br>{across}: %{{x:.4f}}, rank %{{customdata[1]}}"
                f"<br>{upwards}: %{{y:.4f}}, rank %{{customdata[2]}}<extra></extra>"
            ),
            cliponaxis=False,
        )
    )
    lay_out(
        figure,
        base_layout(colours, HEIGHT)
        | {
            "hovermode": "closest",
            "showlegend": False,
            "margin": {"l": 12, "r": 12, "t": 44, "b": 12},
            "xaxis": _axis(f"{metric} under {across}", _range(points, ""), colours.grid),
            "yaxis": _axis(f"{metric} under {upwards}", _range(points, "other_"), colours.grid),
        },
    )
    figure.add_annotation(
        text=f"Kendall's tau {tau}",
        xref="paper",
        yref="paper",
        x=0,
        y=1.02,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 18, "color": colours.ink},
    )
    return figure


def rank_scatter_words(points: pd.DataFrame, metric: str, tau: str) -> str:
    """What the points show, in a sentence."""
    parts = [
        f"{row['algorithm']} {row['score']:.4f} and {row['other_score']:.4f} (rank {row['rank']:g} "
        f"and {row['other_rank']:g})"
        for _, row in points.iterrows()
    ]
    return (
        f"{metric} under {points['split'].iloc[0]} and under {points['other'].iloc[0]}, Kendall's "
        f"tau {tau}: {'; '.join(parts)}."
    )


def _bars(points: pd.DataFrame, which: str, colour: str) -> dict[str, object]:
    score = points[f"{which}score"]
    # The recorded score and the middle of its samples differ in digits that are not kept per user.
    return {
        "type": "data",
        "symmetric": False,
        "array": (points[f"{which}high"] - score).clip(lower=0),
        "arrayminus": (score - points[f"{which}low"]).clip(lower=0),
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _range(points: pd.DataFrame, which: str) -> list[float]:
    """With room for labels beside the outermost points."""
    ends = points[[f"{which}low", f"{which}score", f"{which}high"]].to_numpy(dtype=np.float64)
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.14 * ((high - low) or abs(high) or 1.0)
    return [low - room, high + room]


def _axis(title: str, span: list[float], grid: str) -> dict[str, object]:
    return {
        "title": {"text": title, "standoff": 8},
        "range": span,
        "gridcolor": grid,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }
