"""Who started what, how they are called, and what they have used of a quota."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ecv_core.store.quota import QuotaUse, note_spent, quota_use
from ecv_core.store.schema import people, runs, spent
from ecv_core.store.store import Store


def add_lost(store: Store, run_ids: Collection[str], seconds: float) -> None:
    """Note what a fold took that these runs share and that did not come to its end.

    Raises:
        StoreError.
    """
    if seconds > 0:
        with store.transaction("written") as connection:
            note_spent(connection, run_ids, lost_seconds=seconds / len(run_ids))


def lost_seconds(store: Store, run_ids: Collection[str]) -> Mapping[str, float]:
    """Run id -> the seconds of its folds that were cut off, 0 for none. Raises: StoreError."""
    # A fold that was cut off is kept nowhere; what it took is noted in `spent`.
    total = sa.func.sum(spent.c.lost_seconds)
    query = sa.select(spent.c.run_id, total).where(spent.c.run_id.in_(run_ids))
    seconds_of = dict.fromkeys(run_ids, 0.0)
    for run_id, seconds in store.rows(query.group_by(spent.c.run_id)):
        seconds_of[run_id] = seconds
    return seconds_of


def starters(store: Store, run_ids: Collection[str]) -> dict[str, str]:
    """Run id -> who started it, of those that are there; empty for what is nobody's.

    Raises:
        StoreError.
    """
    query = sa.select(runs.c.run_id, runs.c.started_by).where(runs.c.run_id.in_(list(run_ids)))
    return {row.run_id: row.started_by for row in store.rows(query)}


def introduce(store: Store, person: str, name: str) -> None:
    """Keep how somebody is called now. Raises: StoreError."""
    if store.scalar(sa.select(people.c.name).filter_by(person=person)) != name:
        named = people.insert().values(person=person, name=name)
        store.write(people.delete().filter_by(person=person), named)


def people_names(store: Store) -> dict[str, str]:
    """How those who have started something are called, by their id. Raises: StoreError."""
    return {row.person: row.name for row in store.rows(people.select())}


def used_by(store: Store, person: str) -> QuotaUse:
    """How much of a quota this person has used. Raises: StoreError."""
    with store.transaction("read") as connection:
        return quota_use(connection, person)
