"""A run, with what is known of it so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ecv_core.records.fold import FoldResult
from ecv_core.records.moment import Moment
from ecv_core.records.spec import RunSpec


class RunState(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def active(self) -> bool:
        """True while folds may still arrive without anyone asking."""
        return self in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldProgress:
    """Where the fold that is running now is."""

    fold: int
    phase: str
    step: int
    steps: int
    """0 where the total is not known."""
    started_at: datetime
    curve: tuple[float, ...] = ()
    """As FoldResult.inner_curve, so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One dataset x algorithm x spec, with what is known of it so far."""

    run_id: str
    spec: RunSpec
    state: RunState
    folds: tuple[FoldResult, ...]
    """In the order in which they finished, without per-user scores."""
    moments: tuple[Moment, ...] = ()
    """Where the run stood after each fold, as recorded then; may be missing in old runs."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    group: str | None = None
    """Runs that were started together share a group."""
    stopped_at: int | None = None
    """Folds used (e) when the rule said stop, or k when it never did and all are in."""
    error: str | None = None
    progress: FoldProgress | None = None
    queue_position: int | None = None
    """How many runs are before this one, while it is queued."""
