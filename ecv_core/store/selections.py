"""Selections in the database: what they ask, and which runs hold the folds of each contender."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.errors import InputError
from ecv_core.records import RunSpec
from ecv_core.store.rows import now
from ecv_core.store.schema import selections
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedContender:
    """One contender of a selection, and where its folds are."""

    name: str
    spec: RunSpec
    """Of all its folds."""
    known: tuple[str, ...] = ()
    """Ids of runs that were there before, in this database or recorded; some may be gone."""
    run_id: str | None = None
    """Of the run that computes what is missing; None as long as nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRecord:
    """A selection as it was started."""

    selection_id: str
    created_at: datetime
    terms: Mapping[str, float | int | str | bool]
    contenders: tuple[PlannedContender, ...]
    started_by: str = ""
    """As in Run; its runs are theirs too."""


def keep_selection(
    store: Store,
    contenders: Sequence[PlannedContender],
    terms: Mapping[str, float | int | str | bool],
    *,
    started_by: str = "",
) -> str:
    """Keep a new selection; gives its id."""
    selection_id = uuid4().hex[:12]
    row = {
        "selection_id": selection_id,
        "created_at": now(),
        "content": _text(contenders, terms),
        "started_by": started_by or None,
    }
    with store.transaction("written") as connection:
        connection.execute(selections.insert().values(**row))
    return selection_id


def update_selection(store: Store, record: SelectionRecord) -> None:
    """Keep what has changed of a selection."""
    mine = selections.c.selection_id == record.selection_id
    content = _text(record.contenders, record.terms)
    with store.transaction("written") as connection:
        connection.execute(selections.update().where(mine).values(content=content))


def stored_selection(store: Store, selection_id: str) -> SelectionRecord:
    """One selection.

    Raises: InputError if there is none with this id.
    """
    query = selections.select().where(selections.c.selection_id == selection_id)
    with store.transaction("read") as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise InputError(
            f"there is no selection '{selection_id}' here; it may have been removed, or belongs to "
            "another installation: pick one in the list, or start a new one"
        )
    return _record(row)


def stored_selections(store: Store) -> list[SelectionRecord]:
    """All selections, newest first."""
    query = selections.select().order_by(selections.c.sequence.desc())
    with store.transaction("read") as connection:
        return [_record(row) for row in connection.execute(query).all()]


def selections_with(store: Store, run_id: str) -> list[SelectionRecord]:
    """The selections that a run computes folds for."""
    query = selections.select().where(selections.c.content.contains(run_id, autoescape=True))
    with store.transaction("read") as connection:
        records = [_record(row) for row in connection.execute(query).all()]
    return [one for one in records if any(each.run_id == run_id for each in one.contenders)]


def forget_selection(store: Store, selection_id: str) -> None:
    """Remove a selection from the list; its runs stay."""
    with store.transaction("written") as connection:
        connection.execute(selections.delete().where(selections.c.selection_id == selection_id))


def _text(
    contenders: Sequence[PlannedContender], terms: Mapping[str, float | int | str | bool]
) -> str:
    return json.dumps(
        {
            "terms": dict(terms),
            "contenders": [
                {
                    "name": one.name,
                    "spec": json.loads(one.spec.to_json()),
                    "known": one.known,
                    "run_id": one.run_id,
                }
                for one in contenders
            ],
        }
    )


def _record(row: sa.Row[tuple[object, ...]]) -> SelectionRecord:
    content = json.loads(row.content)
    return SelectionRecord(
        selection_id=row.selection_id,
        created_at=datetime.fromisoformat(row.created_at),
        terms=content["terms"],
        contenders=tuple(
            PlannedContender(
                name=one["name"],
                spec=RunSpec.from_json(json.dumps(one["spec"])),
                known=tuple(one["known"]),
                run_id=one["run_id"],
            )
            for one in content["contenders"]
        ),
        started_by=row.started_by or "",
    )
