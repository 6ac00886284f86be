"""What is recorded beside the database: finished runs and what they ran on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from ecv_core.records import codec
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import RunRecord, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded_users import (
    LEVEL,
    names_with_users,
    read_users,
    reading,
    users_table,
    write_users,
)
from ecv_core.untrusted.files import change_stamp_of, replacing

# Where runs are. A recorded run has a path, FOLDER/NAME, as a file inside an archive has one: it is
# the row NAME of the two files that its folder holds.

FOLDER = SHIPPED / "recorded"
"""Where the project keeps its recorded study, each run under the name `<dataset>--<algorithm>`."""
RATINGS = FOLDER / "ratings"
"""Folder of recorded runs that predict ratings, `<dataset>--<algorithm>[-d<dimension>]`."""
SPLITS = "splits"
"""Folder below one of recorded runs, for a study of splits: `<dataset>--<algorithm>--<split>`."""
STOPPED = "stopped"
"""Folder below one of recorded runs, for those that ended at their rule's stop, folds left: slow
models on large data."""
RUNS = "runs.parquet"
"""File of a folder with a row per run: its name, its document, and when that was written."""
USERS = "users.parquet"
"""File of a folder with the scores of users: a row per run, fold and user, a row group per run, and
a column per metric, which is null throughout where a run has not kept it."""
LOCK = "recorded.lock"
"""File of a folder that a program locks while it records; it stays there, empty."""


def recorded_path(
    folder: Path,
    dataset: str,
    algorithm: str,
    split: str | None = None,
    *,
    ends_at_stop: bool = False,
) -> Path:
    """Where a run belongs among recorded runs: its folder, and its name there.

    Args:
        folder: The folder of the study.
        dataset: Its id.
        algorithm: Its id.
        split: Its id, in a study of splits only.
        ends_at_stop: Whether it ends at its rule's stop; not in a study of splits.
    """
    if split is not None:
        return folder / SPLITS / f"{dataset}--{algorithm}--{split}"
    if ends_at_stop:
        folder = folder / STOPPED
    return folder / f"{dataset}--{algorithm}"


def _name_prefix(spec: RunSpec) -> str:
    """How the names of the recorded runs of a dataset and an algorithm begin."""
    return f"{spec.dataset}--{spec.algorithm}"


def _folders(folder: Path | None) -> list[Path]:
    """The folders of a study's runs under every split."""
    folder = folder or FOLDER
    return [folder, folder / SPLITS, folder / RATINGS.name, folder / STOPPED]


# Runs.


def is_recorded(path: Path) -> bool:
    """Whether there is a run at a path of `recorded_path`.

    Raises:
        InputError: For a damaged file.
    """
    return path.name in _rows(path.parent)


