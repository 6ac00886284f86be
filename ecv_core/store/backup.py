"""A copy of the whole database while it is in use, and back from one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ecv_core.records.errors import InputError, StoreError
from ecv_core.store.engine import sqlite_file
from ecv_core.store.schema import SCHEMA_VERSION
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted.files import replacing

_PAGES = 1000
"""Copied at once; others may write between two such steps, and the copy is still of one moment."""


def back_up(store: Store, path: Path) -> int:
    """Copy the database into a file, whole and of one moment, while others go on using it.

    Args:
        store: with its runs in SQLite.
        path: the copy; replaced if there is one, once the new one is whole.
    Returns: how many runs the copy has.
    Raises: InputError if the runs are elsewhere; StoreError if it cannot be written.
    """
    source = _file_of(store)
    if path.exists() and path.samefile(source):
        raise InputError(f"{path} is the database itself; give the copy another name")
    with _said(f"the copy {path} cannot be written"), replacing(path) as part:
        _copy(source, part)
        return _checked(part, path)


def restore(store: Store, path: Path) -> tuple[int, Path]:
    """Put a copy that `back_up` made in the place of all runs that are here now.

    What is here is copied beside the database first. A dashboard that is open sees the restored
    runs at its next look.

    Returns: how many runs there are now, and where those of before are.
    Raises: InputError while a run is going, or if the file is no such copy; StoreError if the
        database cannot be written.
    """
    target = _file_of(store)
    if not path.is_file():
        raise InputError(f"there is no file {path}; give one that 'backup' wrote")
    with _said(f"{path} cannot be read"):
        runs = _checked(path, path)
    if active := store.active():
        raise InputError(
            f"run {active[0].run_id} is still going; cancel it or wait for its end, then restore"
        )
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    before = target.with_name(f"{target.name}.before-restore-{moment}")
    back_up(store, before)
    with _said(f"the database {target} cannot be written"):
        _copy(path, target, still=True)
    open_store(store.url)  # a copy of an older version gets what is new
    return runs, before


def _file_of(store: Store) -> Path:
    path = sqlite_file(store.url)
    if path is None:
        raise InputError(
            "the runs are not in a SQLite file; back up and restore with the tools of their "
            "database (for PostgreSQL pg_dump and pg_restore)"
        )
    return path


def _open(path: Path, *, still: bool) -> sqlite3.Connection:
    """To read; one that is still has no journal beside it, and none is made."""
    how = "immutable=1" if still else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)


def _copy(source: Path, target: Path, *, still: bool = False) -> None:
    with (
        closing(_open(source, still=still)) as read,
        closing(sqlite3.connect(target, timeout=15)) as written,
    ):
        read.backup(written, pages=_PAGES)


def _checked(path: Path, name: Path) -> int:
    """How many runs it has. Raises: InputError if it is no whole database of ours."""
    way_out = "give one that 'backup' wrote"
    try:
        with closing(_open(path, still=True)) as copy:
            (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            (version,) = copy.execute("SELECT max(version) FROM ecv_schema").fetchone()
            (runs,) = copy.execute("SELECT count(*) FROM runs").fetchone()
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{name} is no copy of a database of e-fold ({error}); {way_out}"
        ) from None
    if found != "ok":
        raise InputError(f"{name} is damaged ({found[:100]}); {way_out}")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{name} was written by a newer version (schema {version}, this one knows "
            f"{SCHEMA_VERSION}); update e-fold first"
        )
    return int(runs)


@contextmanager
def _said(doing: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(f"{doing}: {reason}; give another place, or free some space") from None
