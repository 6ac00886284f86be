"""Finished folds of several systems -> what every alpha costs and gives, as curves and advice."""

from ecv_core.analysis.tradeoff.curves import (
    Tradeoff,
    averaged,
    explorable,
    slider_alphas,
    tradeoff,
)
from ecv_core.analysis.tradeoff.decision import (
    Candidate,
    CarryOver,
    FoldsAdvice,
    Option,
    cheapest,
    decide,
    fixed_folds,
    leave_one_dataset_out,
)
from ecv_core.analysis.tradeoff.frames import (
    STOPS_COLUMNS,
    TRADEOFF_COLUMNS,
    stops_frame,
    tradeoff_frame,
)

__all__ = [
    "STOPS_COLUMNS",
    "TRADEOFF_COLUMNS",
    "Candidate",
    "CarryOver",
    "FoldsAdvice",
    "Option",
    "Tradeoff",
    "averaged",
    "cheapest",
    "decide",
    "explorable",
    "fixed_folds",
    "leave_one_dataset_out",
    "slider_alphas",
    "stops_frame",
    "tradeoff",
    "tradeoff_frame",
]
