"""What the stages hand to each other: frozen records, no I/O, only derived values."""

from ecv_core.records.fold import Energy, FoldResult, UserScores
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.moment import Decision, Interval, Moment
from ecv_core.records.progress import Progress, no_progress
from ecv_core.records.run import FoldProgress, Run, RunState
from ecv_core.records.spec import WITHOUT_CUTOFF, ParamValue, RunSpec

__all__ = [
    "WITHOUT_CUTOFF",
    "Decision",
    "Energy",
    "FoldProgress",
    "FoldResult",
    "Folds",
    "Interactions",
    "Interval",
    "Moment",
    "ParamValue",
    "Part",
    "Progress",
    "Run",
    "RunSpec",
    "RunState",
    "UserScores",
    "no_progress",
]
