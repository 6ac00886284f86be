"""Plans in the database: studies and selections.

The runs that compute for a plan have its id as their group; everything else follows from results.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.errors import InputError
from ecv_core.records.spec import RunSpec
from ecv_core.store.schema import now, plans
from ecv_core.store.store import Store

log = logging.getLogger(__name__)

STUDY = "study"
SELECTION = "selection"


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run that a plan asks for."""

    spec: RunSpec
    name: str = ""
    """What it is called in the plan; empty where its spec says enough."""


@dataclass(frozen=True, kw_only=True)
class PlanContent:
    """What a plan was started with; it never changes."""

    runs: tuple[PlannedRun, ...]
    terms: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    """What is asked, by name; of a study nothing."""


@dataclass(frozen=True, kw_only=True)
class PlanRecord:
    """A plan as it was started."""

    plan_id: str
    kind: str
    created_at: datetime
    content: PlanContent
    started_by: str = ""
    """As in Run; its runs are theirs too."""


def keep_plan(
    store: Store,
    kind: str,
    runs: Sequence[PlannedRun],
    terms: Mapping[str, float | int | str | bool] | None = None,
    *,
    started_by: str = "",
) -> str:
    """Keep a new plan; gives its id."""
    plan_id = uuid4().hex[:12]
    content = PlanContent(runs=tuple(runs), terms=terms or {})
    row = plans.insert().values(
        plan_id=plan_id,
        kind=kind,
        created_at=now(),
        content=codec.json_text(content),
        started_by=started_by,
    )
    store.write(row)
    return plan_id


def stored_plan(store: Store, kind: str, plan_id: str) -> PlanRecord:
    """One plan of this kind. Raises: InputError if there is none with this id."""
    record = plan_behind(store, plan_id)
    if record is None or record.kind != kind:
        raise InputError(
            f"there is no {kind} '{plan_id}' here; it may have been removed, or belong to "
            "another installation: choose one from the list, or start a new one"
        )
    return record


def plan_behind(store: Store, group: str | None) -> PlanRecord | None:
    """The plan that runs of this group compute for; None for runs on their own."""
    for record in _records(store, plans.select().filter_by(plan_id=group)):
        return record
    return None


def stored_plans(store: Store, kind: str) -> list[PlanRecord]:
    """All plans of this kind that can be read, newest first."""
    query = plans.select().filter_by(kind=kind).order_by(plans.c.sequence.desc())
    return _records(store, query)


def forget_plan(store: Store, plan_id: str) -> None:
    """Remove a plan from its list; its runs stay."""
    store.write(plans.delete().filter_by(plan_id=plan_id))


def _records(store: Store, query: sa.Select[Any]) -> list[PlanRecord]:
    """What the query finds; a damaged plan is as one that was removed: its runs stay."""
    records = []
    for row in store.rows(query):
        try:
            record = PlanRecord(
                plan_id=row.plan_id,
                kind=row.kind,
                created_at=datetime.fromisoformat(row.created_at),
                content=codec.read(PlanContent, row.content),
                started_by=row.started_by,
            )
        except ValueError as error:
            log.warning("the plan %s is damaged: %s", row.plan_id, codec.what_is_wrong(error))
        else:
            records.append(record)
    return records
