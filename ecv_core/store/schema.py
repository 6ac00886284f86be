"""The tables; runs that were deleted and can be brought back for a while."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

SCHEMA_VERSION = 6
"""6: several programs ask for folds, and folds say how busy the machine was. 5: runs are found by
what decides their scores, and studies and selections are plans. 4: per-user scores are packed. 3:
who started what. 2: progress got a curve. 1: the first."""

metadata = sa.MetaData()


def now() -> str:
    """This moment in UTC, as the tables keep it."""
    return datetime.now(UTC).isoformat()


schema = sa.Table("ecv_schema", metadata, sa.Column("version", sa.Integer, primary_key=True))
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.String(32), nullable=False, unique=True),
    sa.Column("group_id", sa.String(32), nullable=False, index=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    sa.Column("owner", sa.String(128)),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, default=False),
    sa.Column("created_at", sa.String(32), nullable=False),
    sa.Column("queued_at", sa.String(32), nullable=False),
    sa.Column("started_at", sa.String(32)),
    sa.Column("finished_at", sa.String(32)),
    sa.Column("stopped_at", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("started_by", sa.Text),
    sa.Column("anew", sa.Boolean),
    sa.Column("score_key", sa.String(32), index=True),  # null where the spec is damaged
)
folds = sa.Table(
    "folds",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.String(32), nullable=False, index=True),
    sa.Column("fold", sa.Integer, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("moment", sa.Text),
    sa.UniqueConstraint("run_id", "fold"),
)
user_scores = sa.Table(
    "user_scores",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("fold", sa.Integer, primary_key=True),
    sa.Column("metrics", sa.Text, nullable=False),
    sa.Column("users", sa.LargeBinary, nullable=False),
    sa.Column("scores", sa.LargeBinary, nullable=False),
)
progress = sa.Table(
    "progress",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("fold", sa.Integer, nullable=False),
    sa.Column("phase", sa.String(64), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("curve", sa.Text, nullable=False),
    sa.Column("started_at", sa.String(32), nullable=False),
)
asked = sa.Table(
    "asked",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("fold", sa.Integer, primary_key=True),
    sa.Column("asked_at", sa.String(32), nullable=False),
    sa.Column("until", sa.String(32), nullable=False),
)
under_way = sa.Table(
    "under_way",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("fold", sa.Integer, primary_key=True),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("since", sa.String(32), nullable=False),
)
"""Folds on the nodes of a cluster; `progress` has one fold of a run, the first that told its."""
places = sa.Table(
    "places",
    metadata,
    sa.Column("group_id", sa.String(32), primary_key=True),
    sa.Column("place", sa.Text, nullable=False),
)
"""Where runs are computed that were started together; nothing where nobody has chosen."""
owners = sa.Table(
    "owners",
    metadata,
    sa.Column("owner", sa.String(128), primary_key=True),
    sa.Column("serves", sa.Boolean, nullable=False),
    sa.Column("beat_at", sa.String(32), nullable=False),
)
imports = sa.Table(
    "imports",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("original_id", sa.String(32), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False, unique=True),
    sa.Column("file_name", sa.String(120), nullable=False),
    sa.Column("made_with", sa.Text, nullable=False),
    sa.Column("imported_at", sa.String(32), nullable=False),
)
labels = sa.Table(
    "labels",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)
removed = sa.Table(
    "removed",
    metadata,
    sa.Column("run_id", sa.String(32), primary_key=True),
    sa.Column("removed_at", sa.String(32), nullable=False),
)
plans = sa.Table(
    "plans",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("plan_id", sa.String(32), nullable=False, unique=True),
    sa.Column("kind", sa.String(16), nullable=False, index=True),
    sa.Column("created_at", sa.String(32), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("started_by", sa.Text),
)
people = sa.Table(
    "people",
    metadata,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)
spent = sa.Table(
    "spent",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.String(32), nullable=False, index=True),
    sa.Column("person", sa.Text),
    sa.Column("at", sa.String(32), nullable=False),
    sa.Column("starts", sa.Integer, nullable=False),
    sa.Column("lost_seconds", sa.Float, nullable=False),
)
"""What counts in a quota besides finished folds; a row outlives its run by the hour that counts."""


# Runs that were deleted and can be brought back for a while; then they are gone for good.


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
