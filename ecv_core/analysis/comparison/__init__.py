"""Which runs can be compared fairly, and what paired tests say of each such pair."""

from ecv_core.analysis.comparison.fairness import unfair
from ecv_core.analysis.comparison.frame import FRAME_COLUMNS, comparison_frame
from ecv_core.analysis.comparison.pairs import (
    Comparison,
    Untested,
    best_of,
    compare_runs,
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
