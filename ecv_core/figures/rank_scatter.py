"""Scores under two splits -> one point per algorithm, as figure 2 of Meng et al. (2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from ecv_core.figures.palette import base_layout, palette

HEIGHT, WIDTH = 540, 640
"""Pixels; on a narrower page the figure scrolls sideways."""
_LABEL = 16
_PLOT_WIDTH, _PLOT_HEIGHT, _CHARACTER, _LINE, _POINT = 560, 420, 8.2, 24, 9
"""About how large the plot, a label and a point are, to find places for labels."""
_REACHES = (22, 40, 64, 92, 124)
_DIRECTIONS = 16
_LEADER = 8
"""Pixels of a piece of the line from a point to its label."""
_BAR = 6
"""Pixels that an error bar is wide."""


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
    labels = [
        f"{row['algorithm']} {row['rank']:g} → {row['other_rank']:g}"
        for _, row in points.iterrows()
    ]
    figure = go.Figure(
        go.Scatter(
            x=points["score"],
            y=points["other_score"],
            mode="markers",
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
    figure.update_layout(
        base_layout(colours, HEIGHT)
        | {
            "hovermode": "closest",
            "showlegend": False,
            "margin": {"l": 12, "r": 12, "t": 44, "b": 12},
            "xaxis": _axis(f"{metric} under {across}", _range(points, ""), colours.grid),
            "yaxis": _axis(f"{metric} under {upwards}", _range(points, "other_"), colours.grid),
        }
    )
    x, y = _shares(points, ""), _shares(points, "other_")
    places = label_places(x[:, 1], y[:, 1], labels, _bar_boxes(x, y))
    for (_, row), label, (right, up) in zip(points.iterrows(), labels, places, strict=True):
        figure.add_annotation(
            text=label,
            x=row["score"],
            y=row["other_score"],
            ax=right,
            ay=-up,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=colours.muted,
            standoff=_POINT - 2,
            bgcolor=colours.ground,
            borderpad=1,
            opacity=0.94,
            font={"size": _LABEL, "color": colours.ink},
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


Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""Left, right, bottom, top, in pixels."""
Point = tuple[float, float]


def label_places(
    across: Floats, upwards: Floats, labels: list[str], bars: Sequence[Box] = ()
) -> list[Point]:
    """Where each label's middle is beside its point, so that none covers a point or another label.

    Args:
        across: where the points are, as shares of the plot's width.
        upwards: of its height.
        labels: one per point.
        bars: what else should stay in sight, in pixels.
    Returns: pixels to the right and up; the nearest place that is free, else the freest.
    """
    x, y = (across * _PLOT_WIDTH).tolist(), (upwards * _PLOT_HEIGHT).tolist()
    taken = [_around(px, py, 2 * _POINT, 2 * _POINT) for px, py in zip(x, y, strict=True)]
    taken += bars
    found = []
    for px, py, label in zip(x, y, labels, strict=True):
        width = len(label) * _CHARACTER
        ways = [
            (math.cos(angle) * (reach + width / 2), math.sin(angle) * reach)
            for reach in _REACHES
            for angle in np.linspace(0, 2 * math.pi, _DIRECTIONS, endpoint=False)
        ]
        others = [other for other in zip(x, y, strict=True) if other != (px, py)]
        best = min(ways, key=lambda way: _cost((px, py), way, width, taken, others))
        taken += [_around(px + best[0], py + best[1], width, _LINE), *_leader((px, py), best)]
        found.append(best)
    return found


def _leader(point: Point, way: Point) -> list[Box]:
    """The line from a point to its label, as boxes that others should not cover."""
    length = math.hypot(*way)
    steps = range(_POINT + _LEADER, int(length), _LEADER)
    return [
        _around(point[0] + way[0] * at / length, point[1] + way[1] * at / length, _LEADER, _LEADER)
        for at in steps
    ]


def _around(px: float, py: float, width: float, height: float) -> Box:
    return (px - width / 2, px + width / 2, py - height / 2, py + height / 2)


def _cost(point: Point, way: Point, width: float, taken: list[Box], others: list[Point]) -> float:
    """Square pixels that are covered already, lie outside, or belong beside another point."""
    box = _around(point[0] + way[0], point[1] + way[1], width, _LINE)
    covered = sum(_overlap(box, other) for other in taken)
    crossed = sum(_overlap(part, other) for part in _leader(point, way) for other in taken)
    left, right, bottom, top = box
    outside = max(0.0, -left, right - _PLOT_WIDTH, -bottom, top - _PLOT_HEIGHT)
    nearest = min((_distance(box, other) for other in others), default=math.inf)
    astray = max(0.0, _distance(box, point) - nearest)
    return covered + crossed + _LINE * (outside + astray / 4)


def _overlap(box: Box, other: Box) -> float:
    across = min(box[1], other[1]) - max(box[0], other[0])
    up = min(box[3], other[3]) - max(box[2], other[2])
    return max(0.0, across) * max(0.0, up)


def _distance(box: Box, point: Point) -> float:
    left, right, bottom, top = box
    across = max(left - point[0], 0.0, point[0] - right)
    return math.hypot(across, max(bottom - point[1], 0.0, point[1] - top))


def _shares(points: pd.DataFrame, which: str) -> Floats:
    """Where interval and score of each point are on an axis, in [0, 1]; shape (points, 3)."""
    low, high = _range(points, which)
    columns = [f"{which}{name}" for name in ("low", "score", "high")]
    values: Floats = points[columns].to_numpy(dtype=np.float64)
    return (values - low) / (high - low)


def _bar_boxes(x: Floats, y: Floats) -> list[Box]:
    """The error bars, as far as they are known."""
    boxes = []
    for (left, px, right), (low, py, high) in zip(x.tolist(), y.tolist(), strict=True):
        width, height = px * _PLOT_WIDTH, py * _PLOT_HEIGHT
        if not math.isnan(left):
            ends = (left * _PLOT_WIDTH, right * _PLOT_WIDTH)
            boxes.append((*ends, height - _BAR / 2, height + _BAR / 2))
        if not math.isnan(low):
            ends = (low * _PLOT_HEIGHT, high * _PLOT_HEIGHT)
            boxes.append((width - _BAR / 2, width + _BAR / 2, *ends))
    return boxes


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
