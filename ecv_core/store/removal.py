"""Runs that were deleted and can be brought back for a while; then they are gone for good."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from ecv_core.store.schema import (
    asked,
    folds,
    imports,
    labels,
    places,
    progress,
    removed,
    runs,
    under_way,
    user_scores,
)

UNDO_MINUTES = 60


def kept() -> sa.ColumnElement[bool]:
    """A condition on `runs`: those that are not deleted."""
    return runs.c.run_id.not_in(sa.select(removed.c.run_id))


def remove(connection: sa.Connection, run_ids: Collection[str]) -> None:
    """Take these runs out of every list; none of them may be active."""
    moment = datetime.now(UTC).isoformat()
    connection.execute(removed.delete().where(removed.c.run_id.in_(run_ids)))
    if run_ids:
        rows = [{"run_id": run_id, "removed_at": moment} for run_id in run_ids]
        connection.execute(removed.insert(), rows)


def bring_back(connection: sa.Connection, run_ids: Collection[str]) -> int:
    """Undo `remove`; gives how many of them could be brought back."""
    return connection.execute(removed.delete().where(removed.c.run_id.in_(run_ids))).rowcount


def forget(connection: sa.Connection, run_ids: Collection[str]) -> None:
    """Delete runs and everything that belongs to them for good."""
    connection.execute(places.delete().where(places.c.group_id.in_(run_ids)))
    for table in (runs, folds, user_scores, progress, under_way, asked, imports, labels, removed):
        connection.execute(table.delete().where(table.c.run_id.in_(run_ids)))


def forget_old(connection: sa.Connection) -> None:
    """Delete for good what was removed more than UNDO_MINUTES ago."""
    before = (datetime.now(UTC) - timedelta(minutes=UNDO_MINUTES)).isoformat()
    old = connection.scalars(sa.select(removed.c.run_id).where(removed.c.removed_at < before)).all()
    if old:
        forget(connection, old)
