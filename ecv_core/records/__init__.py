"""What the stages hand to each other: frozen records, no I/O, only derived values."""

from ecv_core.parameters import ParamValue
from ecv_core.records.fold import (
    AMOUNT,
    Amount,
    Energy,
    FoldResult,
    Number,
    Shared,
    UserScores,
    user_table,
)
from ecv_core.records.history import History
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.moment import Decision, Interval, IntervalKind, Moment
from ecv_core.records.need import LACKS, Need
from ecv_core.records.progress import Progress, no_progress
from ecv_core.records.ratings import Pairs, Ratings
from ecv_core.records.run import FoldProgress, Run, RunState
from ecv_core.records.scores import Scores
from ecv_core.records.setting import SCORES, Role, Setting, setting
from ecv_core.records.spec import OLDER, SETTINGS, WITHOUT_CUTOFF, RunSpec
from ecv_core.records.task import RATING_METRICS, Task

__all__ = [
    "AMOUNT",
    "LACKS",
    "OLDER",
    "RATING_METRICS",
    "SCORES",
    "SETTINGS",
    "WITHOUT_CUTOFF",
    "Amount",
    "Decision",
    "Energy",
    "FoldProgress",
    "FoldResult",
    "Folds",
    "History",
    "Interactions",
    "Interval",
    "IntervalKind",
    "Moment",
    "Need",
    "Number",
    "Pairs",
    "ParamValue",
    "Part",
    "Progress",
    "Ratings",
    "Role",
    "Run",
    "RunSpec",
    "RunState",
    "Scores",
    "Setting",
    "Shared",
    "Task",
    "UserScores",
    "no_progress",
    "setting",
    "user_table",
]
