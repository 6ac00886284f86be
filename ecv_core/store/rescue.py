"""A copy of the whole database; and folds that it has lost, in a database beside it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ecv_core.dataset import data_dir
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import (
    new_engine,
    repeatable,
    sqlite_file,
    transaction,
    way_out,
    without_password,
)
from ecv_core.store.outputs import WAY_OUT_OF_FILE, check_output, database_files
from ecv_core.store.rows import fold_row, run_row, user_scores_row
from ecv_core.store.schema import folds, runs, user_scores, wait_for_others
from ecv_core.store.store import Store
from ecv_core.untrusted.files import replacing
from ecv_core.untrusted.private import private_folder

log = logging.getLogger(__name__)


def back_up(store: Store, path: Path) -> int:
    """Copy the database into a file, whole and of one moment, while others go on using it.

    Args:
        store: With its runs in SQLite.
        path: The copy; replaced if there is one, once the new one is whole.

    Returns:
        How many runs the copy has.

    Raises:
        InputError: If the runs are elsewhere.
        StoreError: If it cannot be written.
    """
    source = sqlite_file(store.url)
    if source is None:
        raise InputError(
            "the runs are not in a SQLite file; back up and restore with the tools of their "
            "database (for PostgreSQL pg_dump and pg_restore)"
        )
    check_output(path, store.url)
    try:
        with replacing(path) as unfinished_file:
            with closing(sqlite3.connect(source, timeout=15)) as connection:
                connection.execute("VACUUM INTO ?", (str(unfinished_file),))
            with closing(sqlite3.connect(unfinished_file)) as copy:
                (run_count,) = copy.execute("SELECT count(*) FROM runs").fetchone()
                return int(run_count)
    except OSError as error:
        raise StoreError(
            f"the copy {path} cannot be written: {error.strerror}; {WAY_OUT_OF_FILE}"
        ) from None
    except sqlite3.Error as error:
        raise StoreError(f"the copy {path} cannot be written: {error}; {way_out(error)}") from None


QUICK_BYTES = 256_000_000
"""A SQLite file up to this size is read whole to see whether it is sound: half a second."""
GONE = "its database was damaged while it ran"


@dataclass(kw_only=True)
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


@repeatable
def check_kept(store: Store, kept_runs: Mapping[str, KeptRun]) -> None:
    """Read anew, past all that is cached, that every fold is where it was written.

    Raises:
        StoreError: Where one is not, or a SQLite file is damaged.
    """
    engine = new_engine(store.url)
    try:
        with transaction(engine, "read") as connection:
            if _is_small_file(store.url):
                answer = connection.scalar(sa.text("PRAGMA quick_check(1)"))
                if answer != "ok":
                    raise _damaged_database(store, str(answer))
            for run_id, run in kept_runs.items():
                query = sa.select(folds.c.fold, folds.c.result).filter_by(run_id=run_id)
                # The results are read with the folds, so that their pages of the file are read too.
                stored_folds = {row.fold for row in connection.execute(query)}
                for row in run.rows:
                    if row["fold"] not in stored_folds:
                        what = f"fold {row['fold']} of run {run_id} is missing"
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
        # The file cannot be looked at. The check that follows says what is wrong with it.
        return True


def rescue(store: Store, kept_runs: Mapping[str, KeptRun]) -> Path:
    """Write runs and folds into a new database: beside the old one, or wherever there is room.

    A file of folds that were rescued earlier stays.

    Returns:
        Its file.

    Raises:
        StoreError: Where nothing can be written anywhere.
    """
    folders = [*_rescue_folders(store.url), Path.cwd()]
    with suppress(OSError):
        folders.append(private_folder())
    first_run_id = next(iter(kept_runs))
    name = f"{_rescue_file_prefix(store.url)}{first_run_id}"
    errors = []
    for folder in folders:
        unfinished_file = folder / f".{name}.sqlite.part"
        try:
            _write_interrupted_runs(Store(f"sqlite:///{unfinished_file}"), kept_runs)
            # Only a whole file has the name by which the next start looks for it.
            return unfinished_file.replace(_free_path(folder, name))
        except (StoreError, OSError) as error:
            errors.append(error)
            _remove(unfinished_file)
    raise StoreError(str(errors[0])) from errors[0]


def _free_path(folder: Path, name: str) -> Path:
    """A file of this name that is not there yet: 'NAME.sqlite', else 'NAME_2.sqlite', ..."""
    path = folder / f"{name}.sqlite"
    number = 2
    while path.exists():
        path = folder / f"{name}_{number}.sqlite"
        number += 1
    return path


def _rescue_folders(url: str) -> list[Path]:
    """Where folds that this database has lost are kept, and looked for: beside it, or with data."""
    folders = [data_dir().absolute()]
    own_file = sqlite_file(url)
    if own_file is not None:
        folders.insert(0, own_file.absolute().parent)
    return folders


def _rescue_file_prefix(url: str) -> str:
    """What the names of all files with rescued folds of a database begin with.

    Of 'sqlite:////home/ann/runs.sqlite' it is 'runs-rescued-' and eight digits made of the address,
    which tell the files of different databases in one folder apart.
    """
    own_file = sqlite_file(url)
    if own_file is not None:
        stem = own_file.stem
        address = str(own_file.absolute())
    else:
        # The password is left out, so that a new password changes no name.
        stem = "runs"
        address = without_password(url, url)
    digits_of_address = sha256(address.encode()).hexdigest()[:8]
    return f"{stem}-rescued-{digits_of_address}-"


def when_taken_in(store: Store, path: Path) -> str:
    """The end of a sentence: whether rescued folds in this file come back by themselves."""
    if path.parent in _rescue_folders(store.url):
        return "; the next start takes them into the database, once it can be used"
    return ""


def import_rescued_runs(store: Store) -> None:
    """Have folds that were rescued from this database in it again; their files go.

    Runs that go on at this moment are left alone, and so is their file. What was taken in is
    logged, and so is a file that cannot be read.
    """
    for folder in _rescue_folders(store.url):
        for path in sorted(folder.glob(f"{_rescue_file_prefix(store.url)}*.sqlite")):
            try:
                count = _copy_missing_folds(store, Store(f"sqlite:///{path}"))
            except StoreError as error:
                log.warning("rescued folds are not in the database yet: %s", error)
            else:
                log.warning("%d rescued folds of %s are in the database again", count, path)
                _remove(path)


def _copy_missing_folds(store: Store, rescued: Store) -> int:
    """Copy what the database lacks; gives how many folds.

    Raises:
        StoreError: Where one of the runs goes on at this moment.
    """
    count = 0
    rescued_runs = rescued.rows(runs.select())
    with store.transaction("written") as connection:
        wait_for_others(connection)
        for run in rescued_runs:
            key_of_run = {"run_id": run.run_id}
            stored_folds = set(connection.scalars(sa.select(folds.c.fold).filter_by(**key_of_run)))
            is_missing = folds.c.fold.not_in(stored_folds)
            missing_folds = rescued.rows(folds.select().filter_by(**key_of_run).where(is_missing))
            if missing_folds:
                _prepare_run_for_folds(connection, run)
            for fold in missing_folds:
                key_of_fold = key_of_run | {"fold": fold.fold}
                _insert(connection, folds, fold)
                # Users' scores that are here without their fold may be of another computation.
                connection.execute(user_scores.delete().filter_by(**key_of_fold))
                for scores in rescued.rows(user_scores.select().filter_by(**key_of_fold)):
                    _insert(connection, user_scores, scores)
            count += len(missing_folds)
    return count


def _prepare_run_for_folds(connection: sa.Connection, run: sa.Row[Any]) -> None:
    """Make the run where it lacks; have its moments worked out again, with the folds that come.

    Raises:
        StoreError: Where it goes on at this moment.
    """
    key_of_run = {"run_id": run.run_id}
    state = connection.scalar(sa.select(runs.c.state).filter_by(**key_of_run))
    if state is None:
        _insert(connection, runs, run)
        return
    if state == RunState.RUNNING:
        raise StoreError(f"run {run.run_id} is running now; the next start tries again")
    # Where the run stood after each fold is worked out again, with the folds that come.
    connection.execute(folds.update().filter_by(**key_of_run).values(turn=None, moment=None))
    if run.stopped_at is not None:
        connection.execute(runs.update().filter_by(**key_of_run).values(stopped_at=run.stopped_at))


def _insert(connection: sa.Connection, table: sa.Table, row: sa.Row[Any]) -> None:
    """Insert a row of another database; its number is this database's own."""
    values = row._asdict()
    values.pop("sequence", None)
    connection.execute(table.insert().values(**values))


def _remove(database: Path) -> None:
    """Delete a database, and what SQLite keeps beside it."""
    for path in database_files(database):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write_interrupted_runs(store: Store, kept_runs: Mapping[str, KeptRun]) -> None:
    for run_id, run in kept_runs.items():
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
