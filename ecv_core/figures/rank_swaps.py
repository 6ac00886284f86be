"""Rank and tau frames -> the table with arrows (table 3 of Meng et al.), and tau as a heatmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.heatmap import ABOVE, BELOW, ROW_HEIGHT, cells_layout, cells_trace, legend
from ecv_core.figures.palette import base_layout, lay_out, note, palette, plain_axis
from ecv_core.figures.scales import CellScale

# Scores under two splits -> one point per algorithm, as figure 2 of Meng et al. (2020).


WIDTH = 640
"""Pixels; on a narrower page the figure scrolls sideways."""


def rank_scatter_figure(
    points: pd.DataFrame, metric: str, tau: str, *, dark: bool = False
) -> go.Figure:
    """Each algorithm by its scores under both splits, with intervals, name and both ranks.

    Args:
        points: as `rank_swaps.points_frame` makes it.
        metric: its name as shown.
        tau: Kendall's tau between both, as shown.
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
    looks: dict[str, Any] = {"standoff": 8, "gridcolor": colours.grid, "fixedrange": True}
    lay_out(
        figure,
        base_layout(colours, 540),
        hovermode="closest",
        showlegend=False,
        margin={"l": 12, "r": 12, "t": 44, "b": 12},
        xaxis=plain_axis(f"{metric} under {across}", range=_range(points, ""), **looks),
        yaxis=plain_axis(f"{metric} under {upwards}", range=_range(points, "other_"), **looks),
    )
    figure.add_annotation(
        note(
            f"Kendall's tau {tau}",
            18,
            colours.ink,
            xref="paper",
            yref="paper",
            x=0,
            y=1.02,
            xanchor="left",
            yanchor="bottom",
        )
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


# Lost, kept, gained: the arrow says it too. Ink is easy to read on each of them.
_LIGHT = [[0.0, "#F4B183"], [0.5, "#F1F5F7"], [1.0, "#7FBCE6"]]
_DARK = [[0.0, "#8A4A20"], [0.5, "#1C2833"], [1.0, "#1B6699"]]
_SMALL = 13
_MOST_SHOWN = 3
"""Ranks moved from which on the colour is the strongest."""


def rank_table_figure(ranks: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Algorithms by splits: rank, arrow against the reference, score.

    Args:
        ranks: as `rank_swaps.ranks_frame` makes it: the reference first.
    """
    splits, algorithms = list(ranks["split"].unique()), list(ranks["algorithm"].unique())
    shape = (len(splits), len(algorithms))
    moved = ranks["up"].to_numpy().reshape(shape).T
    words = np.array([_cell(row, row["split"] == splits[0]) for _, row in ranks.iterrows()])
    about = np.array([_score_words(row) for _, row in ranks.iterrows()])
    figure = go.Figure(
        cells_trace(
            algorithms,
            splits,
            moved,
            CellScale(best=-_MOST_SHOWN, worst=_MOST_SHOWN, best_words="", worst_words=""),
            "",
            dark,
            text=words.reshape(shape).T.tolist(),
            customdata=about.reshape(shape).T.tolist(),
            colorscale=_DARK if dark else _LIGHT,
            hovertemplate="%{y} under %{x}<br>%{customdata}<extra></extra>",
        )
    )
    return lay_out(
        figure,
        cells_layout(algorithms, splits, palette(dark), ABOVE + 20 + ROW_HEIGHT * len(algorithms)),
    )


def arrow(up: float) -> str:
    """'↑2' for two ranks gained, '↓1' for one lost, '=' for none."""
    return "=" if up == 0 else f"{'↑' if up > 0 else '↓'}{abs(up):g}"


def rank_table_words(ranks: pd.DataFrame) -> str:
    """What the table shows, in a sentence."""
    splits = list(ranks["split"].unique())
    order = ", ".join(ranks.loc[ranks["split"] == splits[0], "algorithm"])
    moved = ranks[ranks["up"] != 0]
    parts = [
        f"{split}: "
        + ", ".join(f"{row['algorithm']} {arrow(row['up'])}" for _, row in of.iterrows())
        for split, of in moved.groupby("split", sort=False)
    ]
    rest = f"Against that, {'; '.join(parts)}." if parts else "No other split changes a rank."
    return f"Ranks by {ranks['metric'].iloc[0]}. Under {splits[0]}, best first: {order}. {rest}"


def tau_figure(taus: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Kendall's tau between every two splits, with its interval, as a triangle.

    Args:
        taus: as `rank_swaps.taus_frame` makes it.
    """
    columns, rows = list(taus["split"].unique()), list(taus["other"].unique())
    wide = (
        taus.pivot(index="other", columns="split", values="tau")
        .reindex(index=rows, columns=columns)
        .to_numpy(dtype=np.float64)
    )
    words = {(row["other"], row["split"]): _tau_cell(row) for _, row in taus.iterrows()}
    about = {
        (row["other"], row["split"]): f"{row['swaps']} of {row['pairs']} pairs swap"
        for _, row in taus.iterrows()
    }
    least = min(0.0, float(taus["tau"].min(skipna=True)))
    scale = CellScale(best=1.0, worst=least, best_words="same ranks", worst_words=f"{least:.2g}")
    figure = go.Figure(
        cells_trace(
            rows,
            columns,
            wide,
            scale,
            "",
            dark,
            **legend(scale),
            text=[[words.get((row, column), "") for column in columns] for row in rows],
            customdata=[[about.get((row, column), "") for column in columns] for row in rows],
            hovertemplate="%{y} and %{x}<br>%{customdata}<extra></extra>",
        )
    )
    height = ABOVE + 20 + ROW_HEIGHT * len(rows) + BELOW
    return lay_out(figure, cells_layout(rows, columns, palette(dark), height))


def tau_words(taus: pd.DataFrame) -> str:
    """What the triangle shows, in a sentence."""
    of_pairs = taus.dropna(subset=["tau"]).sort_values("tau", kind="stable")
    if of_pairs.empty:
        return "Kendall's tau is not defined between any two splits: they rank all alike."
    low, high = of_pairs.iloc[0], of_pairs.iloc[-1]
    return (
        f"Kendall's tau between {len(of_pairs)} pairs of splits: from {low['tau']:.2f} "
        f"({low['split']} and {low['other']}) to {high['tau']:.2f} ({high['split']} and "
        f"{high['other']})."
    )


def tau_text(row: pd.Series[float]) -> str:
    """'0.80, interval 0.60 to 1.00'; 'not defined' where one split ranks all alike."""
    if pd.isna(row["tau"]):
        return "not defined"
    has_interval = pd.notna(row["low"])
    return f"{row['tau']:.2f}" + (f", interval {_ends(row, '.2f')}" if has_interval else "")


def _cell(row: pd.Series[float], reference: bool) -> str:
    sign = "" if reference else f" {arrow(row['up'])}"
    score = _small(f"{row['score']:.4f}")
    return f"<b>{row['rank']:g}</b>{sign}<br>{score}"


def _score_words(row: pd.Series[float]) -> str:
    has_interval = pd.notna(row["low"])
    about = f", interval {_ends(row, '.4f')}" if has_interval else ", users' scores are not known"
    return f"{row['metric']} {row['score']:.4f}{about}"


def _tau_cell(row: pd.Series[float]) -> str:
    if pd.isna(row["tau"]):
        return "-"
    has_interval = pd.notna(row["low"])
    return f"<b>{row['tau']:.2f}</b>" + (f"<br>{_small(_ends(row, '.2f'))}" if has_interval else "")


def _ends(row: pd.Series[float], digits: str) -> str:
    return f"{row['low']:{digits}} to {row['high']:{digits}}"


def _small(text: str) -> str:
    return f"<span style='font-size:{_SMALL}px'>{text}</span>"
