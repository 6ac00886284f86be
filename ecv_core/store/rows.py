"""Rows of the tables -> records of runs, folds and users' scores; and back."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.arrays import Codes
from ecv_core.records.errors import DamagedRun
from ecv_core.records.run import (
    FoldProgress,
    FoldResult,
    Moment,
    RunRecord,
    RunState,
    UserScores,
    other_work_words,
)
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import LazyMoments
from ecv_core.store.schema import folds, now, progress, runs

OUTSIDE = "outside"
"""Owner of a run whose folds are asked for and told by programs that come and go. It names no
process, so that nobody takes it for dead: a fold may take days to be told."""

ACTIVE = runs.c.state.in_([RunState.QUEUED, RunState.RUNNING])
"""A condition on `runs`: those that are queued or running."""

Rows = Sequence[Any]
"""Rows as SQLAlchemy gives them, with a column per attribute."""


def take_back_if_interrupted(connection: sa.Connection, run_id: str, owner: str) -> bool:
    """Whether the owner has this run; one that was taken for dead has it again from now on.

    It has not where somebody else has resumed the run meanwhile.
    """
    interrupted = runs.update().filter_by(run_id=run_id, owner=owner, state=RunState.INTERRUPTED)
    connection.execute(interrupted.values(state=RunState.RUNNING, finished_at=None, error=None))
    # The run may have another owner by now, or have ended.
    running = runs.select().filter_by(run_id=run_id, owner=owner, state=RunState.RUNNING)
    return connection.scalar(running) is not None


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """What the database holds of some runs, so that records are made after the transaction."""

    runs: Rows
    """In the order of their start."""
    folds: Rows
    """In the order in which they finished."""
    progress: Rows
    queue: Rows
    """Run id, owner and state of all that is queued or running, in the order of the queue."""

    def records(self, *, skip_damaged: bool = True) -> list[RunRecord]:
        """The runs, in the order of the rows.

        Raises:
            DamagedRun: For one that cannot be read, unless such are skipped.
        """
        fold_rows: defaultdict[str, list[Any]] = defaultdict(list)
        for row in self.folds:
            fold_rows[row.run_id].append(row)
        progress_of = {row.run_id: progress_record(row) for row in self.progress}
        queue_places = self._queue_places()
        records = []
        for row in self.runs:
            fold_progress = progress_of.get(row.run_id)
            place = queue_places.get(row.run_id)
            try:
                records.append(_run_record(row, fold_rows[row.run_id], fold_progress, place))
            except (ValueError, TypeError, KeyError, ArithmeticError) as error:
                if not skip_damaged:
                    raise damaged_run(row.run_id, error) from error
        return records

    def _queue_places(self) -> Mapping[str, int]:
        """How many runs of the same owner come before each queued one."""
        # Each owner computes its own runs one after the other, so that only these come before.
        runs_before: defaultdict[str, int] = defaultdict(int)
        places = {}
        for row in self.queue:
            if row.state == RunState.QUEUED:
                places[row.run_id] = runs_before[row.owner]
            runs_before[row.owner] += 1
        return places


def run_rows(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> RunRows:
    """The rows of the runs that fulfil all of `where`; all runs without any."""
    run_ids = sa.select(runs.c.run_id).where(*where)
    active_runs = sa.select(runs.c.run_id, runs.c.owner, runs.c.state).where(ACTIVE)
    # The state 'running' comes before 'queued' in this order.
    queue_query = active_runs.order_by(runs.c.state.desc(), runs.c.queued_at, runs.c.sequence)
    runs_query = runs.select().where(*where).order_by(runs.c.sequence)
    folds_query = folds.select().where(folds.c.run_id.in_(run_ids)).order_by(folds.c.sequence)
    progress_query = progress.select().where(progress.c.run_id.in_(run_ids))
    return RunRows(
        runs=connection.execute(runs_query).all(),
        folds=connection.execute(folds_query).all(),
        progress=connection.execute(progress_query).all(),
        queue=connection.execute(queue_query).all(),
    )


def _run_record(
    row: Any,  # noqa: ANN401  a row
    fold_rows: Rows,
    fold_progress: FoldProgress | None,
    queue_position: int | None,
) -> RunRecord:
    """A run with its folds.

    Args:
        row: The row of the runs table.
        fold_rows: Its rows of the folds table.
        fold_progress: Where the fold is that is computed now.
        queue_position: How many runs come before it in its queue; None where it does not wait.

    Raises:
        ValueError, TypeError, KeyError or ArithmeticError: For a value that cannot be.
    """
    spec = RunSpec.from_json(row.spec)
    results = read_folds(fold_rows)
    stopped_at = checked_stop(row.stopped_at, spec, results.damaged)
    # Where the run stood after each fold is kept with the folds. It is worked out again where a
    # fold lacks it, or is damaged and counts no more.
    moments = None
    if not results.damaged:
        moments = _kept_moments(fold_rows)
    if moments is None:
        moments = LazyMoments(spec, results.seen, stopped_at)
    return RunRecord(
        run_id=row.run_id,
        spec=spec,
        state=RunState(row.state),
        folds=tuple(results.seen),
        ahead=tuple(results.ahead),
        damaged=results.damaged,
        moments=moments,
        created_at=datetime.fromisoformat(row.created_at),
        started_at=_time(row.started_at),
        finished_at=_time(row.finished_at),
        group=row.group_id,
        stopped_at=stopped_at,
        error=row.error,
        other_work=other_work_words(results.seen),
        progress=fold_progress,
        queue_position=queue_position,
        outside=row.owner == OUTSIDE,
        anew=row.anew,
        started_by=row.started_by,
    )


def damaged_run(run_id: str, error: Exception) -> DamagedRun:
    """The sentence about a run whose rows cannot be read."""
    return DamagedRun(
        f"run {run_id} in the database is damaged: {codec.what_is_wrong(error)}; delete it on the "
        "page Runs, or restore the database from a copy"
    )


class ReadFolds(NamedTuple):
    """The folds of one run."""

    seen: list[FoldResult]
    """In the order in which the rule sees them."""
    ahead: list[FoldResult]
    """Finished before their turn."""
    damaged: dict[int, str]
    """What is wrong with each fold that cannot be read, by its index: 'is damaged in ...'."""


def read_folds(fold_rows: Rows) -> ReadFolds:
    """The folds of one run from their rows; what is wrong with those that cannot be read."""
    run_folds = ReadFolds([], [], {})
    for row in _sort_by_turn(fold_rows):
        try:
            result = codec.read(FoldResult, row.result)
            if result.fold != row.fold:
                raise ValueError(f"it is stored as fold {result.fold}")
        except ValueError as error:
            run_folds.damaged[row.fold] = (
                f"is damaged in the database: {codec.what_is_wrong(error)}; resume the run to "
                "compute it again, or delete the fold"
            )
            continue
        if row.ahead:
            run_folds.ahead.append(result)
        else:
            run_folds.seen.append(result)
    return run_folds


def _sort_by_turn(fold_rows: Rows) -> list[Any]:
    """The folds of a run in the order in which its rule saw them.

    Those whose turn is not known come first, in the order in which they finished.
    """

    def turn(row: Any) -> int:  # noqa: ANN401  a row
        if isinstance(row.turn, int):
            return row.turn
        return 0

    return sorted(fold_rows, key=turn)


def checked_stop(stop: int | None, spec: RunSpec, damaged: Collection[int]) -> int | None:
    """Where a run stopped; None too where that does not follow, as one of its folds is damaged.

    Args:
        stop: After so many folds, as the database has it.
        spec: The spec of the run.
        damaged: The indices of folds that cannot be read.

    Raises:
        ValueError: For a fold that it does not have.
    """
    if stop is not None and not 1 <= stop <= spec.k:
        raise ValueError(f"it stopped after {stop} of {spec.k} folds")
    if damaged:
        return None
    return stop


def _kept_moments(fold_rows: Rows) -> Sequence[Moment] | None:
    """Where the run stood after each fold that the rule saw; None where one does not say so."""
    moments = []
    for row in _sort_by_turn(fold_rows):
        if row.ahead:
            continue
        if row.moment is None:
            return None
        try:
            moments.append(codec.read(Moment, row.moment))
        except ValueError:
            return None
    return tuple(moments)


def _time(text: str | None) -> datetime | None:
    """A time as the tables keep it; None where there is none."""
    if not text:
        return None
    return datetime.fromisoformat(text)


def progress_record(row: Any) -> FoldProgress | None:  # noqa: ANN401  a row
    """Where a running fold is; None where that cannot be read: it is not worth a run."""
    with suppress(ValueError, TypeError):
        return FoldProgress(
            fold=row.fold,
            phase=row.phase,
            step=row.step,
            steps=row.steps,
            started_at=datetime.fromisoformat(row.started_at),
        )
    return None


def run_row(
    run_id: str, spec: RunSpec, *, group: str, owner: str, started_by: str = "", anew: bool = False
) -> dict[str, object]:
    """Columns of the runs table for a new run that waits; see `Store.create`."""
    moment = now()
    return {
        "run_id": run_id,
        "group_id": group,
        "spec": spec.to_json(),
        "score_key": spec.score_key,
        "state": RunState.QUEUED,
        "owner": owner,
        "cancel_requested": False,
        "anew": anew,
        "started_by": started_by,
        "created_at": moment,
        "queued_at": moment,
    }


def fold_row(
    run_id: str, result: FoldResult, moment: Moment | None = None, *, ahead: bool = False
) -> dict[str, object]:
    """Columns of the folds table; per-user scores go into a table of their own."""
    row = {
        "run_id": run_id,
        "fold": result.fold,
        "result": codec.json_text(replace(result, user_scores=None)),
        "ahead": ahead,
        "turn": None,
        "moment": None,
    }
    if moment is not None and not ahead:
        row |= moment_columns(moment)
    return row


def moment_columns(moment: Moment) -> dict[str, object]:
    """Columns of the folds table that say where the run stood after a fold."""
    return {"ahead": False, "turn": moment.n, "moment": codec.json_text(moment)}


# Per-user scores: a third of their bytes, bit for bit the same. Users score alike, row by row:
# whoever has no hit has 0 of everything. LZMA finds that by itself. The dictionary is small enough
# for the processor's cache: with a larger one writing takes twice as long.

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 17, "lc": 0, "lp": 2, "pb": 2}]
"""Of numbers of four bytes. Preset 6 saves a tenth of the bytes at eight times the cost."""
_DAMAGED = (lzma.LZMAError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError)


# Two callers ask for the same row one after the other: `Store.add_fold`, and `PlanRuns` for its
# copy in memory.
@lru_cache(maxsize=1)
def user_scores_row(scores: UserScores) -> dict[str, object]:
    """Columns of the user_scores table."""
    clusters = None
    if scores.clusters is not None:
        clusters = _compress_codes(scores.clusters)
    return {
        "metrics": json.dumps(scores.metrics),
        "users": _compress_codes(scores.users),
        "clusters": clusters,
        "scores": _compress(np.ascontiguousarray(scores.values, "<f4").tobytes()),
    }


def unpack_user_scores(row: Any) -> UserScores:  # noqa: ANN401  a row
    """What `user_scores_row` wrote. Raises: DamagedRun for a row that is damaged."""
    try:
        metrics = tuple(json.loads(row.metrics))
        users = _decompress_codes(row.users)
        values = np.frombuffer(_decompress(row.scores), "<f4")
        clusters = None
        if row.clusters is not None:
            clusters = _decompress_codes(row.clusters)
        return UserScores(
            users=users,
            metrics=metrics,
            values=values.reshape(len(users), len(metrics)),
            clusters=clusters,
        )
    except _DAMAGED as error:
        raise DamagedRun(
            f"the per-user scores of fold {row.fold} of run {row.run_id} in the database are "
            f"damaged ({type(error).__name__}); restore the database from a copy, or delete the "
            "run on the page Runs"
        ) from error


def _compress_codes(codes: Codes) -> bytes:
    """Steps from code to code, which mostly ascend, pack better than the codes."""
    steps = np.diff(np.ascontiguousarray(codes, "<i4"), prepend=np.int32(0))
    return _compress(steps.tobytes())


def _decompress_codes(data: bytes) -> Codes:
    steps = np.frombuffer(_decompress(data), "<i4")
    return np.cumsum(steps, dtype="<i4")


def _compress(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_RAW, filters=_FILTERS)


def _decompress(data: bytes) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_FILTERS)
