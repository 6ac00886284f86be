"""The tables, and a database engine whose errors say what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from ecv_core.errors import StoreError
from ecv_core.places import OWN
from ecv_core.records import RunSpec
from ecv_core.store.database_errors import first_line, way_out, without_password

SCHEMA_VERSION = 5
"""5: runs are found by what decides their scores. 4: per-user scores are packed. 3: who started
what. 2: progress got a curve. 1: the first."""

_PATIENCE_SECONDS, _RETRY_SECONDS = 15.0, 0.05
"""How long another process may take to make the tables."""
_FILE = "ecv-file"
"""Which file a connection has open, in its info."""

metadata = sa.MetaData()

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
studies = sa.Table(
    "studies",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("study_id", sa.String(32), nullable=False, unique=True),
    sa.Column("created_at", sa.String(32), nullable=False),
    sa.Column("cells", sa.Text, nullable=False),
    sa.Column("started_by", sa.Text),
)
selections = sa.Table(
    "selections",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("selection_id", sa.String(32), nullable=False, unique=True),
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


def database_url() -> str:
    """Where runs live: `ECV_DATABASE_URL`, else a SQLite file in `places.OWN`."""
    return os.environ.get("ECV_DATABASE_URL") or f"sqlite:///{OWN / 'runs.sqlite'}"


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for any other."""
    address = sa.make_url(url)
    named = address.get_backend_name() == "sqlite" and address.database not in (None, ":memory:")
    return Path(str(address.database)) if named else None


def connect(url: str) -> sa.Engine:
    """An engine on this database, its tables made if they are missing.

    Several processes may do so at once: whoever comes second waits, and finds the tables made.

    Raises: StoreError if there is no usable database, or a newer version's.
    """
    try:
        engine = _engine(url)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise StoreError(
            f"'{without_password(url)}' is not a usable database address "
            f"({without_password(first_line(error))}); set ECV_DATABASE_URL to one like "
            "sqlite:////path/to/runs.sqlite, or postgresql://name@host/database with the package "
            "psycopg[binary] installed"
        ) from None
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_pragmas)
        _make_folder(engine.url.database)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            _make_tables(engine)
        except StoreError as error:
            if not _somebody_else_makes_them(error) or time.monotonic() > deadline:
                engine.dispose()
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return engine


def _engine(url: str) -> sa.Engine:
    address = sa.make_url(url)
    if address.drivername in ("postgresql", "postgres"):  # as most people write it
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite":
        return sa.create_engine(address, connect_args={"timeout": 15})
    return sa.create_engine(
        address,
        pool_pre_ping=True,  # a server that was restarted meanwhile is asked anew
    )


def _make_tables(engine: sa.Engine) -> None:
    with transaction(engine, "opened") as connection:
        schema.create(connection, checkfirst=True)
        version = connection.scalar(sa.select(sa.func.max(schema.c.version)))
        if version == 1:
            progress.drop(connection, checkfirst=True)  # says where running folds are, no more
        metadata.create_all(connection)
        if version is not None and version < SCHEMA_VERSION:
            _add_columns(connection)
        if version is None or version < SCHEMA_VERSION:
            connection.execute(schema.insert().values(version=SCHEMA_VERSION))
        elif version > SCHEMA_VERSION:
            raise StoreError(
                f"the database {engine.url.render_as_string()} was written by a newer version "
                f"(schema {version}, this one knows {SCHEMA_VERSION}); update e-fold, or set "
                "ECV_DATABASE_URL to another file"
            )


def _add_columns(connection: sa.Connection) -> None:
    """Those that tables of an older version lack; only the key of a run's scores is filled."""
    known = sa.inspect(connection)
    added = set()
    for column in (
        *(runs.c.started_by, studies.c.started_by, selections.c.started_by),
        runs.c.score_key,
    ):
        table = column.table.name
        if column.name not in {one["name"] for one in known.get_columns(table)}:
            kind = column.type.compile(connection.dialect)
            connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}"))
            added.add(column)
    if runs.c.score_key in added:
        for index in runs.indexes:
            index.create(connection, checkfirst=True)
        _fill_score_keys(connection)


def _fill_score_keys(connection: sa.Connection) -> None:
    """Give every run the key of its scores; a damaged spec has none and is never found by it."""
    keys = []
    for row in connection.execute(sa.select(runs.c.sequence, runs.c.spec)).all():
        with suppress(ValueError):
            keys.append({"place": row.sequence, "key": RunSpec.from_json(row.spec).score_key})
    if keys:
        of_place = runs.update().where(runs.c.sequence == sa.bindparam("place"))
        connection.execute(of_place.values(score_key=sa.bindparam("key")), keys)


def _somebody_else_makes_them(error: StoreError) -> bool:
    """Whether a table, its version or the lock was there first."""
    cause = str(error.__cause__).lower()
    return any(word in cause for word in ("already exists", "locked", "unique", "duplicate"))


@contextmanager
def transaction(engine: sa.Engine, doing: str) -> Iterator[sa.Connection]:
    """One transaction; a database's error becomes one sentence that says the way out.

    Args:
        engine: the database.
        doing: what could not be done, as in "the database ... cannot be written".
    Raises: StoreError.
    """
    try:
        with engine.begin() as connection:
            _insist_on_the_file(engine, connection)
            yield connection
    except SQLAlchemyError as error:
        if "no such table" in str(error):  # SQLite has made an empty file where it was deleted
            raise _other_file(engine) from error
        raise StoreError(
            f"the database {engine.url.render_as_string()} cannot be {doing}: "
            f"{first_line(error)}; {way_out(error)}"
        ) from error


def _insist_on_the_file(engine: sa.Engine, connection: sa.Connection) -> None:
    """An open SQLite file that was deleted takes whatever is written, and keeps nothing.

    Raises: StoreError where the file is gone, or another one has taken its place.
    """
    opened = connection.info.get(_FILE)
    path = engine.url.database
    if opened is None or path is None or _identity(path) == opened:
        return
    connection.invalidate()
    engine.dispose()
    raise _other_file(engine)


def _other_file(engine: sa.Engine) -> StoreError:
    return StoreError(
        f"the database {engine.url.database} was deleted or replaced while it was in use; put it "
        "back, or restart e-fold to go on with what is there"
    )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_folder(path: str | None) -> None:
    if not path or path == ":memory:":
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the database {path} cannot be made: {error.strerror}; "
            "set ECV_DATABASE_URL to a place you can write to"
        ) from None


def _sqlite_pragmas(connection: Any, record: Any) -> None:  # noqa: ANN401  a DBAPI connection
    cursor = connection.cursor()
    path = cursor.execute("PRAGMA database_list").fetchone()[2]
    if path:
        record.info[_FILE] = _identity(path)
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # a finished fold survives a power cut
    cursor.close()
