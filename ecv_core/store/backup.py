"""A copy of the whole database while it is in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ecv_core.records.errors import InputError, StoreError
from ecv_core.store.engine import sqlite_file, way_out
from ecv_core.store.store import Store
from ecv_core.untrusted.files import replacing


def back_up(store: Store, path: Path) -> int:
    """Copy the database into a file, whole and of one moment, while others go on using it.

    Args:
        store: with its runs in SQLite.
        path: the copy; replaced if there is one, once the new one is whole.
    Returns: how many runs the copy has.
    Raises: InputError if the runs are elsewhere; StoreError if it cannot be written.
    """
    source = sqlite_file(store.url)
    if source is None:
        raise InputError(
            "the runs are not in a SQLite file; back up and restore with the tools of their "
            "database (for PostgreSQL pg_dump and pg_restore)"
        )
    if path.exists() and path.samefile(source):
        raise InputError(f"{path} is the database itself; give the copy another name")
    try:
        with replacing(path) as part:
            with closing(sqlite3.connect(source, timeout=15)) as connection:
                connection.execute("VACUUM INTO ?", (str(part),))
            with closing(sqlite3.connect(part)) as copy:
                return int(copy.execute("SELECT count(*) FROM runs").fetchone()[0])
    except (OSError, sqlite3.Error) as error:
        said = getattr(error, "strerror", None) or error
        raise StoreError(f"the copy {path} cannot be written: {said}; {way_out(error)}") from None
