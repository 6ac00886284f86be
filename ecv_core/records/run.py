"""A run, with what is known of it so far."""

from __future__ import annotations

from collections.abc import Sequence
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

    @property
    def resumable(self) -> bool:
        """Whether it ended before its rule let it end, and can go on."""
        return self in (RunState.CANCELLED, RunState.INTERRUPTED, RunState.FAILED)


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
    moments: Sequence[Moment] = ()
    """Where the run stood after each fold, as recorded then; of old runs worked out again."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    group: str | None = None
    """Runs that were started together share a group."""
    stopped_at: int | None = None
    """Folds used (e) when the rule said stop, or k when it never did and all are in."""
    error: str | None = None
    other_work: str = ""
    """Why it is thought that the machine did other work meanwhile, so that its seconds and joules
    are not its own; empty where nothing speaks for it."""
    progress: FoldProgress | None = None
    queue_position: int | None = None
    """How many runs are before this one, while it is queued."""
    outside: bool = False
    """Whether its folds are asked for and told by programs that come and go."""
    anew: bool = False
    """Whether each fold is computed, also those that another run has."""
    started_by: str = ""
    """The id of the person who started it; empty where that is nobody in particular."""

    @property
    def k(self) -> int:
        """How many folds are planned: those of its split, or those that were asked for."""
        return self.spec.max_folds

    @property
    def complete(self) -> bool:
        """Whether every planned fold is in, so that the mean of all is known."""
        return len(self.folds) == self.k

    @property
    def whole(self) -> bool:
        """Whether every fold of its split is in, so that every order of them is known.

        A run of only some folds may be complete; it never is whole.
        """
        return len(self.folds) == self.spec.k

    @property
    def resumable(self) -> bool:
        """Whether it was cut off: it ended before its rule let it end, and can go on."""
        return self.state.resumable

    @property
    def can_be_checked(self) -> bool:
        """Whether it ended at its stop with folds left, which would show how good the stop is."""
        return self.state is RunState.FINISHED and not self.complete

    @property
    def stopped_early(self) -> bool:
        """Whether its rule said stop before the last planned fold."""
        return self.stopped_at is not None and self.stopped_at < self.k

    @property
    def checked(self) -> bool:
        """Whether folds after its stop have run, to check it."""
        return self.stopped_at is not None and len(self.folds) > self.stopped_at

    @property
    def folds_used(self) -> int:
        """How many folds its mean is of (e): those up to the stop, or all so far."""
        return min(self.stopped_at or len(self.folds), len(self.folds))

    @property
    def at_stop(self) -> Moment | None:
        """Where it stood at its stop, or after the newest fold so far; None before the first."""
        return self.moments[self.folds_used - 1] if self.moments else None

    @property
    def k_fold_mean(self) -> float | None:
        """The mean of all planned folds; None until they are in."""
        return self.moments[-1].mean if self.moments and self.complete else None

    @property
    def folds_in_order(self) -> tuple[FoldResult, ...]:
        """By fold index, whatever the order in which they finished."""
        return tuple(sorted(self.folds, key=lambda result: result.fold))

    @property
    def joules(self) -> float:
        """What all folds so far cost, those that checked the stop too."""
        return sum(result.energy.joules for result in self.folds)

    @property
    def seconds(self) -> float:
        """How long all folds so far took, those that checked the stop too."""
        return sum(result.total_seconds for result in self.folds)
