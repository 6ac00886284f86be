"""A copy of the whole database; and folds that it has lost, in a database beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.places import OWN
from ecv_core.records.run import FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import fresh, sqlite_file, transaction, way_out, without_password
from ecv_core.store.outputs import check_output
from ecv_core.store.rows import fold_row, run_row, user_scores_row
from ecv_core.store.schema import folds, runs, user_scores
from ecv_core.store.store import Store
from ecv_core.untrusted.files import replacing
from ecv_core.untrusted.private import private_folder


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
    check_output(path, store.url)
    try:
        with replacing(path) as part:
            with closing(sqlite3.connect(source, timeout=15)) as connection:
                connection.execute("VACUUM INTO ?", (str(part),))
            with closing(sqlite3.connect(part)) as copy:
                return int(copy.execute("SELECT count(*) FROM runs").fetchone()[0])
    except (OSError, sqlite3.Error) as error:
        cause = getattr(error, "strerror", None) or error
        raise StoreError(f"the copy {path} cannot be written: {cause}; {way_out(error)}") from None


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
        self.rows.append(fold_row(run_id, result))
        if result.user_scores is not None:
            row = user_scores_row(result.user_scores)
            self.users.append({"run_id": run_id, "fold": result.fold, **row})


def check_kept(store: Store, kept: Mapping[str, KeptRun]) -> None:
    """Read anew, past all that is cached, that every fold is where it was written.

    Raises: StoreError where one is not, or a SQLite file is damaged.
    """
    engine = fresh(store.url)
    try:
        with transaction(engine, "read") as connection:
            if _is_small_file(store.url):
                answer = connection.scalar(sa.text("PRAGMA quick_check(1)"))
                if answer != "ok":
                    raise _damaged_database(store, str(answer))
            for run_id, run in kept.items():
                query = sa.select(folds.c.fold, folds.c.result).filter_by(run_id=run_id)
                there = {row.fold for row in connection.execute(query)}
                for row in run.rows:
                    if row["fold"] not in there:
                        what = f"fold {row['fold']} of run {run_id} is not there"
                        raise _damaged_database(store, what)
    finally:
        engine.dispose()


def _is_small_file(url: str) -> bool:
    """Whether it is a SQLite file that can be read whole in a moment."""
    path = sqlite_file(url)
    if path is None:
        return False
    try:
        return path.stat().st_size <= QUICK_BYTES
    except OSError:
        return True  # the check itself says what is wrong with it


def rescue(store: Store, kept: Mapping[str, KeptRun]) -> Path:
    """Write runs and folds into a new database: beside the old one, or wherever there is room.

    Returns: its file.
    Raises: StoreError where nothing can be written anywhere.
    """
    own_file = sqlite_file(store.url)
    folders = [OWN.absolute(), Path.cwd()]
    with suppress(OSError):
        folders.append(private_folder())
    stem = "runs"
    if own_file is not None:
        folders.insert(0, own_file.absolute().parent)
        stem = own_file.stem
    name = f"{stem}-rescued-{next(iter(kept))}.sqlite"
    refusals = []
    for folder in folders:
        path = folder / name
        try:
            _write(Store(f"sqlite:///{path}"), kept)
            return path
        except StoreError as refusal:
            refusals.append(refusal)
            with suppress(OSError):
                path.unlink(missing_ok=True)
    raise refusals[0]


def _write(store: Store, kept: Mapping[str, KeptRun]) -> None:
    for run_id, run in kept.items():
        row = run_row(run_id, run.spec, group=run_id, owner="")
        row |= {"state": RunState.INTERRUPTED, "stopped_at": run.stopped_at, "error": GONE}
        with store.transaction("written") as connection:
            for table in (runs, folds, user_scores):
                connection.execute(table.delete().filter_by(run_id=run_id))
            connection.execute(runs.insert().values(**row))
            for kept_fold in run.rows:
                connection.execute(folds.insert().values(**kept_fold))
            for kept_scores in run.users:
                connection.execute(user_scores.insert().values(**kept_scores))


def _damaged_database(store: Store, what: str) -> StoreError:
    address = without_password(store.url, store.url)
    shown = without_password(what, store.url)[:200]
    return StoreError(f"the database {address} is damaged ({shown}); {way_out('malformed')}")
