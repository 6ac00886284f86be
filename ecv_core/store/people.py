"""Who started what, and how they are called."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from ecv_core.store.quota import Used, used
from ecv_core.store.schema import people, runs
from ecv_core.store.store import Store


def starters(store: Store, run_ids: Collection[str]) -> dict[str, str]:
    """Run id -> who started it, of those that are there; empty for what is nobody's.

    Raises: StoreError.
    """
    query = sa.select(runs.c.run_id, runs.c.started_by).where(runs.c.run_id.in_(list(run_ids)))
    with store.transaction("read") as connection:
        return {run_id: person or "" for run_id, person in connection.execute(query)}


def introduce(store: Store, person: str, name: str) -> None:
    """Keep how somebody is called now. Raises: StoreError."""
    mine = people.c.person == person
    with store.transaction("read") as connection:
        known = connection.scalar(sa.select(people.c.name).where(mine))
    if known == name:
        return
    with store.transaction("written") as connection:
        connection.execute(people.delete().where(mine))
        connection.execute(people.insert().values(person=person, name=name))


def people_names(store: Store) -> dict[str, str]:
    """How those who have started something are called, by their id. Raises: StoreError."""
    with store.transaction("read") as connection:
        rows = connection.execute(people.select()).all()
    return {row.person: row.name for row in rows}


def used_by(store: Store, person: str) -> Used:
    """How much of a quota this person has used. Raises: StoreError."""
    with store.transaction("read") as connection:
        return used(connection, person)
