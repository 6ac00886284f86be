"""Between records and what the tables hold; runs whole, in a fixed number of queries."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import uuid4

import numpy as np
import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.errors import DamagedRun, StoreError
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
from ecv_core.stopping import MomentsAgain, usual_kind
from ecv_core.store.schema import folds, now, progress, runs

# Whether a process still has the run that it computes.


OUTSIDE = "outside"
"""Owner of a run whose folds are asked for and told by programs that come and go. It names no
process, so that nobody takes it for dead: a fold may take days to be told."""


def held(connection: sa.Connection, run_id: str, owner: str) -> bool:
    """Whether the owner has this run and goes on with it.

    One that was taken for dead, and whose run nobody has resumed, has it again.
    """
    mine = (runs.c.run_id == run_id, runs.c.owner == owner)
    back = (
        runs.update()
        .where(*mine, runs.c.state == RunState.INTERRUPTED)
        .values(state=RunState.RUNNING, finished_at=None, error=None)
    )
    if connection.execute(back).rowcount:
        return True
    query = sa.select(runs.c.run_id).where(*mine, runs.c.state == RunState.RUNNING)
    return connection.scalar(query) is not None


AHEAD = ""
"""In place of a moment, of a fold that has finished before its turn; null is of before moments were
kept."""
Rows = Sequence[Any]
"""Rows as SQLAlchemy gives them, with a column per attribute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """What the database holds of some runs, so that records are made after the transaction."""

    rows: Rows
    """In the order of their start."""
    folds: Rows
    """In the order in which they finished."""
    progress: Rows
    waiting: Rows
    """Run id, owner and state of all that is queued or running, in the order of the queue."""

    def runs(self, *, readable: bool = False) -> list[RunRecord]:
        """The records, in the order of the rows; `readable` leaves out damaged ones.

        Raises: StoreError for a damaged one otherwise.
        """
        of_run: defaultdict[str, list[Any]] = defaultdict(list)
        for row in self.folds:
            of_run[row.run_id].append(row)
        now_at = {row.run_id: row for row in self.progress}
        places = _queue_places([(row.run_id, row.owner, row.state) for row in self.waiting])
        found = []
        for row in self.rows:
            at, place = now_at.get(row.run_id), places.get(row.run_id)
            try:
                found.append(_run(row, of_run[row.run_id], at, place))
            except StoreError:
                if not readable:
                    raise
        return found


