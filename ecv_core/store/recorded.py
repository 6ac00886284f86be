"""What is recorded beside the database: finished runs, and configurations with all their folds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.records import codec
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import RunRecord, Scores, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.untrusted.files import replacing

# Where files are.

FOLDER = SHIPPED / "recorded"
"""Where the project keeps its recorded study: one `<dataset>--<algorithm>.json` per run."""
RATINGS = FOLDER / "ratings"
"""Folder of recorded runs that predict ratings, `<dataset>--<algorithm>[-d<dimension>].json`."""
GRIDS = FOLDER / "grids"
"""Grids of one parameter, `<dataset>--<algorithm>--<parameter>`."""
TUNINGS = FOLDER / "tunings"
"""Tunings with all folds, `<dataset>--<algorithm>`; they are in the project, not in its wheel."""
SPACES = FOLDER / "spaces"
"""Whole search spaces under several splits, `<dataset>.json`: means, and how far splits agree."""
SPLITS = "splits"
"""Folder below one of recorded runs, for a study of splits: `<dataset>--<algorithm>--<split>.json`.
"""
STOPPED = "stopped"
"""Folder below one of recorded runs, for those that ended at their rule's stop, folds left: slow
models on large data."""


def recorded_path(
    folder: Path, dataset: str, algorithm: str, split: str | None = None, *, stops: bool = False
) -> Path:
    """Where a run belongs in a folder of recorded runs.

    Args:
        folder: of the study.
        dataset: its id.
        algorithm: its id.
        split: its id, in a study of splits only.
        stops: whether it ends at its rule's stop; not in a study of splits.
    """
    if split is not None:
        return folder / SPLITS / f"{dataset}--{algorithm}--{split}.json"
    if stops:
        folder = folder / STOPPED
    return folder / f"{dataset}--{algorithm}.json"


def user_scores_path(path: Path) -> Path:
    """Where the per-user scores are that belong to a recorded run's document."""
    return path.parent / "users" / f"{path.stem}.parquet"


def _run_files(folder: Path | None, begin: str = "") -> list[Path]:
    """The documents of recorded runs under every split whose names begin so, by folder and name."""
    folder = folder or FOLDER
    files = []
    for part in (folder, folder / SPLITS, folder / RATINGS.name, folder / STOPPED):
        files += sorted(part.glob(f"{escape(begin)}*.json"))
    return files


def _file_of(run_id: str, folder: Path | None, begin: str = "") -> Path | None:
    """The document of the run with this id or file name, among those whose names begin so."""
    files = _run_files(folder, begin)
    for path in files:
        if path.stem == run_id:
            return path
    for path in files:
        with suppress(InputError):  # a damaged file is not this run's
            if _read(path).run_id == run_id:
                return path
    return None


def _user_scores_file(run: RunRecord, folder: Path | None) -> Path | None:
    """The file with the per-user scores of a recorded run; None where there is none."""
    path = _file_of(run.run_id, folder, _name_begin(run.spec))
    if path is None or not user_scores_path(path).exists():
        return None
    return user_scores_path(path)


def _name_begin(spec: RunSpec) -> str:
    """How the names of the recorded runs of a dataset and an algorithm begin."""
    return f"{spec.dataset}--{spec.algorithm}"


# Runs.


