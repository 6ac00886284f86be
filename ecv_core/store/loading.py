"""Runs read whole: a fixed number of queries, however many runs there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ecv_core.records import FoldResult, Moment, Run, RunState
from ecv_core.store.rows import (
    fold_record,
    moment_record,
    progress_record,
    queue_places,
    run_record,
)
from ecv_core.store.schema import folds, progress, runs

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

    def runs(self) -> list[Run]:
        """The records, in the order of the rows."""
        results: defaultdict[str, list[FoldResult]] = defaultdict(list)
        moments: defaultdict[str, list[Moment]] = defaultdict(list)
        for row in self.folds:
            results[row.run_id].append(fold_record(row.result))
            if row.moment:
                moments[row.run_id].append(moment_record(row.moment))
        now_at = {row.run_id: progress_record(row) for row in self.progress}
        places = queue_places([(row.run_id, row.owner, row.state) for row in self.waiting])
        return [
            run_record(
                row,
                results[row.run_id],
                moments[row.run_id],
                now_at.get(row.run_id),
                places.get(row.run_id),
            )
            for row in self.rows
        ]


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
