"""What goes on, and how much there is, in small queries: for those who look again and again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic

import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.run import FoldProgress, FoldResult, RunState
from ecv_core.store.rows import ACTIVE, progress_record
from ecv_core.store.schema import folds, progress, removed, runs
from ecv_core.store.store import Store


@dataclass(frozen=True, kw_only=True)
class ActiveRun:
    """A run that is queued or running."""

    run_id: str
    state: RunState
    folds: int
    """How many are finished."""
    progress: FoldProgress | None = None
    owner: str = ""
    """Who computes it, or in whose queue it waits."""
    queued_at: str = ""
    stopped_at: int | None = None
    group: str = ""
    runs_in_group: int = 0
    """How many runs of its group there are, active or not."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What goes on in a database at one moment."""

    moment: float = field(default_factory=monotonic, compare=False)
    """Seconds, of a clock that never goes back."""
    runs: tuple[ActiveRun, ...] = ()
    """Those that are queued or running."""
    removed: int = 0
    """How many were deleted and could be brought back."""
    newest_fold: int = 0
    """Differs once another fold is kept, though its run came and went between two looks."""

    @cached_property
    def stages(self) -> tuple[Hashable, ...]:
        """Of every active run its id, state, number of folds, and what else may change.

        Differs once one has gone on. Nothing else that is known of a run changes without it.
        """
        stages = []
        for run in self.runs:
            stages.append(
                (run.run_id, run.state, run.folds, run.stopped_at, run.owner, run.queued_at)
            )
        return tuple(stages)

    @property
    def steps(self) -> tuple[Hashable, ...]:
        """Of every active run how far the fold is that is computed."""
        steps = []
        for run in self.runs:
            progress = run.progress
            if progress is not None:
                steps.append((progress.fold, progress.phase, progress.step, progress.steps))
        return tuple(steps)

    def of(self, run_ids: Collection[str]) -> tuple[tuple[str, RunState, int], ...]:
        """Of some runs, those that are active: id, state, number of folds."""
        active = [run for run in self.runs if run.run_id in run_ids]
        return tuple((run.run_id, run.state, run.folds) for run in active)


# The queries are written once: to put them together takes as long as to run them.

_COUNTS = sa.select(
    sa.select(sa.func.count()).select_from(removed).scalar_subquery().label("removed"),
    sa.select(sa.func.max(folds.c.sequence)).scalar_subquery().label("newest_fold"),
)

_folds_of_run = sa.select(sa.func.count()).where(folds.c.run_id == runs.c.run_id)
_group_member = runs.alias()
_runs_of_group = sa.select(sa.func.count()).select_from(_group_member)
_runs_of_group = _runs_of_group.where(_group_member.c.group_id == runs.c.group_id)

_progress_columns = [column for column in progress.c if column is not progress.c.run_id]
_ACTIVE_RUNS = sa.select(
    runs.c.run_id,
    runs.c.state,
    runs.c.owner,
    runs.c.queued_at,
    runs.c.stopped_at,
    runs.c.group_id,
    *_progress_columns,
    _folds_of_run.scalar_subquery().label("folds"),
    _runs_of_group.scalar_subquery().label("runs_in_group"),
)
_ACTIVE_RUNS = _ACTIVE_RUNS.outerjoin_from(runs, progress, runs.c.run_id == progress.c.run_id)
_ACTIVE_RUNS = _ACTIVE_RUNS.where(ACTIVE).order_by(runs.c.sequence)


def current_activity(store: Store) -> Activity:
    """What is queued or running now: two indexed queries. Raises: StoreError."""
    with store.transaction("read") as connection:
        counts = connection.execute(_COUNTS).one()
        run_rows = connection.execute(_ACTIVE_RUNS).all()
    active_runs = []
    for row in run_rows:
        fold_progress = None
        if row.fold is not None:
            fold_progress = progress_record(row)
        run = ActiveRun(
            run_id=row.run_id,
            state=RunState(row.state),
            folds=row.folds,
            progress=fold_progress,
            owner=row.owner or "",
            queued_at=row.queued_at,
            stopped_at=row.stopped_at,
            group=row.group_id,
            runs_in_group=row.runs_in_group,
        )
        active_runs.append(run)
    return Activity(
        runs=tuple(active_runs),
        removed=counts.removed,
        newest_fold=counts.newest_fold or 0,
    )


# How many runs there are in which state, and what their folds took, for those who keep watch.


@dataclass(frozen=True, kw_only=True)
class Total:
    """Of a database at one moment."""

    runs: Mapping[str, int]
    """State -> how many."""
    folds: int
    """That were finished, those deleted since this program began among them."""
    seconds: float
    """That these folds took together."""
    newest_fold: int
    """Place of the newest of them in their table; 0 where there is none."""


class Totals:
    """Looks again and again, and reads each fold once. Safe to use from several threads."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._last_total = Total(runs={}, folds=0, seconds=0.0, newest_fold=0)

    def read(self, store: Store) -> Total:
        """The totals now; a fold that cannot be read counts with no seconds. Raises: StoreError."""
        last_total = self._last_total
        fold_count = last_total.folds
        seconds = last_total.seconds
        newest_fold = last_total.newest_fold
        # Folds are numbered in the order in which they came, so that only newer ones are read.
        by_state = sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state)
        newer = sa.select(folds.c.sequence, folds.c.result).where(folds.c.sequence > newest_fold)
        with store.transaction("read") as connection:
            states = {}
            for state, number in connection.execute(by_state):
                states[state] = number
            for row in connection.execute(newer.order_by(folds.c.sequence)):
                fold_count += 1
                seconds += _seconds(row.result)
                newest_fold = row.sequence
        total = Total(runs=states, folds=fold_count, seconds=seconds, newest_fold=newest_fold)
        # One assignment replaces the whole total, so that other threads see all of it or nothing.
        self._last_total = total
        return total


def _seconds(result: str) -> float:
    """What a fold took on its own; 0 where it cannot be read."""
    try:
        return codec.read(FoldResult, result).seconds_if_computed_alone
    except ValueError:
        return 0.0