def run_rows(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> RunRows:
    """The rows of the runs that fulfil all of `where`; all runs without any."""
    chosen = sa.select(runs.c.run_id).where(*where)
    active = runs.c.state.in_([RunState.QUEUED, RunState.RUNNING])
    return RunRows(
        rows=connection.execute(runs.select().where(*where).order_by(runs.c.sequence)).all(),
        folds=connection.execute(
            folds.select().where(folds.c.run_id.in_(chosen)).order_by(folds.c.sequence)
        ).all(),
        progress=connection.execute(progress.select().where(progress.c.run_id.in_(chosen))).all(),
        waiting=connection.execute(
            sa.select(runs.c.run_id, runs.c.owner, runs.c.state)
            .where(active)
            .order_by(runs.c.state.desc(), runs.c.queued_at, runs.c.sequence)
        ).all(),
    )


def _run(row: Any, done: Rows, at: Any, queue_position: int | None) -> RunRecord:  # noqa: ANN401  rows
    try:
        return _record(row, done, at, queue_position)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise damage(row.run_id, error) from error


def damage(run_id: str, error: Exception) -> DamagedRun:
    """The sentence about a run whose rows cannot be read."""
    return DamagedRun(
        f"run {run_id} in the database is damaged: {_said(error)}; delete it on the page Runs, or "
        "restore the database from a copy"
    )


def _said(error: Exception) -> str:
    return (codec.sentence(error) if isinstance(error, ValueError) else repr(error))[:200]


def read_folds(done: Rows) -> tuple[dict[int, FoldResult], dict[int, str]]:
    """The folds of one run that can be read, in their order; and a sentence for each other."""
    good, bad = {}, {}
    for row in done:
        try:
            good[row.fold] = codec.read(FoldResult, row.result)
            if good[row.fold].fold != row.fold:
                raise ValueError(f"it says that it is fold {good.pop(row.fold).fold}")
        except ValueError as error:
            bad[row.fold] = (
                f"fold {row.fold} of run {row.run_id} in the database is damaged: {_said(error)}; "
                "resume the run to compute it again, or delete the fold"
            )
    return good, bad


def _record(row: Any, done: Rows, at: Any, queue_position: int | None) -> RunRecord:  # noqa: ANN401
    spec = RunSpec.from_json(row.spec)
    good, damaged = read_folds(done)
    ahead = {fold.fold for fold in done if fold.moment == AHEAD}
    moments: Sequence[Moment] = () if damaged else _moments(done, spec)
    seen = [fold for fold in good if fold not in ahead]
    if len(moments) == len(seen):
        turn = {moment.fold: moment.n for moment in moments}
        seen.sort(key=lambda fold: turn[fold])
        moments = tuple(sorted(moments, key=lambda moment: moment.n))
    results = tuple(good[fold] for fold in seen)
    stopped_at = stop_of_row(row, spec, damaged)
    if len(moments) < len(results):
        moments = MomentsAgain(spec, results, stopped_at)
    return RunRecord(
        run_id=row.run_id,
        spec=spec,
        state=RunState(row.state),
        folds=results,
        ahead=tuple(good[fold] for fold in good if fold in ahead),
        damaged=damaged,
        moments=moments,
        created_at=datetime.fromisoformat(row.created_at),
        started_at=_time(row.started_at),
        finished_at=_time(row.finished_at),
        group=row.group_id,
        stopped_at=stopped_at,
        error=row.error,
        other_work=other_work_words(results),
        progress=None if at is None else progress_record(at),
        queue_position=queue_position,
        outside=row.owner == OUTSIDE,
        anew=bool(row.anew),
        started_by=row.started_by or "",
    )


def stop_of_row(row: Any, spec: RunSpec, damaged: Collection[int]) -> int | None:  # noqa: ANN401
    """Where a run stopped; None too where that does not follow, for one of its folds is damaged.

    Raises: ValueError for a fold that it does not have.
    """
    stop: int | None = row.stopped_at
    if stop is not None and not 1 <= stop <= spec.k:
        raise ValueError(f"it stopped after {stop} of {spec.k} folds")
    return None if damaged else stop


def _moments(done: Rows, spec: RunSpec) -> Sequence[Moment]:
    """Those that are kept and can be read; of the others nothing is lost but how they were said."""
    with suppress(ValueError):
        return tuple(_moment(fold.moment, spec) for fold in done if fold.moment)
    return ()


def _moment(text: str, spec: RunSpec) -> Moment:
    moment = codec.read(Moment, text)
    if moment.interval is None or '"kind":' in text:
        return moment
    # Of before it was written what an interval holds.
    return replace(moment, interval=replace(moment.interval, kind=usual_kind(spec)))


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


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


def _queue_places(waiting: Sequence[tuple[str, str, str]]) -> Mapping[str, int]:
    """How many runs of the same owner come before each queued one."""
    before: defaultdict[str, int] = defaultdict(int)
    places = {}
    for run_id, owner, state in waiting:
        if state == RunState.QUEUED:
            places[run_id] = before[owner]
        before[owner] += 1
    return places


def queued_rows(
    specs: Sequence[RunSpec], owner: str, started_by: str, *, group: str, anew: bool
) -> list[dict[str, object]]:
    """Columns of the runs table for new runs that wait; see `Store.create`."""
    run_ids = [uuid4().hex[:12] for _ in specs]
    moment = now()
    return [
        {
            "run_id": run_id,
            "group_id": group or run_ids[0],
            "spec": spec.to_json(),
            "score_key": spec.score_key,
            "state": RunState.QUEUED,
            "owner": owner,
            "cancel_requested": False,
            "anew": anew,
            "created_at": moment,
            "queued_at": moment,
            "started_by": started_by or None,
        }
        for run_id, spec in zip(run_ids, specs, strict=True)
    ]


def moment_text(moment: Moment | str | None) -> str | None:
    """A moment as the folds table has it; AHEAD and None as they are."""
    return codec.written(moment) if isinstance(moment, Moment) else moment


def fold_row(run_id: str, result: FoldResult, moment: Moment | str | None) -> dict[str, object]:
    """Columns of the folds table; per-user scores go into a table of their own."""
    return {
        "run_id": run_id,
        "fold": result.fold,
        "result": codec.written(replace(result, user_scores=None)),
        "moment": moment_text(moment),
    }


# Per-user scores: a third of their bytes, bit for bit the same. Users score alike, row by row:
# whoever has no hit has 0 of everything. LZMA finds that by itself.


_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 23, "lc": 0, "lp": 2, "pb": 2}]
"""Of numbers of four bytes. Preset 6, with which earlier versions wrote, saves a tenth of the bytes
at eight times the cost."""
_DAMAGED = (lzma.LZMAError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError)


@lru_cache(maxsize=1)  # a fold is kept in the database and by its book, one after the other
def user_scores_row(scores: UserScores) -> dict[str, object]:
    """Columns of the user_scores table."""
    named = scores.clusters is not None
    codes = np.concatenate([scores.users, scores.clusters]) if named else scores.users
    steps = np.diff(np.ascontiguousarray(codes, "<i4"), prepend=np.int32(0))
    described = {"metrics": scores.metrics, "packed": "lzma"} | ({"clusters": 1} if named else {})
    return {
        "metrics": json.dumps(described),
        "users": _packed(steps.tobytes()),
        "scores": _packed(np.ascontiguousarray(scores.values, "<f4").tobytes()),
    }


def user_scores_of(row: Any) -> UserScores:  # noqa: ANN401  a row
    """What `user_scores_row` wrote, or a version before it.

    Raises: DamagedRun for a row that is damaged.
    """
    try:
        metrics, users, scores = json.loads(row.metrics), row.users, row.scores
        if "hits" in metrics:
            from ecv_core.store.older_versions import scores_of_schema_4

            return scores_of_schema_4(metrics, users, scores)
        clusters = None
        if isinstance(metrics, dict):
            named, metrics = "clusters" in metrics, metrics["metrics"]
            scores = _unpacked(scores)
            codes = np.cumsum(np.frombuffer(_unpacked(users), "<i4"), dtype="<i4")
            codes, clusters = np.split(codes, 2) if named else (codes, None)
        else:
            codes = np.frombuffer(users, "<i4")
        values = np.frombuffer(scores, "<f4").reshape(len(codes), len(metrics))
        return UserScores(users=codes, metrics=tuple(metrics), values=values, clusters=clusters)
    except _DAMAGED as error:
        raise DamagedRun(
            f"the per-user scores of fold {row.fold} of run {row.run_id} in the database are "
            f"damaged ({type(error).__name__}); restore the database from a copy, or delete the "
            "run on the page Runs"
        ) from error


def _packed(data: bytes) -> bytes:
    # Small enough for the cache: as large as earlier versions had it, writing takes twice as long.
    sized = _FILTERS[0] | {"dict_size": 1 << 17}
    return lzma.compress(data, lzma.FORMAT_RAW, filters=[sized])


def _unpacked(data: bytes) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_FILTERS)
