"""Per-user scores that an earlier version wrote, packed a few folds at a time."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress

import sqlalchemy as sa

from ecv_core.records.errors import StoreError
from ecv_core.store.engine import sqlite_file
from ecv_core.store.schema import user_scores
from ecv_core.store.store import Store
from ecv_core.store.user_scores import record_of, row_of

AT_ONCE = 20
"""Folds: others who write wait for so many at most."""
Place = tuple[str, int]
"""Run and fold."""
START: Place = ("", -1)


def pack_some(store: Store, after: Place = START) -> Place | None:
    """Pack the next few folds that are plain bytes; what they say stays the same to the last bit.

    Args:
        store: whose.
        after: where the last call ended.
    Returns: where this one ended; None if nothing is left.
    Raises: StoreError if the database cannot be used.
    """
    place = sa.tuple_(user_scores.c.run_id, user_scores.c.fold)
    plain = (place > sa.tuple_(*after), user_scores.c.metrics.like("[%"))
    query = user_scores.select().where(*plain).order_by(user_scores.c.run_id, user_scores.c.fold)
    with store.transaction("read") as connection:
        rows = connection.execute(query.limit(AT_ONCE)).all()
    packed = []
    for row in rows:
        with suppress(StoreError):  # a damaged one stays; whoever reads it is told
            packed.append((row, row_of(record_of(row))))
    with store.transaction("written") as connection:
        for row, values in packed:
            same = (user_scores.c.run_id == row.run_id) & (user_scores.c.fold == row.fold)
            connection.execute(user_scores.update().where(same).values(**values))
    return (rows[-1].run_id, rows[-1].fold) if rows else None


def give_back(store: Store) -> None:
    """Give what is free in a SQLite file now back to the disk; another day if it is busy."""
    path = sqlite_file(store.url)
    if path is None:
        return
    try:
        with closing(sqlite3.connect(path, timeout=1)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        return
