"""Between records and what the tables hold."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from ecv_core.records import (
    Decision,
    Energy,
    FoldProgress,
    FoldResult,
    Interval,
    Moment,
    Run,
    RunSpec,
    RunState,
    UserScores,
)


def now() -> str:
    """This moment in UTC, as the tables keep it."""
    return datetime.now(UTC).isoformat()


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def fold_json(result: FoldResult) -> str:
    """A fold as JSON, without its per-user scores."""
    return json.dumps(asdict(replace(result, user_scores=None)) | {"metrics": dict(result.metrics)})


def fold_record(text: str) -> FoldResult:
    """What `fold_json` wrote."""
    data: dict[str, Any] = json.loads(text)
    known = {field.name for field in fields(FoldResult)} - {"user_scores", "energy"}
    data["inner_curve"] = tuple(data.get("inner_curve", ()))
    return FoldResult(
        energy=Energy(**data["energy"]), **{key: data[key] for key in known if key in data}
    )


def moment_json(moment: Moment) -> str:
    """A moment as JSON."""
    return json.dumps(asdict(moment))


def moment_record(text: str) -> Moment:
    """What `moment_json` wrote."""
    data = json.loads(text)
    interval = data["interval"] and Interval(**data["interval"])
    return Moment(**data | {"interval": interval, "decision": Decision(**data["decision"])})


def progress_record(row: sa.Row[Any]) -> FoldProgress:
    """Where the running fold is."""
    return FoldProgress(
        fold=row.fold,
        phase=row.phase,
        step=row.step,
        steps=row.steps,
        started_at=datetime.fromisoformat(row.started_at),
        curve=tuple(json.loads(row.curve)),
    )


def queue_places(waiting: Sequence[tuple[str, str, str]]) -> Mapping[str, int]:
    """How many runs of the same owner come before each queued one.

    Args:
        waiting: (run_id, owner, state) of active runs, running ones first, then as queued.
    """
    before: defaultdict[str, int] = defaultdict(int)
    places = {}
    for run_id, owner, state in waiting:
        if state == RunState.QUEUED:
            places[run_id] = before[owner]
        before[owner] += 1
    return places


def run_record(
    row: sa.Row[Any],
    results: Sequence[FoldResult],
    moments: Sequence[Moment],
    progress: FoldProgress | None,
    queue_position: int | None,
) -> Run:
    """A run from its row and what belongs to it."""
    return Run(
        run_id=row.run_id,
        spec=RunSpec.from_json(row.spec),
        state=RunState(row.state),
        folds=tuple(results),
        moments=tuple(moments),
        created_at=datetime.fromisoformat(row.created_at),
        started_at=_time(row.started_at),
        finished_at=_time(row.finished_at),
        group=row.group_id,
        stopped_at=row.stopped_at,
        error=row.error,
        progress=progress,
        queue_position=queue_position,
    )


def user_scores_row(scores: UserScores) -> dict[str, object]:
    """Columns of the user_scores table, arrays as raw little-endian bytes."""
    return {
        "metrics": json.dumps(scores.metrics),
        "users": np.ascontiguousarray(scores.users, "<i4").tobytes(),
        "scores": np.ascontiguousarray(scores.values, "<f4").tobytes(),
    }


def user_scores_record(row: sa.Row[Any]) -> UserScores:
    """What `user_scores_row` wrote."""
    users = np.frombuffer(row.users, "<i4")
    metrics = tuple(json.loads(row.metrics))
    values = np.frombuffer(row.scores, "<f4").reshape(len(users), len(metrics))
    return UserScores(users=users, metrics=metrics, values=values)
