"""Who started what, how they are called, and how much one person may start.

That is decided in the very transaction that starts it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunState
from ecv_core.store.rows import now
from ecv_core.store.schema import people, runs, schema, spent

if TYPE_CHECKING:
    from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """How much of a quota is used."""

    started: int
    """Runs that this person has started or resumed within the last hour."""
    waiting: int
    """Runs in the queue, whoever started them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many runs one person may start within an hour, and how many may wait in all."""

    runs_per_hour: int
    waiting: int

    def refusal(self, used: Used, more: int) -> str | None:
        """Why so many runs more cannot be started now, in one sentence; None where they can."""
        if used.started + more > self.runs_per_hour:
            return (
                f"you have started {used.started} of the {self.runs_per_hour} runs that one "
                f"visitor may start or resume within an hour, and this would be {more} more; wait, "
                "or start fewer"
            )
        if used.waiting + more > self.waiting:
            return (
                f"{used.waiting} of at most {self.waiting} runs are waiting already, and this "
                f"would be {more} more; wait until some are done"
            )
        return None


def used(connection: sa.Connection, person: str) -> Used:
    """How much this person has started, and how much is waiting."""
    mine = sa.select(sa.func.sum(spent.c.starts)).where(
        spent.c.person == person, spent.c.at >= an_hour_ago()
    )
    waiting = sa.select(sa.func.count()).where(runs.c.state == RunState.QUEUED)
    return Used(
        started=connection.scalar(mine) or 0,
        waiting=connection.scalar(waiting) or 0,
    )


def insist(connection: sa.Connection, quota: Quota, person: str, run_ids: Collection[str]) -> None:
    """Count runs that are started or resumed, and refuse what is beyond the quota.

    Until the transaction ends nobody else can count.
    Raises: RightsError.
    """
    # Writing, though nothing changes, makes whoever starts runs at the same moment wait.
    connection.execute(schema.update().values(version=schema.c.version))
    if why := quota.refusal(used(connection, person), len(run_ids)):
        raise RightsError(why)
    _keep(connection, run_ids, person=person, starts=1)


def add_lost(store: Store, run_ids: Collection[str], seconds: float) -> None:
    """Note what a fold took that these runs share and that did not come to its end.

    Raises: StoreError.
    """
    if seconds > 0:
        with store.transaction("written") as connection:
            _keep(connection, run_ids, lost_seconds=seconds / len(run_ids))


def lost_seconds(store: Store, run_ids: Collection[str]) -> Mapping[str, float]:
    """What folds of each of these runs took that did not come to their end.

    Raises: StoreError.
    """
    total = sa.func.sum(spent.c.lost_seconds)
    query = sa.select(spent.c.run_id, total).where(spent.c.run_id.in_(run_ids))
    found = store.rows(query.group_by(spent.c.run_id))
    return dict.fromkeys(run_ids, 0.0) | {run_id: seconds for run_id, seconds in found}


def forget_spent(connection: sa.Connection) -> None:
    """Delete what counts no more: of runs that are gone, and more than an hour old."""
    gone = spent.c.run_id.not_in(sa.select(runs.c.run_id))
    connection.execute(spent.delete().where(gone, spent.c.at < an_hour_ago()))


def an_hour_ago() -> str:
    """As the tables keep times."""
    return (datetime.now(UTC) - timedelta(hours=1)).isoformat()


def _keep(
    connection: sa.Connection,
    run_ids: Collection[str],
    *,
    person: str | None = None,
    starts: int = 0,
    lost_seconds: float = 0.0,
) -> None:
    row = {"person": person, "at": now(), "starts": starts, "lost_seconds": lost_seconds}
    connection.execute(spent.insert(), [row | {"run_id": run_id} for run_id in run_ids])


def starters(store: Store, run_ids: Collection[str]) -> dict[str, str]:
    """Run id -> who started it, of those that are there; empty for what is nobody's.

    Raises: StoreError.
    """
    query = sa.select(runs.c.run_id, runs.c.started_by).where(runs.c.run_id.in_(list(run_ids)))
    return {run_id: person or "" for run_id, person in store.rows(query)}


def introduce(store: Store, person: str, name: str) -> None:
    """Keep how somebody is called now. Raises: StoreError."""
    mine = people.c.person == person
    if store.scalar(sa.select(people.c.name).where(mine)) != name:
        store.write(people.delete().where(mine), people.insert().values(person=person, name=name))


def people_names(store: Store) -> dict[str, str]:
    """How those who have started something are called, by their id. Raises: StoreError."""
    return {row.person: row.name for row in store.rows(people.select())}


def used_by(store: Store, person: str) -> Used:
    """How much of a quota this person has used. Raises: StoreError."""
    with store.transaction("read") as connection:
        return used(connection, person)
