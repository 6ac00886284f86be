"""What goes on, and how much there is, in small queries: for those who look again and again."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic

import sqlalchemy as sa

from ecv_core.records.run import FoldProgress, RunState
from ecv_core.store.rows import progress_record
from ecv_core.store.schema import folds, progress, removed, runs
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingRun:
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
    of_group: int = 0
    """How many runs of its group there are, active or not."""


@dataclass(frozen=True, kw_only=True)
class Going:
    """What goes on in a database at one moment."""

    moment: float = field(default_factory=monotonic, compare=False)
    """Seconds, of a clock that never goes back."""
    runs: tuple[GoingRun, ...] = ()
    """Those that are queued or running."""
    removed: int = 0
    """How many were deleted and could be brought back."""
    newest_fold: int = 0
    """Differs once another fold is kept, though its run came and went between two looks."""

    def __bool__(self) -> bool:
        return bool(self.runs)

    @cached_property
    def stages(self) -> tuple[tuple[str, RunState, int, Hashable], ...]:
        """Of every active run its id, state, number of folds, and the rest that may change.

        Differs once one has gone on. Nothing else that is known of a run changes without it.
        """
        return tuple(
            (run.run_id, run.state, run.folds, (run.stopped_at, run.owner, run.queued_at))
            for run in self.runs
        )

    @property
    def steps(self) -> tuple[Hashable, ...]:
        """Of every active run how far the fold is that is computed."""
        return tuple(
            (at.fold, at.phase, at.step, at.steps)
            for run in self.runs
            if (at := run.progress) is not None
        )

    def of(self, run_ids: Collection[str]) -> tuple[tuple[str, RunState, int], ...]:
        """Of some runs, those that are active: id, state, number of folds."""
        return tuple(
            (run.run_id, run.state, run.folds) for run in self.runs if run.run_id in run_ids
        )


_ACTIVE = runs.c.state.in_([RunState.QUEUED, RunState.RUNNING])
_OF_GROUP = runs.alias()
_COUNTED = sa.select(
    sa.select(sa.func.count()).select_from(removed).scalar_subquery().label("removed"),
    sa.select(sa.func.max(folds.c.sequence)).scalar_subquery().label("newest_fold"),
)
_RUNS = (
    sa.select(
        runs.c.run_id.label("active_id"),
        runs.c.state,
        sa.select(sa.func.count())
        .where(folds.c.run_id == runs.c.run_id)
        .scalar_subquery()
        .label("folds"),
        runs.c.owner,
        runs.c.queued_at,
        runs.c.stopped_at,
        runs.c.group_id,
        sa.select(sa.func.count())
        .select_from(_OF_GROUP)
        .where(_OF_GROUP.c.group_id == runs.c.group_id)
        .scalar_subquery()
        .label("of_group"),
        progress,
    )
    .select_from(runs.outerjoin(progress, progress.c.run_id == runs.c.run_id))
    .where(_ACTIVE)
    .order_by(runs.c.sequence)
)
# Written once: to put them together takes as long as to run them.


def going_on(store: Store) -> Going:
    """What is queued or running now: two indexed queries. Raises: StoreError."""
    with store.transaction("read") as connection:
        counted = connection.execute(_COUNTED).one()
        found = connection.execute(_RUNS).all()
    return Going(
        runs=tuple(
            GoingRun(
                run_id=row.active_id,
                state=RunState(row.state),
                folds=row.folds,
                progress=None if row.run_id is None else progress_record(row),
                owner=row.owner or "",
                queued_at=row.queued_at,
                stopped_at=row.stopped_at,
                group=row.group_id,
                of_group=row.of_group,
            )
            for row in found
        ),
        removed=counted.removed,
        newest_fold=counted.newest_fold or 0,
    )


# How many runs there are in which state, and what their folds took, for those who keep watch.


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Of a database at one moment."""

    runs: Mapping[str, int]
    """State -> how many."""
    folds: int
    """That were finished, those deleted since this program began among them."""
    seconds: float
    """That these folds took together."""


class Totals:
    """Looks again and again, and reads each fold once. Safe to use from several threads."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._read: tuple[int, int, float] = (0, 0, 0.0)
        """The last fold, how many, and their seconds."""

    def of(self, store: Store) -> Total:
        """The totals now; a fold that cannot be read counts with no seconds. Raises: StoreError."""
        last, count, seconds = self._read
        by_state = sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state)
        newer = sa.select(folds.c.sequence, folds.c.result).where(folds.c.sequence > last)
        with store.transaction("read") as connection:
            states = {str(state): int(number) for state, number in connection.execute(by_state)}
            for sequence, result in connection.execute(newer.order_by(folds.c.sequence)):
                last, count, seconds = sequence, count + 1, seconds + _seconds(result)
        self._read = last, count, seconds
        return Total(runs=states, folds=count, seconds=seconds)


def _seconds(result: str) -> float:
    try:
        fold = json.loads(result)
        return float((fold.get("shared") or {}).get("alone_seconds", fold["total_seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0.0
