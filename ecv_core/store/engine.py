"""The address of a database -> an engine with its tables, whose errors say what to do."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar
from urllib.parse import unquote, unquote_plus

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ecv_core.records.errors import StoreError
from ecv_core.records.places import OWN
from ecv_core.store.schema import SCHEMA_VERSION, metadata, schema

log = logging.getLogger(__name__)

_SCHEME = re.compile(r"^[\w+]+://")
_PASSWORD_OPTION = re.compile(r"(?i)((?:pass|pwd|secret)\w*\s*=)(?P<password>.+)$", re.DOTALL)
"""All that follows a word such as `password=` in an address."""
_URL = "ecv-address"
"""The address as it was given, in an engine's options: SQLAlchemy writes it in another order."""
_SHORTEST_FORM = 4
"""Characters of a piece of a password that is looked for in what a driver says."""
_WAIT_SECONDS = 15.0
"""How long another process may take to make the tables."""
_RETRY_SECONDS = 0.05
AGAIN_SECONDS = 2.0
"""How long to wait before a database that is away is asked again."""
_ANSWER_SECONDS = 10
"""How long a server may take to answer who connects; what is beyond is away."""
_SILENCE_MILLISECONDS = 30_000
"""How long a server may leave what was sent without a sign that it has come."""
_FILE = "ecv-file"
"""Which file a connection has open, in its info."""


class _Address(NamedTuple):
    """The address of a database, fit to be shown, and the passwords that were cut out of it."""

    shown: str
    passwords: list[str]


def without_password(text: str, url: str) -> str:
    """A text with the address of a database in it, or what a driver says of one, fit to be shown.

    People write passwords into addresses in every way, and a driver then quotes pieces of them as
    something else, such as a host. So more than the password may go: all up to the last at-sign,
    and all after `password=`.
    """
    if not url or url.startswith("sqlite://"):  # a path may have every sign, and has no password
        return text
    address = _cut_out_passwords(url)
    texts_around = text.split(url)
    # In the text around the address, a driver may quote the passwords in other forms.
    password_forms = _password_forms(address.passwords)
    if password_forms:
        any_form = re.compile("|".join(map(re.escape, password_forms)))
        texts_around = [any_form.sub("***", part) for part in texts_around]
    return address.shown.join(texts_around)


def _cut_out_passwords(url: str) -> _Address:
    # An address is SCHEME://USER:PASSWORD@HOST/..., and may have ?password=... in the end as well.
    address = _SCHEME.sub("", url, count=1)
    scheme = url.removesuffix(address)
    login, _, host = address.rpartition("@")
    user, colon, password = login.partition(":")
    passwords = []
    shown = address
    if colon:
        passwords.append(password)
        shown = f"{user}:***@{host}"
    option = _PASSWORD_OPTION.search(address)
    if option:
        passwords.append(option["password"])
        if colon and option.start() < len(login):
            # The last at-sign may be a part of this password, so no host is shown at all.
            shown = f"{user}:***"
        shown = _PASSWORD_OPTION.sub(r"\1***", shown)
    return _Address(scheme + shown, passwords)


def _password_forms(passwords: list[str]) -> list[str]:
    """The passwords in every spelling, and their parts between signs, the longest first."""
    # A driver may show a password as it stands in the address, decoded, or cut at a sign.
    forms = set()
    for password in passwords:
        for spelling in (password, unquote(password), unquote_plus(password)):
            forms.add(spelling)
            forms.update(re.split(r"[\W_]+", spelling))
    long_enough = [form for form in forms if len(form) >= _SHORTEST_FORM]
    # A pattern takes the first of its alternatives that fits, so the longest come first.
    return sorted(long_enough, key=len, reverse=True)


def _fit_to_show(engine: sa.Engine, text: str) -> str:
    """What a driver says, or the address of the database, without its password."""
    return without_password(text, _url_of(engine))


def _url_of(engine: sa.Engine) -> str:
    return engine.get_execution_options()[_URL]


def _shown_url(engine: sa.Engine) -> str:
    return _fit_to_show(engine, _url_of(engine))


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
    if "disk i/o error" in text:
        # SQLite also says this where the quota is used up, or a full disk has no room beside it.
        return "free some disk space, or set ECV_DATABASE_URL to a database on another disk"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "make it writable, or set ECV_DATABASE_URL to a place you can write to"
    if "locked" in text:
        return "another program holds it; try again"
    return "set ECV_DATABASE_URL to a database that works"