def recorded_runs(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs, ordered by file name; empty where there is no folder.

    Args:
        folder: of documents as `document.run_document` makes them; by default FOLDER.
    Returns: without per-user scores (see `recorded_user_scores`); `created_at` is when the file
        was written.
    Raises: InputError for a file that is no such document.
    """
    folder = folder or FOLDER
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def recorded_under_splits(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs under every split; those of studies of splits come last.

    Args:
        folder: as of `recorded_runs`.
    Raises: InputError for a damaged file.
    """
    folder = folder or FOLDER
    return recorded_runs(folder) + recorded_runs(folder / SPLITS)


def recorded_stopped(folder: Path | None = None) -> list[RunRecord]:
    """The runs that are recorded up to their rule's stop, and not whole.

    Args:
        folder: as of `recorded_runs`.
    Raises: InputError for a damaged file.
    """
    folder = folder or FOLDER
    runs = []
    for run in recorded_runs(folder / STOPPED):
        whole_run = recorded_path(folder, run.spec.dataset, run.spec.algorithm)
        if not whole_run.exists():
            runs.append(run)
    return runs


def recorded_like(spec: RunSpec, folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs whose folds have the same scores; see `RunSpec.same_scores`.

    Raises: InputError for a damaged file.
    """
    runs = [_read(path) for path in _run_files(folder, _name_begin(spec))]
    return [run for run in runs if run.spec.same_scores(spec)]


def recorded_user_scores(run: RunRecord, folder: Path | None = None) -> dict[int, UserScores]:
    """Fold -> per-user scores of a recorded run's own metric, and of others that were kept.

    Empty where none were, and for a run that is not recorded.
    Raises: InputError for a damaged file.
    """
    path = _user_scores_file(run, folder)
    if path is None:
        return {}
    return read_user_scores(path)


def has_user_scores(run: RunRecord, folder: Path | None = None) -> bool:
    """Whether `recorded_user_scores` has some; reads none of them."""
    return _user_scores_file(run, folder) is not None


def recorded_run(run_id: str, folder: Path | None = None) -> RunRecord | None:
    """The recorded run with this id or under this name, under any split; None if there is none.

    Args:
        run_id: or its file's name without the ending, such as 'ml-100k--item-knn'.
        folder: as of `recorded_runs`.
    Raises: InputError for a damaged file of this name.
    """
    path = _file_of(run_id, folder)
    if path is None:
        return None
    return _read(path)


def recorded_environment(run_id: str, folder: Path | None = None) -> dict[str, Any] | None:
    """Machine and versions that made a recorded run, as `environment` gives them; None if unknown.

    Args:
        run_id: as of `recorded_run`.
        folder: as of `recorded_runs`.
    """
    path = _file_of(run_id, folder)
    if path is None:
        return None
    made_with = json.loads(path.read_text(encoding="utf-8")).get("made_with")
    return made_with if isinstance(made_with, dict) else None


def record(
    run: RunRecord,
    path: Path,
    users: Mapping[int, UserScores] | None = None,
    also: Sequence[str] = (),
) -> None:
    """Write a complete run with what it ran on, as a whole or not at all.

    Args:
        run: with all its folds, or those up to its rule's stop.
        path: of the JSON document; per-user scores go beside it.
        users: fold -> per-user scores, where they are known.
        also: metrics such as 'recall@10' to keep of them, besides the run's own.
    Raises: InputError if folds are missing; RunError if the file cannot be written.
    """
    from ecv_core.store.document import run_document
    from ecv_core.store.environment import environment

    if not run.complete and run.stopped_at != len(run.folds):
        raise InputError(f"run {run.run_id} has only {len(run.folds)} folds; finish it first")
    text = json.dumps(run_document(run) | {"made_with": environment()}, indent=1)
    wanted = dict.fromkeys([run.spec.metric_name, *also])
    try:
        if users:
            _write_kept_scores(users, list(wanted), user_scores_path(path))
        with replacing(path, for_others=True) as part:
            part.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; free it and go on") from None


def _read(path: Path) -> RunRecord:
    return _read_once(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _read_once(path: Path, changed_ns: int) -> RunRecord:
    """The run of a file, which is read again only when it has changed."""
    from ecv_core.store.document import RunDocument

    try:
        document = codec.read(RunDocument, path.read_bytes())
        return document.record(datetime.fromtimestamp(changed_ns / 1e9, UTC))
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    except ValueError as error:
        raise _unreadable(path, codec.sentence(error)) from error


def _unreadable(path: Path, cause: str) -> InputError:
    return InputError(
        f"the recorded run {path.name} cannot be read: {cause}; restore it from the project, or "
        "record it again"
    )


# Per-user scores of a whole run <-> one small Parquet file, for later analyses of the run.


def _write_kept_scores(
    scores: Mapping[int, UserScores], metrics: Sequence[str], path: Path
) -> None:
    """Write those of these metrics that every fold has, if there are any."""
    in_all_folds = []
    for metric in metrics:
        if all(metric in fold.metrics for fold in scores.values()):
            in_all_folds.append(metric)
    if in_all_folds:
        write_user_scores(scores, in_all_folds, path)


def write_user_scores(scores: Mapping[int, UserScores], metrics: Sequence[str], path: Path) -> None:
    """Write some metrics' scores of every fold, as a whole or not at all.

    Scores are kept in 16 bits, about three digits: enough for the spread between and within users,
    and a fold's mean is recorded elsewhere.

    Args:
        scores: fold -> its per-user scores.
        metrics: at least one, as in UserScores.metrics: 'ndcg@10'.
        path: of the file.
    Raises: OSError if it cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    indices = sorted(scores)
    folds = [scores[index] for index in indices]
    sizes = [len(fold.users) for fold in folds]
    columns = {
        "fold": np.repeat(np.array(indices, dtype=np.int16), sizes),
        "user": np.concatenate([fold.users for fold in folds]).astype(np.int32),
    }
    clusters = [fold.clusters for fold in folds if fold.clusters is not None]
    if len(clusters) == len(folds):
        columns["cluster"] = np.concatenate(clusters)
    for metric in metrics:
        values = np.concatenate([fold.of(metric) for fold in folds])
        columns[metric] = values.astype(np.float16)
    with replacing(path, for_others=True) as part:
        parquet.write_table(
            pa.table(columns),
            part,
            compression="zstd",
            compression_level=19,
            use_dictionary=["fold", *metrics],
            column_encoding={"user": "DELTA_BINARY_PACKED"},
        )


def read_user_scores(path: Path) -> dict[int, UserScores]:
    """What `write_user_scores` wrote: per-user scores by fold index.

    Raises: InputError for a file that is no such table.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        fold_of_row = columns.pop("fold")
        users = columns.pop("user")
        clusters = columns.pop("cluster", None)
        values = np.stack(list(columns.values()), axis=1).astype(np.float32)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"the per-user scores {path.name} cannot be read ({type(error).__name__}); restore the "
            "file from the project, or record the run again"
        ) from error
    scores = {}
    for fold in np.unique(fold_of_row):
        rows = fold_of_row == fold
        scores[int(fold)] = UserScores(
            users=users[rows],
            metrics=tuple(columns),
            values=values[rows],
            clusters=None if clusters is None else clusters[rows],
        )
    return scores


# Configurations of one algorithm with all their folds, kept small in two files. NAME.json says what
# was run, with every fold's score, seconds and joules; the Parquet file beside it holds the scores
# per user in 16 bits: a row per fold and user, a column per configuration and metric.


Configuration = Mapping[str, ParamValue]
"""The parameters that differ between them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Configurations:
    """One algorithm with several parameters, every fold of each scored by several metrics."""

    spec: RunSpec
    """Of all of them but for their parameters."""
    configurations: tuple[Configuration, ...]
    """The parameters that differ between them."""
    values: Mapping[str, NDArray[np.float32]]
    """'ndcg@10' -> shape (configurations, folds, users); NaN where a user has nothing held out."""
    folds: NDArray[np.float64]
    """Scores by the metric of the spec; shape (configurations, folds)."""
    joules: NDArray[np.float64]
    """Likewise."""

    @property
    def space(self) -> dict[str, tuple[ParamValue, ...]]:
        """Every parameter's values, in the order in which they first appear."""
        space = {}
        for name in self.configurations[0]:
            values = [configuration[name] for configuration in self.configurations]
            space[name] = tuple(dict.fromkeys(values))
        return space

    @property
    def scores(self) -> list[Scores]:
        """Those of each by the metric of the spec, named as the contenders of a selection."""
        users = self.values[self.spec.metric_name]
        scores = []
        for place, configuration in enumerate(self.configurations):
            params = ",".join(f"{name}={value}" for name, value in configuration.items())
            scores.append(
                Scores(
                    name=f"{self.spec.algorithm}:{params}",
                    folds=self.folds[place],
                    joules=self.joules[place],
                    users=users[place],
                )
            )
        return scores


def configuration_names(folder: Path) -> list[str]:
    """What is recorded in a folder, `<dataset>--<algorithm>...`; none of it is read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def specs_of(spec: RunSpec, configurations: Sequence[Configuration]) -> list[RunSpec]:
    """The spec of each configuration. Raises: InputError for a bad parameter."""
    algorithm = models.algorithm(spec.algorithm)
    specs = []
    for configuration in configurations:
        params = algorithm.resolve(dict(spec.params) | dict(configuration))
        specs.append(replace(spec, params=params))
    return specs


def read_configurations(path: Path) -> Configurations:
    """What was recorded, from the JSON file and the Parquet file beside it.

    Raises: InputError if one of them is missing or damaged.
    """
    import pyarrow.parquet

    try:
        document = json.loads(path.read_text("utf-8"))
        spec = RunSpec.from_json(json.dumps(document["spec"]))
        entries = document["configurations"]
        table = pyarrow.parquet.read_table(path.with_suffix(".parquet"))
        values = {
            metric: _scores_cube(table, metric, len(entries), spec.k)
            for metric in document["metrics"]
        }
        return Configurations(
            spec=spec,
            configurations=tuple(dict(entry["params"]) for entry in entries),
            values=values,
            folds=_fold_numbers(entries, "scores", spec.k),
            joules=_fold_numbers(entries, "joules", spec.k),
        )
    except (OSError, KeyError, ValueError, TypeError, IndexError, pyarrow.ArrowException) as error:
        raise InputError(
            f"the recorded configurations {path.name} cannot be read ({type(error).__name__}); "
            "restore the two files from the project"
        ) from error


def _scores_cube(table: Any, metric: str, count: int, k: int) -> NDArray[np.float32]:  # noqa: ANN401  a pyarrow.Table
    """Shape (configurations, folds, users), from a row per fold and user."""
    fold = table["fold"].to_numpy().astype(np.intp)
    user = table["user"].to_numpy()
    users = np.unique(user)
    cube = np.full((count, k, len(users)), np.nan, dtype=np.float32)
    for place in range(count):
        cube[place, fold, np.searchsorted(users, user)] = table[f"{place}:{metric}"].to_numpy()
    return cube


def _fold_numbers(entries: Sequence[Mapping[str, Any]], name: str, k: int) -> NDArray[np.float64]:
    """A number of each fold of each configuration; shape (configurations, folds)."""
    numbers = np.array([entry[name] for entry in entries], dtype=np.float64)
    return numbers.reshape(len(entries), k)
