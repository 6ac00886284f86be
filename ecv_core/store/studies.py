"""Studies in the database: which runs are asked for, and which runs fill them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec
from ecv_core.store.rows import now
from ecv_core.store.schema import studies
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run that a study asks for, and the run that fills its place."""

    spec: RunSpec
    run_id: str = ""
    """In this database or among the recorded runs, and perhaps deleted since; empty at first."""
    borrowed: bool = False
    """Whether the run was there before the study."""
    run: Run | None = None
    """It, as it was when it was looked up; None where there is none, or it has been deleted."""
    path: Path | None = None
    """Where it is recorded once it has ended; None where it stays in the database only."""

    @property
    def recorded(self) -> bool:
        """Whether its run is on disk, with all folds that were asked for."""
        return self.path is not None and self.path.exists()

    @property
    def active(self) -> bool:
        """Whether its folds are being computed, or wait for it."""
        return self.run is not None and self.run.state.active

    @property
    def to_do(self) -> bool:
        """Whether folds are missing that nobody is going to compute unasked."""
        return self.run is None or self.run.resumable

    @property
    def early(self) -> bool:
        """Whether it ended at its stop, with folds left that could check it."""
        return self.run is not None and self.run.can_be_checked


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What the database keeps of a cell."""

    spec: RunSpec
    run_id: str
    borrowed: bool = False


_Row = tuple[_Kept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """A study as it was started."""

    study_id: str
    created_at: datetime
    cells: tuple[Cell, ...]
    """Without their runs: see `study.look`."""
    started_by: str = ""
    """As in Run."""

    @property
    def n_splits(self) -> int:
        """How many ways to split it compares; most studies have one."""
        specs = [cell.spec for cell in self.cells]
        return len({(s.split, s.split_params, s.folds_sha256, s.k) for s in specs})


def keep_study(
    store: Store, cells: Sequence[Cell], study_id: str | None = None, *, started_by: str = ""
) -> str:
    """Keep a new study, or other runs for the cells of one that is there; gives its id."""
    from ecv_core.records import codec

    kept = (_Kept(spec=one.spec, run_id=one.run_id, borrowed=one.borrowed) for one in cells)
    text = codec.written(tuple(kept), _Row)
    with store.transaction("written") as connection:
        if study_id is not None:
            mine = studies.c.study_id == study_id
            connection.execute(studies.update().where(mine).values(cells=text))
            return study_id
        study_id = uuid4().hex[:12]
        row = {"study_id": study_id, "created_at": now(), "cells": text}
        connection.execute(studies.insert().values(**row, started_by=started_by or None))
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
            "installation; start it anew"
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
        cells=tuple(
            Cell(spec=one.spec, run_id=one.run_id, borrowed=one.borrowed)
            for one in codec.read(_Row, row.cells)
        ),
        started_by=row.started_by or "",
    )
