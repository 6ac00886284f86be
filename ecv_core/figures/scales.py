"""Frames -> what their colours and axes span: the same on a page and in print."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ecv_core.analysis.tradeoff.frames import AVERAGE, FIXED, PAPER, SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScale:
    """How the cells of a table are coloured: the stronger or darker, the worse."""

    best: float
    """The value with the faintest colour; it may be above `worst`."""
    worst: float
    """The value with the strongest colour."""
    best_words: str
    worst_words: str
    digits: int = 0
    """Of the numbers in the cells, after the point."""


def difference_scale(cells: pd.DataFrame) -> CellScale:
    """Of figure 2; one wild cell does not flatten all others.

    Args:
        cells: with the column difference_percent, of all alphas that are to be comparable.
    """
    worst = float(cells["difference_percent"].quantile(0.99))
    return CellScale(
        best=0.0,
        worst=worst,
        best_words="0 %",
        worst_words=f"{worst:.2g} % or more",
        digits=2,
    )


def stop_scale(k: int) -> CellScale:
    """Of figure 3: the mean stop, at least 2 of k folds."""
    return CellScale(
        best=2.5, worst=float(k), best_words="few folds", worst_words=f"all {k} folds", digits=1
    )


def rank_scale(algorithms: int) -> CellScale:
    """Of the ranks in figure 4."""
    last = max(algorithms, 2)
    return CellScale(
        best=1.0,
        worst=float(last),
        best_words="rank 1, 100 % kept",
        worst_words=f"rank {last}, 0 % kept",
        digits=1,
    )


KEPT_SCALE = CellScale(best=100.0, worst=0.0, best_words="100 % kept", worst_words="0 % kept")
"""Of the shares in figure 4: orders that keep the ranks."""


def highest_difference(frame: pd.DataFrame) -> float:
    """End of the trade-off's upward axis: one wild system does not flatten all others.

    Args:
        frame: from `tradeoff.tradeoff_frame`.
    """
    alphas = frame[frame["kind"].isin([AVERAGE, PAPER])]["difference_percent"].max()
    systems = frame[frame["kind"] == SYSTEM]["difference_percent"]
    fixed = frame[(frame["kind"] == FIXED) & (frame["setting"] >= 2)]["difference_percent"]
    known = [float(alphas) * 1.35, float(systems.quantile(0.97)) * 1.1]
    if len(fixed):
        known.append(float(fixed.max()) * 1.1)
    return max(known)
