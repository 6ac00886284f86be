"""Fold scores -> what a stopping rule does over every order of the folds, exactly or sampled."""

from ecv_core.analysis.orders.files import read_scores, row_labels
from ecv_core.analysis.orders.outcomes import (
    QUANTILES,
    Curve,
    Orders,
    Outcome,
    drawn_orders,
    fixed,
    sampled,
)
from ecv_core.analysis.orders.subsets import MAX_K, FoldSubsets, Lattice
from ecv_core.stopping.interval import running

__all__ = [
    "MAX_K",
    "QUANTILES",
    "Curve",
    "FoldSubsets",
    "Lattice",
    "Orders",
    "Outcome",
    "drawn_orders",
    "fixed",
    "read_scores",
    "row_labels",
    "running",
    "sampled",
]