def recorded_runs(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs of a folder, ordered by name; empty where there is no such folder.

    Args:
        folder: The folder that `record` has written to; by default FOLDER.

    Returns:
        The runs without per-user scores (see `recorded_user_scores`); `created_at` is when the run
        was recorded, where its document does not say more.

    Raises:
        InputError: For a damaged file.
    """
    return [_run(row) for row in _rows(folder or FOLDER).values()]


def recorded_runs_of_all_splits(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs of the study, and after them those of studies of splits.

    Args:
        folder: As of `recorded_runs`.

    Raises:
        InputError: For a damaged file.
    """
    folder = folder or FOLDER
    return recorded_runs(folder) + recorded_runs(folder / SPLITS)


def recorded_stopped_runs(folder: Path | None = None) -> list[RunRecord]:
    """The runs that are recorded up to their rule's stop, and not whole.

    Args:
        folder: As of `recorded_runs`.

    Raises:
        InputError: For a damaged file.
    """
    folder = folder or FOLDER
    runs = []
    for run in recorded_runs(folder / STOPPED):
        # Once all folds of a model on a dataset are recorded, its stopped run is superseded.
        path_of_whole_run = recorded_path(folder, run.spec.dataset, run.spec.algorithm)
        if not is_recorded(path_of_whole_run):
            runs.append(run)
    return runs


def recorded_runs_like(spec: RunSpec, folder: Path | None) -> list[RunRecord]:
    """The recorded runs whose folds have the same scores; see `RunSpec.same_scores`.

    Raises:
        InputError: For a damaged file.
    """
    name_prefix = _name_prefix(spec)
    runs = []
    for split_folder in _folders(folder):
        for name, row in _rows(split_folder).items():
            # Reading a document takes long, so the name decides first.
            if not name.startswith(name_prefix):
                continue
            run = _run(row)
            if run.spec.same_scores(spec):
                runs.append(run)
    return runs


def recorded_run(run_id: str, folder: Path | None = None) -> RunRecord | None:
    """The recorded run with this id or under this name, under any split; None if there is none.

    Args:
        run_id: Or its name, such as 'ml-100k--item-knn'.
        folder: As of `recorded_runs`.

    Raises:
        InputError: For a damaged document under this name.
    """
    row = _find_row(run_id, folder)
    if row is None:
        return None
    return _run(row)


def recorded_document(run_id: str, folder: Path | None) -> str | None:
    """The JSON document of a recorded run, as `record` wrote it; None if there is none.

    Args:
        run_id: As of `recorded_run`.
        folder: As of `recorded_runs`.
    """
    row = _find_row(run_id, folder)
    if row is None:
        return None
    return row.document


def recorded_environment(run_id: str, folder: Path | None = None) -> dict[str, Any] | None:
    """Machine and versions that made a recorded run, as `environment` gives them; None if unknown.

    Args:
        run_id: As of `recorded_run`.
        folder: As of `recorded_runs`.
    """
    document = recorded_document(run_id, folder)
    if document is None:
        return None
    made_with = json.loads(document).get("made_with")
    if not isinstance(made_with, dict):
        return None
    return made_with


def _find_row(run_id: str, folder: Path | None, name_prefix: str = "") -> _Row | None:
    """The run with this id or name, among those whose names begin so; None if there is none.

    A damaged file or document has no run: `recorded_runs` is where that is said.

    Args:
        run_id: Or the name.
        folder: As of `recorded_runs`.
        name_prefix: How the name of the run begins; empty for any.
    """
    candidates = []
    for subfolder in _folders(folder):
        with suppress(InputError):
            # A damaged file is passed over, so that it hides no run of another file.
            for row in _rows(subfolder).values():
                if row.name.startswith(name_prefix):
                    candidates.append(row)
    for row in candidates:
        if row.name == run_id:
            return row
    # Reading documents takes long, so that names come first.
    for row in candidates:
        with suppress(InputError):
            if _run(row).run_id == run_id:
                return row
    return None


# The file of a folder's runs.


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A recorded run as its folder's file has it."""

    folder: Path
    name: str
    document: str
    """JSON text, as `document.run_document` makes it, and what it was `made_with`."""
    written: datetime


def _rows(folder: Path) -> Mapping[str, _Row]:
    """The runs of a folder by name, in the order of their names; none where there is no file.

    Raises:
        InputError: For a damaged file.
    """
    path = folder / RUNS
    return _rows_at_stamp(path, change_stamp_of(path))


@lru_cache(maxsize=64)
def _rows_at_stamp(path: Path, stamp: tuple[int, ...]) -> Mapping[str, _Row]:
    """What a file holds, which is read again only when it has changed."""
    if not stamp:  # There is no file.
        return {}
    from pyarrow import parquet

    with reading("the recorded runs", path), parquet.ParquetFile(path) as file:
        table = file.read(columns=["name", "document", "written"])
        return {row["name"]: _Row(folder=path.parent, **row) for row in table.to_pylist()}


@lru_cache(maxsize=1024)
def _run(row: _Row) -> RunRecord:
    """The run of a document.

    Raises:
        InputError: For a damaged one.
    """
    from ecv_core.store.document import RunDocument

    try:
        return codec.read(RunDocument, row.document).record(row.written)
    except ValueError as error:
        raise InputError(
            f"the recorded run {row.name} cannot be read: {codec.what_is_wrong(error)}; restore it "
            "from the project, or record it again"
        ) from error


def _write_runs(runs: Mapping[str, _Row], path: Path) -> None:
    """Write the file of a folder's runs, in the order of their names."""
    import pyarrow as pa
    from pyarrow import parquet

    names = sorted(runs)
    documents = [runs[name].document for name in names]
    times = [runs[name].written for name in names]
    written = pa.array(times, pa.timestamp("us", tz="UTC"))
    table = pa.table({"name": names, "document": documents, "written": written})
    parquet.write_table(table, path, compression="zstd", compression_level=LEVEL)


# Recording.


def record(
    run: RunRecord,
    path: Path,
    users: Mapping[int, UserScores] | None = None,
    more_metrics: Sequence[str] = (),
) -> None:
    """Add a complete run with what it ran on, or put it in the place of the one of its name.

    The two files of the folder are written as a whole or not at all; several programs may record
    at a time.

    Args:
        run: With all its folds, or those up to its rule's stop.
        path: The path of `recorded_path`.
        users: Fold -> per-user scores, where they are known.
        more_metrics: Such as 'recall@10' to keep of them, besides the run's own.

    Raises:
        InputError: If folds are missing, or a file of the folder is damaged.
        RunError: If a file cannot be written.
    """
    from ecv_core.store.document import run_document
    from ecv_core.store.environment import environment

    if not run.complete and run.stopped_at != len(run.folds):
        raise InputError(f"run {run.run_id} has only {len(run.folds)} folds; finish it first")
    document = json.dumps(run_document(run) | {"made_with": environment()}, indent=1)
    row = _Row(folder=path.parent, name=path.name, document=document, written=datetime.now(UTC))
    scores = users_table(path.name, users or {}, [run.spec.metric_name, *more_metrics])
    with _locked_folder_of(path):
        rows = dict(_rows(path.parent)) | {row.name: row}
        # The inner block ends first, so that the users' scores are replaced before the runs. Nobody
        # looks at users' scores of a run that is not there yet.
        with (
            replacing(path.parent / RUNS, readable_by_others=True) as runs_part,
            replacing(path.parent / USERS, readable_by_others=True) as users_part,
        ):
            _write_runs(rows, runs_part)
            write_users(path.parent / USERS, row.name, scores, users_part)


@contextmanager
def _locked_folder_of(path: Path) -> Iterator[None]:
    """While a run is recorded: no other program records in its folder.

    Raises:
        RunError: If a file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.parent / LOCK):
            yield
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror or error}; make it writable and try again"
        ) from None


# Scores of users.


def recorded_user_scores(run: RunRecord, folder: Path | None = None) -> dict[int, UserScores]:
    """Fold -> per-user scores of a recorded run's own metric, and of others that were kept.

    They are kept in 16 bits, about three digits: enough for the spread between and within users,
    and a fold's mean is recorded elsewhere.

    Returns:
        Empty where none were kept, and for a run that is not recorded.

    Raises:
        InputError: For a damaged file.
    """
    row = _find_row(run.run_id, folder, _name_prefix(run.spec))
    if row is None:
        return {}
    return read_users(row.folder / USERS, row.name, run.spec.metric_name)


def has_user_scores(run: RunRecord, folder: Path | None) -> bool:
    """Whether `recorded_user_scores` has some; reads none of them.

    Raises:
        InputError: For a damaged file.
    """
    row = _find_row(run.run_id, folder, _name_prefix(run.spec))
    return row is not None and row.name in names_with_users(row.folder / USERS)
