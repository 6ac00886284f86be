"""The same algorithms under several splits -> ranks, swaps, Kendall's tau, and their intervals."""

from ecv_core.analysis.rank_swaps.frames import (
    PAIRS_COLUMNS,
    POINTS_COLUMNS,
    RANKS_COLUMNS,
    TAUS_COLUMNS,
    headline,
    pairs_frame,
    points_frame,
    ranks_frame,
    taus_frame,
    winners,
)
from ecv_core.analysis.rank_swaps.swaps import (
    Block,
    Swaps,
    block_of,
    common_metrics,
    resampled_scores,
    split_label,
    swaps,
)
from ecv_core.analysis.ranking import mean_ranks, pair_numbers, pair_signs, tau_b
from ecv_core.analysis.significance import RESAMPLES

__all__ = [
    "PAIRS_COLUMNS",
    "POINTS_COLUMNS",
    "RANKS_COLUMNS",
    "RESAMPLES",
    "TAUS_COLUMNS",
    "Block",
    "Swaps",
    "block_of",
    "common_metrics",
    "headline",
    "mean_ranks",
    "pair_numbers",
    "pair_signs",
    "pairs_frame",
    "points_frame",
    "ranks_frame",
    "resampled_scores",
    "split_label",
    "swaps",
    "tau_b",
    "taus_frame",
    "winners",
]
