"""Configurations under two splits -> one point each, as figure 2 of Meng et al. (2020)."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import base_layout, lay_out, palette

HEIGHT = 520
"""Pixels."""
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")


def spaces_scatter_figure(
    points: pd.DataFrame, metric: str, split: str, other: str, *, dark: bool = False
) -> go.Figure:
    """Each configuration by its scores under both splits, coloured by its algorithm.

    Args:
        points: as `spaces_study.points_frame` makes it.
        metric: its name as shown.
        split: title of the first split, across.
        other: of the second, upwards.
        dark: colours for a dark page.
    """
    colours = palette(dark)
    figure = go.Figure()
    for at, (algorithm, rows) in enumerate(points.groupby("algorithm", sort=False)):
        figure.add_scatter(
            x=rows["score"],
            y=rows["other_score"],
            mode="markers",
            name=algorithm,
            marker={
                "size": 9,
                "opacity": 0.75,
                "color": colours.series[at % len(colours.series)],
                "symbol": _SYMBOLS[at % len(_SYMBOLS)],
            },
            customdata=rows[["configuration", "rank", "other_rank"]].to_numpy(),
            hovertemplate=(
                f"<b>%{{customdata[0]}}</b><br>{split}: %{{x:.4f}}, rank %{{customdata[1]}}"
                f"<br>{other}: %{{y:.4f}}, rank %{{customdata[2]}}<extra></extra>"
            ),
        )
    for which, under, symbol in (
        ("rank", split, "circle-open"),
        ("other_rank", other, "square-open"),
    ):
        best = points[points[which] == 1].iloc[:1]
        figure.add_scatter(
            x=best["score"],
            y=best["other_score"],
            mode="markers",
            name=f"best under '{under}'",
            marker={
                "size": 22,
                "symbol": symbol,
                "color": colours.ink,
                "line": {"width": 2.5, "color": colours.ink},
            },
            hoverinfo="skip",
        )
    lay_out(
        figure,
        base_layout(colours, HEIGHT)
        | {
            "hovermode": "closest",
            "margin": {"l": 12, "r": 12, "t": 76, "b": 12},
            "xaxis": _axis(f"{metric} under '{split}'", colours.grid),
            "yaxis": _axis(f"{metric} under '{other}'", colours.grid),
        },
    )
    return figure


def spaces_scatter_words(points: pd.DataFrame, metric: str, split: str, other: str) -> str:
    """What the points show, in a sentence."""
    parts = [
        f"{algorithm} {rows['score'].min():.4f} to {rows['score'].max():.4f} and "
        f"{rows['other_score'].min():.4f} to {rows['other_score'].max():.4f}"
        for algorithm, rows in points.groupby("algorithm", sort=False)
    ]
    return (
        f"{metric} of {len(points)} configurations under {split} and {other}: {'; '.join(parts)}."
    )


def _axis(title: str, grid: str) -> dict[str, object]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": grid,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }
