"""A database engine whose errors say what to do; its tables made, or those of before taken over."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from ecv_core.records.errors import StoreError
from ecv_core.records.places import OWN
from ecv_core.store.schema import SCHEMA_VERSION, metadata, schema

_SCHEME = re.compile(r"[\w+]+://")
_PASSWORD_OF_QUERY = re.compile(r"(?i)((?:pass|pwd|secret)\w*\s*=)(.+)$", re.DOTALL)
_ASKED = "ecv-address"
"""The address as it was given, in an engine's options: SQLAlchemy writes it in another order."""
_LEAST = 4
"""Characters of a piece of a password that is looked for in what a driver says."""


def without_password(text: str, url: str) -> str:
    """A text with the address of a database in it, or what a driver says of one, fit to be shown.

    People write passwords into addresses in every way, and a driver then quotes pieces of them as
    something else, such as a host. So more than the password may go: all up to the last at-sign,
    and all after `password=`.
    """
    begin = _SCHEME.match(url)
    scheme = begin[0] if begin else ""
    rest = url[len(scheme) :]
    if scheme == "sqlite://":  # a path may have every sign, and there is no password
        return text
    before, _, host = rest.rpartition("@")
    user, colon, secret = before.partition(":")
    secrets = [secret] if colon else []
    shown = f"{user}:***@{host}" if colon else rest
    if query := _PASSWORD_OF_QUERY.search(rest):
        secrets.append(query[2])
        if colon and query.start() < len(before):  # the at-sign may be one of the password
            shown = f"{user}:***"
        shown = _PASSWORD_OF_QUERY.sub(r"\1***", shown)
    spellings = {spelling for one in secrets for spelling in (one, unquote(one), unquote_plus(one))}
    pieces = spellings | {piece for one in spellings for piece in re.split(r"[\W_]+", one)}
    hidden = sorted((piece for piece in pieces if len(piece) >= _LEAST), key=len, reverse=True)
    around = text.split(url) if url else [text]
    if hidden:
        looked_for = re.compile("|".join(map(re.escape, hidden)))
        around = [looked_for.sub("***", part) for part in around]
    return f"{scheme}{shown}".join(around)


def _shown(engine: sa.Engine, text: str | None = None) -> str:
    """What a driver says, or else the address itself, without its password."""
    url = engine.get_execution_options()[_ASKED]
    return without_password(url if text is None else text, url)


def first_line(error: BaseException) -> str:
    """What the database itself said."""
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def way_out(error: BaseException | str) -> str:
    """What to do about it."""
    text = str(error).lower()
    if "not a database" in text or "malformed" in text:
        return "move the damaged file away, or set ECV_DATABASE_URL to another"
    if "full" in text:
        return "free some disk space"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "make it writable, or set ECV_DATABASE_URL to a place you can write to"
    if "locked" in text:
        return "another program holds it; try again"
    return "set ECV_DATABASE_URL to a database that works"


_PATIENCE_SECONDS, _RETRY_SECONDS = 15.0, 0.05
"""How long another process may take to make the tables."""
_FILE = "ecv-file"
"""Which file a connection has open, in its info."""


def database_url() -> str:
    """Where runs live: `ECV_DATABASE_URL`, else a SQLite file in `records.places.OWN`."""
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
        engine = fresh(url)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise StoreError(
            f"'{without_password(url, url)}' is not a usable database address "
            f"({without_password(first_line(error), url)}); set ECV_DATABASE_URL to one like "
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


def fresh(url: str) -> sa.Engine:
    """An engine on this database that has read nothing yet; it makes no tables."""
    address = sa.make_url(url)
    if address.get_backend_name() != "sqlite" and url.count("@") > 1:
        raise ValueError("a sign @ in the password, or after it, has to be written as %40")
    if address.drivername in ("postgresql", "postgres"):  # as most people write it
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite":
        return sa.create_engine(
            address, connect_args={"timeout": 15}, execution_options={_ASKED: url}
        )
    return sa.create_engine(
        address,
        execution_options={_ASKED: url},
        pool_pre_ping=True,  # a server that was restarted meanwhile is asked anew
    )


def _make_tables(engine: sa.Engine) -> None:
    with transaction(engine, "opened") as connection:
        schema.create(connection, checkfirst=True)
        newest = sa.select(sa.func.max(schema.c.version))
        version = connection.scalar(newest)
        if version is not None and version < SCHEMA_VERSION:
            # Writing, though nothing changes, makes whoever opens it at the same moment wait.
            connection.execute(schema.update().values(version=schema.c.version))
            version = connection.scalar(newest)
            if version < SCHEMA_VERSION:
                from ecv_core.store.older_versions import take_over

                take_over(connection, version)
        metadata.create_all(connection)
        if version is None or version < SCHEMA_VERSION:
            connection.execute(schema.insert().values(version=SCHEMA_VERSION))
        elif version > SCHEMA_VERSION:
            raise StoreError(
                f"the database {_shown(engine)} was written by a newer version "
                f"(schema {version}, this one knows {SCHEMA_VERSION}); update e-fold, or set "
                "ECV_DATABASE_URL to another file"
            )


def _somebody_else_makes_them(error: StoreError) -> bool:
    """Whether a table, its version or the lock was there first."""
    cause = str(error.__cause__).lower()
    return any(word in cause for word in ("already exists", "locked", "unique", "duplicate"))


@contextmanager
def transaction(engine: sa.Engine, doing: str) -> Iterator[sa.Connection]:
    """One transaction; a database's error becomes one sentence that says the way out.

    Args: doing: what could not be done, as in "the database ... cannot be written".
    Raises: StoreError.
    """
    try:
        with engine.begin() as connection:
            _insist_on_the_file(engine, connection)
            yield connection
    except (SQLAlchemyError, UnicodeError) as error:
        if "no such table" in str(error):  # SQLite has made an empty file where it was deleted
            raise _other_file(engine) from error
        raise StoreError(
            f"the database {_shown(engine)} cannot be {doing}: "
            f"{_shown(engine, first_line(error))}; {way_out(error)}"
        ) from RuntimeError(_shown(engine, str(error)))  # logged with it; a driver's own says more


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
        with suppress(FileExistsError, PermissionError):  # SQLite says what else is wrong
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))  # of its owner alone
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
