"""Which runs can be compared fairly, and what paired tests say of each such pair."""

from ecv_core.analysis.comparison.pairs import (
    FRAME_COLUMNS,
    Comparison,
    Untested,
    best_of,
    compare_runs,
    comparison_frame,
    unfair,
    user_means,
)

__all__ = [
    "FRAME_COLUMNS",
    "Comparison",
    "Untested",
    "best_of",
    "compare_runs",
    "comparison_frame",
    "unfair",
    "user_means",
]
