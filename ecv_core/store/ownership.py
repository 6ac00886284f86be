"""Which process has which run, and whether it is still there to go on with it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from ecv_core.records import RunState
from ecv_core.store.rows import now
from ecv_core.store.schema import owners, progress, runs
from ecv_core.store.store import Store

_ACTIVE = runs.c.state.in_([RunState.QUEUED, RunState.RUNNING])
GONE = "the program that ran it ended before it was done"


def active_owners(store: Store) -> dict[str, datetime | None]:
    """Owners of runs that are queued or running, with their last sign of life."""
    query = (
        sa.select(runs.c.owner, owners.c.beat_at)
        .join(owners, owners.c.owner == runs.c.owner, isouter=True)
        .where(_ACTIVE)
        .distinct()
    )
    with store.transaction("read") as connection:
        found = connection.execute(query).all()
    return {
        owner: None if beat_at is None else datetime.fromisoformat(beat_at)
        for owner, beat_at in found
        if owner
    }


def owner_of(store: Store, run_id: str) -> str | None:
    """Who has a run, or had it last; None where that is not known."""
    with store.transaction("read") as connection:
        return connection.scalar(sa.select(runs.c.owner).where(runs.c.run_id == run_id))


def beat(store: Store, owner: str, *, serves: bool) -> None:
    """A sign of life; those of owners without active runs are forgotten.

    Args:
        store: where.
        owner: who is there.
        serves: whether the next dashboard takes its queue over.
    """
    here = {"serves": serves, "beat_at": now()}
    same = owners.update().where(owners.c.owner == owner).values(**here)
    with store.transaction("written") as connection:
        if not connection.execute(same).rowcount:
            active = sa.select(runs.c.owner).where(_ACTIVE, runs.c.owner.is_not(None))
            connection.execute(owners.delete().where(owners.c.owner.not_in(active)))
            connection.execute(owners.insert().values(owner=owner, **here))


def take_over(store: Store, gone: Collection[str], *, owner: str) -> int:
    """Give what waits in the queues of dashboards that are gone to this owner; how many runs."""
    serving = sa.select(owners.c.owner).where(owners.c.owner.in_(gone), owners.c.serves)
    waiting = (runs.c.state == RunState.QUEUED, runs.c.owner.in_(serving))
    with store.transaction("written") as connection:
        return connection.execute(runs.update().where(*waiting).values(owner=owner)).rowcount


def interrupt(store: Store, gone: Collection[str]) -> None:
    """Mark the active runs of owners that are gone as interrupted."""
    theirs = (_ACTIVE, runs.c.owner.in_(gone))
    with store.transaction("written") as connection:
        connection.execute(
            progress.delete().where(progress.c.run_id.in_(sa.select(runs.c.run_id).where(*theirs)))
        )
        connection.execute(
            runs.update()
            .where(*theirs)
            .values(state=RunState.INTERRUPTED, finished_at=now(), error=GONE)
        )
