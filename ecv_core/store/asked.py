"""Folds that other code has asked for and has not told yet: each for one asker, for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from filelock import FileLock

from ecv_core.store.schema import asked, folds, runs
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A fold that somebody has asked for."""

    fold: int
    asked_at: datetime
    until: datetime
    """From then on it may be asked for again; what is told of it later is kept all the same, as
    long as it is missing."""


def lease(
    store: Store, run_id: str, wanted: Sequence[int], *, seconds: float, anew: bool = False
) -> int | None:
    """Take the first of these folds that is missing and that nobody else has asked for.

    Of several who do so at once each gets another one.

    Args:
        wanted: fold indices, the most urgent first.
        seconds: until it may be asked for again.
        anew: take it though somebody has it.
    Returns: its index; None where there is none.
    """
    now = datetime.now(UTC)
    values = {"asked_at": now.isoformat(), "until": (now + timedelta(seconds=seconds)).isoformat()}
    with store.transaction("written") as connection:
        # Writing, though nothing changes, makes whoever asks at the same moment wait.
        mine = runs.update().where(runs.c.run_id == run_id)
        connection.execute(mine.values(run_id=runs.c.run_id))
        done = set(connection.scalars(sa.select(folds.c.fold).where(folds.c.run_id == run_id)))
        given = _leases(connection, run_id)
        for fold in wanted:
            if fold in done or (fold in given and given[fold].until > now and not anew):
                continue
            of_fold = (asked.c.run_id == run_id, asked.c.fold == fold)
            connection.execute(asked.delete().where(*of_fold))
            connection.execute(asked.insert().values(run_id=run_id, fold=fold, **values))
            return fold
    return None


def begins(store: Store, run_id: str, fold: int) -> datetime:
    """The clock of a fold starts now, that was asked for; gives until when it is its asker's."""
    mine = (asked.c.run_id == run_id, asked.c.fold == fold)
    with store.transaction("written") as connection:
        now = datetime.now(UTC).isoformat()
        connection.execute(asked.update().where(*mine).values(asked_at=now))
        until: str = connection.execute(sa.select(asked.c.until).where(*mine)).scalar_one()
    return datetime.fromisoformat(until)


def leases(store: Store, run_id: str) -> Mapping[int, Lease]:
    """The folds of a run that were asked for and are missing, by index, in the order of asking."""
    with store.transaction("read") as connection:
        return _leases(connection, run_id)


def expire(store: Store, run_id: str, fold: int | None = None) -> None:
    """Let a fold of a run, or every one, be asked for again."""
    one = sa.true() if fold is None else asked.c.fold == fold
    with store.transaction("written") as connection:
        mine = asked.update().where(asked.c.run_id == run_id, one)
        connection.execute(mine.values(until=datetime.now(UTC).isoformat()))


def _leases(connection: sa.Connection, run_id: str) -> dict[int, Lease]:
    there = sa.select(folds.c.fold).where(folds.c.run_id == run_id)
    query = asked.select().where(asked.c.run_id == run_id, asked.c.fold.not_in(there))
    return {
        row.fold: Lease(
            fold=row.fold,
            asked_at=datetime.fromisoformat(row.asked_at),
            until=datetime.fromisoformat(row.until),
        )
        for row in connection.execute(query.order_by(asked.c.asked_at)).all()
    }


@contextmanager
def one_at_a_time(store: Store) -> Iterator[None]:
    """Whoever tells a fold looks at the others, and so has to be alone with the database.

    On every machine that uses a PostgreSQL server; SQLite is used on one.
    """
    address = sa.make_url(store.url)
    if address.get_backend_name() == "sqlite":
        with FileLock(f"{address.database}-tell.lock"):  # it stays: others may wait for it
            yield
        return
    with store.transaction("locked") as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_NAME)))
        yield


_NAME = 0x65667464
"""Of the lock; any number that nobody else uses."""