def database_url() -> str:
    """Where runs live: `ECV_DATABASE_URL`, else a SQLite file in `records.places.OWN`."""
    return os.environ.get("ECV_DATABASE_URL") or f"sqlite:///{OWN / 'runs.sqlite'}"


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for any other."""
    address = sa.make_url(url)
    if address.get_backend_name() != "sqlite" or address.database in (None, ":memory:"):
        return None
    return Path(str(address.database))


def connect(url: str) -> sa.Engine:
    """An engine on this database, its tables made if they are missing.

    Several processes may do so at once: whoever comes second waits, and finds the tables made.

    Raises:
        StoreError: If there is no usable database, or one of another version.
    """
    try:
        engine = new_engine(url)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise StoreError(
            f"'{without_password(url, url)}' is not a usable database address "
            f"({without_password(first_line(error), url)}); set ECV_DATABASE_URL to one like "
            "sqlite:////path/to/runs.sqlite, or postgresql://name@host/database with the package "
            "psycopg[binary] installed"
        ) from None
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        _make_folder(engine.url.database)
    # Another process that opens the same new database may make its tables at this moment.
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            _make_tables(engine)
            return engine
        except StoreError as error:
            if not _is_made_meanwhile(error) or time.monotonic() > deadline:
                engine.dispose()
                raise
        time.sleep(_RETRY_SECONDS)


def new_engine(url: str) -> sa.Engine:
    """An engine on this database that has read nothing yet; it makes no tables."""
    address = sa.make_url(url)
    if address.get_backend_name() != "sqlite" and url.count("@") > 1:
        raise ValueError("write an @ in the password, or after it, as %40")
    if address.drivername in ("postgresql", "postgres"):
        # Most people write the address without the driver.
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite":
        options: dict[str, Any] = {"connect_args": {"timeout": 15}}
    else:
        # Each connection is tried before it is used, as the server may have been restarted
        # meanwhile.
        options = {"pool_pre_ping": True}
    if address.get_backend_name() == "postgresql":
        limits = {"connect_timeout": _ANSWER_SECONDS, "tcp_user_timeout": _SILENCE_MILLISECONDS}
        for name in address.query:
            # A limit in the address takes precedence over ours.
            limits.pop(name, None)
        options["connect_args"] = limits
    return sa.create_engine(address, execution_options={_URL: url}, **options)


def _make_tables(engine: sa.Engine) -> None:
    """Make the tables of a new database; refuse a database of another version as it is."""
    with transaction(engine, "opened") as connection:
        schema.create(connection, checkfirst=True)
        version = connection.scalar(sa.select(sa.func.max(schema.c.version)))
        if version is None:
            metadata.create_all(connection)
            connection.execute(schema.insert().values(version=SCHEMA_VERSION))
        elif version < SCHEMA_VERSION:
            raise StoreError(
                f"the database {_shown_url(engine)} was made by a version of e-fold before "
                f"0.2.0 (schema {version}, this one reads {SCHEMA_VERSION}); move it away, or "
                "set ECV_DATABASE_URL to another database, and a new one is made"
            )
        elif version > SCHEMA_VERSION:
            raise StoreError(
                f"the database {_shown_url(engine)} was written by a newer version "
                f"(schema {version}, this one reads {SCHEMA_VERSION}); update e-fold, or set "
                "ECV_DATABASE_URL to another"
            )


def _is_made_meanwhile(error: StoreError) -> bool:
    """Whether another process makes the tables: a table, its version or the lock was there."""
    cause = str(error.__cause__).lower()
    return any(word in cause for word in ("already exists", "locked", "unique", "duplicate"))


Say = Callable[[str | None], object]
"""Told a sentence while a database is away, and None once it is back; it may raise to give up."""
_SAY: ContextVar[Say | None] = ContextVar("say", default=None)


@contextmanager
def waiting_for_database(say: Say | None) -> Iterator[None]:
    """In this block and thread a database that cannot be reached is waited for.

    A transaction whose connection is lost in the middle is done again where it is `repeatable`;
    any other one fails.

    Args:
        say: Is told, each time that it was asked in vain; None where nothing is to wait, though a
            block around this one says so.
    """
    token = _SAY.set(say)
    try:
        yield
    finally:
        _SAY.reset(token)


def _is_connection_lost(error: Exception) -> bool:
    """Whether the database ended the connection, and with it the transaction."""
    if not isinstance(error, DBAPIError):
        return False
    # PostgreSQL says by a code of class 57P that it shuts down. The driver may hear this some time
    # before it sees that the connection is closed.
    code = getattr(error.orig, "sqlstate", None) or ""
    return error.connection_invalidated or code.startswith("57P")


class _NotNow(StoreError):
    """The database may do it when it is asked again, and has done none of it so far."""


_Args = ParamSpec("_Args")
_Answer = TypeVar("_Answer")


def repeatable(transact: Callable[_Args, _Answer]) -> Callable[_Args, _Answer]:
    """A function of at most one transaction, done again where the database raises `_NotNow`.

    It is done again only in a block of `waiting_for_database`.
    """

    @wraps(transact)
    def transact_until_answered(*args: _Args.args, **kwargs: _Args.kwargs) -> _Answer:
        say = _SAY.get()
        if say is None:
            return transact(*args, **kwargs)
        was_in_vain = False
        while True:
            try:
                answer = transact(*args, **kwargs)
            except _NotNow as error:
                if not was_in_vain:  # The log says it once.
                    log.error("%s", error)
                was_in_vain = True
                say(f"{error}; e-fold tries again")
                time.sleep(AGAIN_SECONDS)
            else:
                if was_in_vain:
                    say(None)
                return answer

    return transact_until_answered


@repeatable
def _open_connection(engine: sa.Engine) -> sa.Connection:
    """A connection; waited for where `waiting_for_database` says so. Raises: SQLAlchemyError."""
    try:
        return engine.connect()
    except DBAPIError as error:
        if _SAY.get() is None:
            raise
        why = _fit_to_show(engine, first_line(error))
        raise _NotNow(f"the database {_shown_url(engine)} cannot be reached: {why}") from None


def _number_of_transaction(connection: sa.Connection) -> int | None:
    """By which PostgreSQL knows this transaction, also once the connection is lost.

    Returns:
        None for one that has changed nothing, and where nobody waits for the database.
    """
    if connection.dialect.name != "postgresql" or _SAY.get() is None:
        return None
    number: int | None = connection.scalar(sa.select(sa.func.txid_current_if_assigned()))
    return number


@repeatable
def _is_committed(engine: sa.Engine, number: int) -> bool:
    """Whether a transaction was done whose connection was lost while it was committed.

    Args:
        engine: The engine of the database.
        number: As of `_number_of_transaction`.

    Raises:
        StoreError: Where the database does not say it.
    """
    with transaction(engine, "read") as connection:
        status: str | None = connection.scalar(sa.select(sa.func.txid_status(number)))
    if status not in ("committed", "aborted"):
        # The server may not have seen yet that the connection is lost.
        raise _NotNow(
            f"the database {_shown_url(engine)} does not say whether a transaction was committed "
            f"(it is {status})"
        )
    return status == "committed"


@contextmanager
def transaction(engine: sa.Engine, doing: str) -> Iterator[sa.Connection]:
    """One transaction; a database's error becomes one sentence that says the way out.

    Args:
        engine: The engine of the database.
        doing: What could not be done, as in "the database ... cannot be written".

    Raises:
        StoreError.
    """
    number: int | None = None
    try:
        with _open_connection(engine) as connection, connection.begin():
            _refuse_replaced_file(engine, connection)
            yield connection
            # A transaction that only reads has nothing to commit.
            if doing != "read":
                number = _number_of_transaction(connection)
    except (SQLAlchemyError, UnicodeError) as error:
        if "no such table" in str(error):
            # The file was deleted, and SQLite has made an empty one in its place.
            raise _other_file_error(engine) from error
        error_class = StoreError
        if _is_connection_lost(error):
            if number is not None and _is_committed(engine, number):
                return
            error_class = _NotNow
        raise error_class(
            f"the database {_shown_url(engine)} cannot be {doing}: "
            f"{_fit_to_show(engine, first_line(error))}; {way_out(error)}"
        ) from RuntimeError(
            # The log shows this cause. The driver's own error may hold the password, and is not
            # chained.
            _fit_to_show(engine, str(error))
        )


def _refuse_replaced_file(engine: sa.Engine, connection: sa.Connection) -> None:
    """An open SQLite file that was deleted takes whatever is written, and keeps nothing.

    Raises:
        StoreError: Where the file is gone, or another one has taken its place.
    """
    file_at_connect = connection.info.get(_FILE)
    path = engine.url.database
    if file_at_connect is None or path is None or _identity(path) == file_at_connect:
        return
    connection.invalidate()
    engine.dispose()
    raise _other_file_error(engine)


def _other_file_error(engine: sa.Engine) -> StoreError:
    return StoreError(
        f"the database {engine.url.database} was deleted or replaced while it was in use; put "
        "it back, or restart e-fold to continue with the present file"
    )


def _identity(path: str) -> tuple[int, int] | None:
    """Device and number of a file, which no other file has; None where it is gone."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _make_folder(path: str | None) -> None:
    if not path or path == ":memory:":
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError, PermissionError):
            # If the file cannot be made here, SQLite says why when it opens it.
            # Only the owner of the file may read and write it.
            new_file = os.open(path, os.O_CREAT | os.O_EXCL, 0o600)
            os.close(new_file)
    except OSError as error:
        raise StoreError(
            f"the folder of the database {path} cannot be made: {error.strerror}; "
            "set ECV_DATABASE_URL to a place you can write to"
        ) from None


def _set_up_sqlite(connection: Any, record: Any) -> None:  # noqa: ANN401  a DBAPI connection
    cursor = connection.cursor()
    _number, _schema, path = cursor.execute("PRAGMA database_list").fetchone()
    if path:  # A database in memory has no path.
        # `_refuse_replaced_file` compares it with the file that is there later.
        record.info[_FILE] = _identity(path)
    cursor.execute("PRAGMA journal_mode=WAL")  # one program may read while another writes
    cursor.execute("PRAGMA synchronous=FULL")  # a finished fold survives a power cut
    cursor.close()
