"""A copy of the whole database; and folds that it has lost, in a database beside it."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.places import OWN
from ecv_core.records.run import FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import fresh, sqlite_file, transaction, way_out, without_password
from ecv_core.store.rows import fold_row, queued_rows, user_scores_row
from ecv_core.store.schema import folds, runs, user_scores
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


QUICK_BYTES = 256_000_000
"""A SQLite file up to this size is read whole to see whether it is sound: half a second."""
GONE = "its database was damaged while it ran"


@dataclass(slots=True, kw_only=True)
class KeptRun:
    """What this process has computed of one run."""

    spec: RunSpec
    rows: list[dict[str, object]] = field(default_factory=list)
    """Of the folds table."""
    users: list[dict[str, object]] = field(default_factory=list)
    """Of the table of users' scores."""
    stopped_at: int | None = None

    def add(self, run_id: str, result: FoldResult) -> None:
        """Keep a fold; its users' scores packed."""
        self.rows.append(fold_row(run_id, result, None))
        if result.user_scores is not None:
            place = {"run_id": run_id, "fold": result.fold}
            self.users.append(place | user_scores_row(result.user_scores))


def check_kept(store: Store, kept: Mapping[str, KeptRun]) -> None:
    """Read anew, past all that is cached, that every fold is where it was written.

    Raises: StoreError where one is not, or a SQLite file is damaged.
    """
    engine = fresh(store.url)
    path = sqlite_file(store.url)
    with suppress(OSError):
        if path is not None and path.stat().st_size > QUICK_BYTES:
            path = None
    try:
        with transaction(engine, "read") as connection:
            said = connection.scalar(sa.text("PRAGMA quick_check(1)")) if path else "ok"
            if said != "ok":
                raise _damaged(store, str(said))
            for run_id, run in kept.items():
                query = sa.select(folds.c.fold, folds.c.result).where(folds.c.run_id == run_id)
                there = {row.fold: row.result for row in connection.execute(query)}
                for row in run.rows:
                    if row["fold"] not in there:
                        raise _damaged(store, f"fold {row['fold']} of run {run_id} is not there")
    finally:
        engine.dispose()


def rescue(store: Store, kept: Mapping[str, KeptRun]) -> Path:
    """Write runs and folds into a new database: beside the old one, or wherever there is room.

    Returns: its file.
    Raises: StoreError where nothing can be written anywhere.
    """
    beside = sqlite_file(store.url)
    folders = [beside.absolute().parent] if beside is not None else []
    name = f"{beside.stem if beside else 'runs'}-rescued-{next(iter(kept))}.sqlite"
    error: StoreError | None = None
    for folder in (*folders, OWN.absolute(), Path.cwd(), Path(tempfile.gettempdir())):
        path = folder / name
        try:
            _write(Store(f"sqlite:///{path}"), kept)
        except StoreError as refused:
            error = error or refused
            with suppress(OSError):
                path.unlink(missing_ok=True)
        else:
            return path
    assert error is not None
    raise error


def _write(store: Store, kept: Mapping[str, KeptRun]) -> None:
    for run_id, run in kept.items():
        (row,) = queued_rows([run.spec], "", "", group=run_id, anew=False)
        row |= {"run_id": run_id, "state": RunState.INTERRUPTED, "stopped_at": run.stopped_at}
        with store.transaction("written") as connection:
            for table in (runs, folds, user_scores):
                connection.execute(table.delete().where(table.c.run_id == run_id))
            connection.execute(runs.insert().values(**row, error=GONE))
            _insert(connection, folds, run.rows)
            _insert(connection, user_scores, run.users)


def _insert(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]
) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))


def _damaged(store: Store, said: str) -> StoreError:
    where, said = (without_password(text, store.url) for text in (store.url, said))
    return StoreError(f"the database {where} is damaged ({said[:200]}); {way_out('malformed')}")
