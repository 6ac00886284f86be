"""Ranks of algorithms under several splits -> the table with arrows, and Kendall's tau."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.heatmap import (
    COLUMN_NAMES_HEIGHT,
    LEGEND_HEIGHT,
    ROW_HEIGHT,
    cells_layout,
    cells_trace,
    legend,
    table_of,
    texts_in_cells,
)
from ecv_core.figures.palette import CellScale, lay_out, palette
from ecv_core.records.parameters import score_text

# The table with arrows: table 3 of Meng et al.


_SPLIT_NAMES_HEIGHT = COLUMN_NAMES_HEIGHT + 20
"""Pixels above the cells: names of splits are longer than those of algorithms."""
_SMALL = 13
"""Pixels of the type of scores and intervals."""
_MOVED_SCALE = CellScale(best=-3, worst=3, best_words="", worst_words="")
"""From three ranks lost to three ranks gained, the colour is the strongest."""


def rank_table_figure(ranks: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Algorithms by splits: rank, arrow against the reference, score.

    Args:
        ranks: As `rank_swaps.ranks_frame` makes it: the reference first.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    # Arrows compare the other splits with the first one.
    reference = ranks["split"].iloc[0]
    texts = []
    for _, row in ranks.iterrows():
        text = f"<b>{row['rank']:g}</b>"
        if row["split"] != reference:
            text += f" {arrow(row['up'])}"
        score = _small(score_text(row["score"]))
        texts.append(f"{text}<br>{score}")
    cells = ranks.assign(text=texts, about=ranks.apply(_score_words, axis="columns"))
    table = table_of(cells, "algorithm", "split", "up")
    trace = cells_trace(
        table,
        _MOVED_SCALE,
        colours,
        **texts_in_cells(cells, "algorithm", "split"),
        # The colours say the same as the arrows: how many ranks a model has gained or lost.
        colorscale=colours.moved,
        hovertemplate="%{y} under %{x}<br>%{customdata}<extra></extra>",
    )
    height = _SPLIT_NAMES_HEIGHT + ROW_HEIGHT * len(table)
    return lay_out(go.Figure(trace), cells_layout(table, colours, height))


def arrow(up: float) -> str:
    """'↑2' for two ranks gained, '↓1' for one lost, '=' for none."""
    if up == 0:
        return "="
    if up > 0:
        return f"↑{up:g}"
    return f"↓{-up:g}"


def rank_table_words(ranks: pd.DataFrame) -> str:
    """What the table shows, in a sentence."""
    reference = ranks["split"].iloc[0]
    order = ", ".join(ranks.loc[ranks["split"] == reference, "algorithm"])
    moved_ranks = ranks[ranks["up"] != 0]
    changes = []
    for split, rows in moved_ranks.groupby("split", sort=False):
        arrows = rows["algorithm"] + " " + rows["up"].map(arrow)
        changes.append(f"{split}: {', '.join(arrows)}")
    conclusion = "No other split changes a rank."
    if changes:
        conclusion = f"Against that, {'; '.join(changes)}."
    metric = ranks["metric"].iloc[0]
    return f"Ranks by {metric}. Under {reference}, best first: {order}. {conclusion}"


def _score_words(row: pd.Series[float]) -> str:
    score = f"{row['metric']} {score_text(row['score'])}"
    if pd.isna(row["low"]):
        return f"{score}, no interval because the users' scores are not known"
    return f"{score}, interval {score_text(row['low'])} to {score_text(row['high'])}"


def _small(text: str) -> str:
    return f"<span style='font-size:{_SMALL}px'>{text}</span>"


# Kendall's tau between every two splits.


def tau_figure(taus: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Kendall's tau between every two splits, with its interval, as a triangle.

    Args:
        taus: As `rank_swaps.taus_frame` makes it.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    swaps = taus["swaps"].astype(str) + " of " + taus["pairs"].astype(str) + " pairs swap"
    cells = taus.assign(text=taus.apply(_tau_cell, axis="columns"), about=swaps)
    table = table_of(cells, "other", "split", "tau")
    least = min(0.0, float(taus["tau"].min()))
    scale = CellScale(best=1.0, worst=least, best_words="same ranks", worst_words=f"{least:.2g}")
    trace = cells_trace(
        table,
        scale,
        colours,
        **legend(scale),
        **texts_in_cells(cells, "other", "split"),
        hovertemplate="%{y} and %{x}<br>%{customdata}<extra></extra>",
    )
    height = _SPLIT_NAMES_HEIGHT + ROW_HEIGHT * len(table) + LEGEND_HEIGHT
    return lay_out(go.Figure(trace), cells_layout(table, colours, height))


def tau_words(taus: pd.DataFrame) -> str:
    """What the triangle shows, in a sentence."""
    defined_taus = taus.dropna(subset=["tau"]).sort_values("tau", kind="stable")
    if defined_taus.empty:
        return (
            "Kendall's tau is not defined for any pair of splits, because all algorithms share "
            "a rank."
        )
    lowest = defined_taus.iloc[0]
    highest = defined_taus.iloc[-1]
    return (
        f"Kendall's tau between {len(defined_taus)} pairs of splits: from {lowest['tau']:.2f} "
        f"({lowest['split']} and {lowest['other']}) to {highest['tau']:.2f} ({highest['split']} "
        f"and {highest['other']})."
    )


def _tau_cell(row: pd.Series[float]) -> str:
    """Tau and its interval, as far as they are defined."""
    if pd.isna(row["tau"]):
        return "-"
    text = f"<b>{row['tau']:.2f}</b>"
    if pd.notna(row["low"]):
        interval = _small(f"{row['low']:.2f} to {row['high']:.2f}")
        text += f"<br>{interval}"
    return text
