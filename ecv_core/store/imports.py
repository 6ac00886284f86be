"""Runs that were computed elsewhere: into the database, with where they came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.run import Run, RunState
from ecv_core.store import schema
from ecv_core.store.rows import fold_row, now, queued_rows, run_rows
from ecv_core.store.schema import folds, imports, removed, runs
from ecv_core.store.store import Store

if TYPE_CHECKING:
    from ecv_core.store.run_file import RunFile

OWNER = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an imported run came from."""

    original_id: str
    """Its id in the installation that computed it."""
    file_name: str
    imported_at: datetime
    made_with: Mapping[str, Any]
    """Machine and versions that it was computed with, as far as its file says; may be empty."""


def import_run(store: Store, file: RunFile, *, started_by: str = "") -> tuple[str, bool]:
    """Keep a finished run that was computed elsewhere.

    It gets its own id where that is free, else a new one. What was imported before is not kept
    twice.

    Args:
        started_by: the id of the person who imports it.
    Returns: the id that it has here, and whether it is new; False where it was here already.
    Raises: StoreError.
    """
    run, sha256 = file.run, file.sha256
    with store.transaction("written") as connection:
        # One that was deleted is imported anew, whether it came from this file or ran here.
        same = sa.or_(imports.c.sha256 == sha256, removed.c.run_id == run.run_id)
        joined = removed.outerjoin(imports, imports.c.run_id == removed.c.run_id)
        deleted = sa.select(removed.c.run_id).select_from(joined).where(same)
        schema.forget(connection, list(connection.scalars(deleted)))
        here = connection.scalar(sa.select(imports.c.run_id).where(imports.c.sha256 == sha256))
        if here is not None:
            return str(here), False
        taken = run_rows(connection, runs.c.run_id == run.run_id)
        if any((one.spec, one.folds) == (run.spec, run.folds) for one in taken.runs({})):
            return run.run_id, False
        run_id = uuid4().hex[:12] if taken.rows else run.run_id
        _insert(connection, run, run_id, started_by)
        connection.execute(
            imports.insert().values(
                run_id=run_id,
                original_id=run.run_id,
                sha256=sha256,
                file_name=codec.shown(file.name, 120),
                made_with=json.dumps(dict(file.made_with)),
                imported_at=now(),
            )
        )
        return run_id, True


def origins(store: Store) -> dict[str, Origin]:
    """Where each imported run came from, by the id that it has here.

    Raises: StoreError.
    """
    with store.transaction("read") as connection:
        rows = connection.execute(imports.select()).all()
    found = {}
    for row in rows:
        with suppress(ValueError, TypeError):  # a damaged one says nothing, and hides no other
            found[row.run_id] = Origin(
                original_id=row.original_id,
                file_name=row.file_name,
                imported_at=datetime.fromisoformat(row.imported_at),
                made_with=codec.read(dict[str, Any], row.made_with),
            )
    return found


def _insert(connection: sa.Connection, run: Run, run_id: str, started_by: str) -> None:
    created = run.created_at.astimezone(UTC).isoformat()
    (row,) = queued_rows([run.spec], OWNER, started_by, group=run_id, anew=False)
    row |= {"run_id": run_id, "state": RunState.FINISHED, "stopped_at": run.stopped_at}
    row |= dict.fromkeys(("created_at", "queued_at", "started_at"), created)
    row["finished_at"] = (run.finished_at or run.created_at).astimezone(UTC).isoformat()
    connection.execute(runs.insert().values(**row))
    connection.execute(
        folds.insert(),
        [
            fold_row(run_id, result, moment)
            for result, moment in zip(run.folds, run.moments, strict=True)
        ],
    )
