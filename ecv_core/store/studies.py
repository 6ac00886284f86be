"""Studies in the database: which runs are the cells of which datasets x algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.errors import InputError
from ecv_core.records import RunSpec
from ecv_core.store.rows import now
from ecv_core.store.schema import studies
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell of a study: what it is, and the run that fills it."""

    spec: RunSpec
    run_id: str
    """In this database or among the recorded runs; it may have been deleted since."""
    borrowed: bool = False
    """Whether the run was there before the study."""


Cells = tuple[PlannedCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """A study as it was started."""

    study_id: str
    created_at: datetime
    cells: Cells

    @property
    def n_splits(self) -> int:
        """How many ways to split it compares; most studies have one."""
        specs = [cell.spec for cell in self.cells]
        return len({(s.split, s.split_params, s.folds_sha256, s.k) for s in specs})


def keep_study(store: Store, cells: Sequence[PlannedCell], study_id: str | None = None) -> str:
    """Keep a new study, or other runs for the cells of one that is there; gives its id."""
    from ecv_core.records import codec

    text = codec.written(tuple(cells), Cells)
    with store.transaction("written") as connection:
        if study_id is not None:
            mine = studies.c.study_id == study_id
            connection.execute(studies.update().where(mine).values(cells=text))
            return study_id
        study_id = uuid4().hex[:12]
        row = {"study_id": study_id, "created_at": now(), "cells": text}
        connection.execute(studies.insert().values(**row))
    return study_id


def stored_study(store: Store, study_id: str) -> StudyRecord:
    """One study.

    Raises: InputError if there is none with this id.
    """
    query = studies.select().where(studies.c.study_id == study_id)
    with store.transaction("read") as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise InputError(
            f"there is no study '{study_id}' here; it may have been removed, or belongs to another "
            "installation: pick one in the list, or start a new one"
        )
    return _record(row)


def stored_studies(store: Store) -> list[StudyRecord]:
    """All studies, newest first."""
    query = studies.select().order_by(studies.c.sequence.desc())
    with store.transaction("read") as connection:
        return [_record(row) for row in connection.execute(query).all()]


def forget_study(store: Store, study_id: str) -> None:
    """Remove a study from the list; its runs stay."""
    with store.transaction("written") as connection:
        connection.execute(studies.delete().where(studies.c.study_id == study_id))


def _record(row: sa.Row[tuple[object, ...]]) -> StudyRecord:
    from ecv_core.records import codec

    return StudyRecord(
        study_id=row.study_id,
        created_at=datetime.fromisoformat(row.created_at),
        cells=codec.read(Cells, row.cells),
    )
