"""Fold scores -> what a stopping rule does over every order of the folds, exactly or sampled."""

from ecv_core.analysis.orders.files import read_scores, row_labels
from ecv_core.analysis.orders.lattice import MAX_K, Lattice
from ecv_core.analysis.orders.outcome import QUANTILES, Curve, Outcome
from ecv_core.analysis.orders.sampling import drawn_orders, sampled
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.analysis.orders.walk import Orders, fixed
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
