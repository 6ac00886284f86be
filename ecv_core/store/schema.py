"""The tables of the database; runs that were deleted and can be brought back for a while."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import partial

import sqlalchemy as sa

SCHEMA_VERSION = 7
"""The first version that is promised, of release 0.2.0; what is lower was never released.

Whoever changes a table after that release raises this number by one, and adds a migration from the
number before: a function in `store/migrations.py` that alters the tables in the transaction in
which `engine.connect` opens the database, with a test on a file that the release before has
written. A database with a higher number than this one is refused.
"""

UNDO_MINUTES = 60
"""How long a deleted run can be brought back."""

metadata = sa.MetaData()


def now() -> str:
    """This moment in UTC, as the tables keep it."""
    return datetime.now(UTC).isoformat()


# Columns of each kind, which every row has unless a table says `nullable=True`.

_text = partial(sa.Column, type_=sa.Text, nullable=False)
_number = partial(sa.Column, type_=sa.Integer, nullable=False)
_flag = partial(sa.Column, type_=sa.Boolean, nullable=False)
_bytes = partial(sa.Column, type_=sa.LargeBinary, nullable=False)
_sequence = partial(sa.Column, "sequence", sa.Integer, primary_key=True, autoincrement=True)
"""Numbers the rows in the order in which they came."""

schema = sa.Table("ecv_schema", metadata, _number("version", primary_key=True))

runs = sa.Table(
    "runs",
    metadata,
    _sequence(),
    _text("run_id", unique=True),
    _text("group_id", index=True),
    _text("spec"),
    _text("score_key", index=True),
    _text("state", index=True),
    _text("owner", nullable=True),
    _flag("cancel_requested"),
    _flag("anew"),
    _text("started_by"),
    _text("created_at"),
    _text("queued_at"),
    _text("started_at", nullable=True),
    _text("finished_at", nullable=True),
    _number("stopped_at", nullable=True),
    _text("error", nullable=True),
)

folds = sa.Table(
    "folds",
    metadata,
    _sequence(),
    _text("run_id", index=True),
    _number("fold"),
    _text("result"),
    _flag("ahead"),
    _number("turn", nullable=True),
    _text("moment", nullable=True),
    sa.UniqueConstraint("run_id", "fold"),
)
"""`ahead` is a fold that has finished before its turn. `moment` is where the run stood after the
fold, and `turn` how many folds the rule had seen then; both are null where the moments of a run are
to be worked out again."""

user_scores = sa.Table(
    "user_scores",
    metadata,
    _text("run_id", primary_key=True),
    _number("fold", primary_key=True),
    _text("metrics"),
    _bytes("users"),
    _bytes("clusters", nullable=True),
    _bytes("scores"),
)

progress = sa.Table(
    "progress",
    metadata,
    _text("run_id", primary_key=True),
    _number("fold"),
    _text("phase"),
    _number("step"),
    _number("steps"),
    _text("started_at"),
)

fold_leases = sa.Table(
    "fold_leases",
    metadata,
    _text("run_id", primary_key=True),
    _number("fold", primary_key=True),
    _text("asked_at"),
    _text("until"),
)

under_way = sa.Table(
    "under_way",
    metadata,
    _text("run_id", primary_key=True),
    _number("fold", primary_key=True),
    _text("node"),
    _text("since"),
)
"""Folds on the nodes of a cluster; `progress` has one fold of a run, the first that told its."""

places = sa.Table(
    "places",
    metadata,
    _text("group_id", primary_key=True),
    _text("place"),
)
"""Where runs are computed that were started together; nothing where nobody has chosen."""

owners = sa.Table(
    "owners",
    metadata,
    _text("owner", primary_key=True),
    _flag("serves"),
    _text("beat_at"),
)

imports = sa.Table(
    "imports",
    metadata,
    _text("run_id", primary_key=True),
    _text("original_id"),
    _text("file_name"),
    _text("made_with"),
    _text("imported_at"),
)

labels = sa.Table(
    "labels",
    metadata,
    _text("run_id", primary_key=True),
    _text("name"),
    _text("tags"),
    _text("note"),
)

removed = sa.Table(
    "removed",
    metadata,
    _text("run_id", primary_key=True),
    _text("removed_at"),
)

plans = sa.Table(
    "plans",
    metadata,
    _sequence(),
    _text("plan_id", unique=True),
    _text("kind", index=True),
    _text("created_at"),
    _text("content"),
    _text("started_by"),
)

people = sa.Table(
    "people",
    metadata,
    _text("person", primary_key=True),
    _text("name"),
)

spent = sa.Table(
    "spent",
    metadata,
    _sequence(),
    _text("run_id", index=True),
    _text("person", nullable=True),
    _text("at"),
    _number("starts"),
    sa.Column("lost_seconds", sa.Float, nullable=False),
)
"""What counts in a quota besides finished folds; a row outlives its run by the hour that counts."""

_OF_A_RUN = (runs, folds, user_scores, progress, under_way, fold_leases, imports, labels, removed)


def wait_for_others(connection: sa.Connection) -> None:
    """Make whoever does the same at this moment wait until this transaction ends.

    Writing does that, though nothing changes.
    """
    connection.execute(schema.update().values(version=schema.c.version))


def is_not_deleted() -> sa.ColumnElement[bool]:
    """A condition on `runs`: those that are not deleted."""
    return runs.c.run_id.not_in(sa.select(removed.c.run_id))


def forget(connection: sa.Connection, run_ids: Collection[str]) -> None:
    """Delete runs and everything that belongs to them for good."""
    connection.execute(places.delete().where(places.c.group_id.in_(run_ids)))
    for table in _OF_A_RUN:
        connection.execute(table.delete().where(table.c.run_id.in_(run_ids)))


def forget_long_removed(connection: sa.Connection) -> None:
    """Delete for good what was removed more than UNDO_MINUTES ago."""
    oldest = datetime.now(UTC) - timedelta(minutes=UNDO_MINUTES)
    query = sa.select(removed.c.run_id).where(removed.c.removed_at < oldest.isoformat())
    run_ids = connection.scalars(query).all()
    if run_ids:
        forget(connection, run_ids)
