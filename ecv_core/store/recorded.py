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

# Per-user scores of a whole run <-> one small Parquet file, for later analyses of the run.


def write_user_scores(scores: Mapping[int, UserScores], metrics: Sequence[str], path: Path) -> None:
    """Write some metrics' scores of every fold, as a whole or not at all.

    Scores are kept in 16 bits, about three digits: enough for the spread between and within users,
    and a fold's mean is recorded elsewhere.

    Args:
        scores: fold -> its per-user scores.
        metrics: at least one, as in UserScores.metrics: 'ndcg@10'.
    Raises: OSError if it cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    folds = sorted(scores)
    whose = [scores[fold].clusters for fold in folds]
    clusters = [one for one in whose if one is not None]
    sizes = [len(scores[fold].users) for fold in folds]
    table = pa.table(
        {
            "fold": np.repeat(np.array(folds, dtype=np.int16), sizes),
            "user": np.concatenate([scores[fold].users for fold in folds]).astype(np.int32),
        }
        | ({"cluster": np.concatenate(clusters)} if len(clusters) == len(folds) else {})
        | {
            metric: np.concatenate([scores[fold].of(metric) for fold in folds]).astype(np.float16)
            for metric in metrics
        }
    )
    with replacing(path, for_others=True) as part:
        parquet.write_table(
            table,
            part,
            compression="zstd",
            compression_level=19,
            use_dictionary=["fold", *metrics],
            column_encoding={"user": "DELTA_BINARY_PACKED"},
        )


def read_user_scores(path: Path) -> dict[int, UserScores]:
    """What `write_user_scores` wrote; empty where there is no such file.

    Raises: InputError for a file that is no such table.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if not path.exists():
        return {}
    try:
        table = parquet.read_table(path)
        fold, user = (table[name].to_numpy() for name in ("fold", "user"))
        others = [name for name in table.column_names if name not in ("fold", "user")]
        metrics = tuple(name for name in others if name != "cluster")
        cluster = table["cluster"].to_numpy() if "cluster" in others else None
        columns = [table[metric].to_numpy().astype(np.float32) for metric in metrics]
        values = np.stack(columns, axis=1)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"the per-user scores {path.name} cannot be read ({type(error).__name__}); restore the "
            "file from the project, or record the run again"
        ) from error
    return {
        int(one): UserScores(
            users=user[fold == one],
            metrics=metrics,
            values=values[fold == one],
            clusters=None if cluster is None else cluster[fold == one],
        )
        for one in np.unique(fold)
    }


FOLDER = SHIPPED / "recorded"
"""Where the project keeps its recorded study: one `<dataset>--<algorithm>.json` per run."""

RATINGS = FOLDER / "ratings"
"""Folder of recorded runs that predict ratings, `<dataset>--<algorithm>[-d<dimension>].json`."""

SPLITS = "splits"
"""Folder below it for studies of splits: one `<dataset>--<algorithm>--<split>.json` per run."""

STOPPED = "stopped"
"""Folder below it for runs that ended at their rule's stop, folds left: slow models on large data.
"""


def recorded_runs(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs, ordered by file name; empty where there is no folder.

    Args: folder: of documents as `document.run_document` makes them; by default FOLDER.
    Returns: without per-user scores (see `recorded_user_scores`); `created_at` is when the file
        was written.
    Raises: InputError for a file that is no such document.
    """
    folder = FOLDER if folder is None else folder
    files = sorted(folder.glob("*.json"))
    return [_read(path) for path in files]


def recorded_path(
    folder: Path, dataset: str, algorithm: str, split: str | None = None, *, stops: bool = False
) -> Path:
    """Where a run belongs in a folder of recorded runs.

    Args:
        folder: of the study.
        dataset, algorithm: ids.
        split: in a study of splits only.
        stops: whether it ends at its rule's stop; not in a study of splits.
    """
    if split is None:
        return (folder / STOPPED if stops else folder) / f"{dataset}--{algorithm}.json"
    return folder / SPLITS / f"{dataset}--{algorithm}--{split}.json"


def recorded_under_splits(folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs under every split; those of studies of splits come last.

    Args: as `recorded_runs`.
    Raises: as there.
    """
    folder = FOLDER if folder is None else folder
    return recorded_runs(folder) + recorded_runs(folder / SPLITS)


def recorded_stopped(folder: Path | None = None) -> list[RunRecord]:
    """The runs that are recorded up to their rule's stop, and not whole.

    Args: as `recorded_runs`.
    Raises: as there.
    """
    folder = FOLDER if folder is None else folder
    return [
        run
        for run in recorded_runs(folder / STOPPED)
        if not recorded_path(folder, run.spec.dataset, run.spec.algorithm).exists()
    ]


def recorded_like(spec: RunSpec, folder: Path | None = None) -> list[RunRecord]:
    """The recorded runs whose folds have the same scores; see `RunSpec.same_scores`.

    Args: spec: one of them.
    Raises: as there.
    """
    runs = (_read(path) for path in _paths_of(spec, folder))
    return [run for run in runs if run.spec.same_scores(spec)]


def recorded_user_scores(run: RunRecord, folder: Path | None = None) -> dict[int, UserScores]:
    """Fold -> per-user scores of a recorded run's own metric, and of others that were kept.

    Empty where none were.

    Args: run: any; one that is not recorded has none.
    Raises: InputError for a damaged file.
    """
    path = _path_of(run.run_id, folder, run.spec)
    return {} if path is None else read_user_scores(user_scores_path(path))


def has_user_scores(run: RunRecord, folder: Path | None = None) -> bool:
    """Whether `recorded_user_scores` has some; reads none of them."""
    path = _path_of(run.run_id, folder, run.spec)
    return path is not None and user_scores_path(path).exists()


def recorded_run(run_id: str, folder: Path | None = None) -> RunRecord | None:
    """The recorded run with this id or under this name, under any split; None if there is none.

    Args: run_id: or its file's name without the ending, such as 'ml-100k--item-knn'.
    Raises: InputError for a damaged file of this name.
    """
    path = _path_of(run_id, folder)
    return None if path is None else _read(path)


def recorded_environment(run_id: str, folder: Path | None = None) -> dict[str, Any] | None:
    """Machine and versions that made a recorded run, as `environment` gives them; None if unknown.

    Args: as of `recorded_run`.
    """
    path = _path_of(run_id, folder)
    if path is None:
        return None
    made_with = json.loads(path.read_text(encoding="utf-8")).get("made_with")
    return made_with if isinstance(made_with, dict) else None


def _paths_of(spec: RunSpec | None, folder: Path | None) -> list[Path]:
    """Of the recorded runs of a dataset and an algorithm, as a spec names them; else of all."""
    folder = FOLDER if folder is None else folder
    names = "*.json" if spec is None else f"{escape(f'{spec.dataset}--{spec.algorithm}')}*.json"
    within = (folder, folder / SPLITS, folder / RATINGS.name, folder / STOPPED)
    return [path for one in within for path in sorted(one.glob(names))]


def _path_of(name: str, folder: Path | None, spec: RunSpec | None = None) -> Path | None:
    """Of the run with this id or file name, of this spec where it is known."""
    paths = _paths_of(spec, folder)
    for path in paths:
        if path.stem == name:
            return path
    for path in paths:
        with suppress(InputError):  # a damaged file is not this run's
            if _read(path).run_id == name:
                return path
    return None


def user_scores_path(path: Path) -> Path:
    """Where the per-user scores are that belong to a recorded run's document."""
    return path.parent / "users" / f"{path.stem}.parquet"


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
    users = users or {}
    try:
        wanted = dict.fromkeys([run.spec.metric_name, *also])
        known = [name for name in wanted if all(name in one.metrics for one in users.values())]
        if users and known:
            write_user_scores(users, known, user_scores_path(path))
        with replacing(path, for_others=True) as part:
            part.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; free it and go on") from None


def _read(path: Path) -> RunRecord:
    return _read_once(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _read_once(path: Path, mtime_ns: int) -> RunRecord:
    """One file, read again only when it has changed."""
    from ecv_core.store.document import RunDocument

    try:
        document = codec.read(RunDocument, path.read_bytes())
        return document.record(datetime.fromtimestamp(mtime_ns / 1e9, UTC))
    except (OSError, ValueError) as error:
        why = codec.sentence(error) if isinstance(error, ValueError) else error.strerror
        raise InputError(
            f"the recorded run {path.name} cannot be read: {why}; restore it from the project, or "
            "record it again"
        ) from error


# Configurations of one algorithm with all their folds, kept small in two files. NAME.json says what
# was run, with every fold's score, seconds and joules; the Parquet file beside it holds the scores
# per user in 16 bits: a row per fold and user, a column per configuration and metric.


GRIDS = FOLDER / "grids"
"""Grids of one parameter, `<dataset>--<algorithm>--<parameter>`."""
TUNINGS = FOLDER / "tunings"
"""Tunings with all folds, `<dataset>--<algorithm>`; they are in the project, not in its wheel."""
SPACES = FOLDER / "spaces"
"""Whole search spaces under several splits, `<dataset>.json`: means, and how far splits agree."""

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
        return {
            name: tuple(dict.fromkeys(one[name] for one in self.configurations))
            for name in self.configurations[0]
        }

    @property
    def scores(self) -> list[Scores]:
        """Those of each by the metric of the spec, named as the contenders of a selection."""
        users = self.values[self.spec.metric_name]
        return [
            Scores(
                name=f"{self.spec.algorithm}:{_params_text(params)}",
                folds=self.folds[at],
                joules=self.joules[at],
                users=users[at],
            )
            for at, params in enumerate(self.configurations)
        ]


def configuration_names(folder: Path) -> list[str]:
    """What is recorded in a folder, `<dataset>--<algorithm>...`; none of it is read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def _params_text(params: Configuration) -> str:
    return ",".join(f"{name}={value}" for name, value in params.items())


def specs_of(spec: RunSpec, configurations: Sequence[Configuration]) -> list[RunSpec]:
    """The spec of each configuration. Raises: InputError for a bad parameter."""
    algorithm = models.algorithm(spec.algorithm)
    return [
        replace(spec, params=algorithm.resolve(dict(spec.params) | dict(one)))
        for one in configurations
    ]


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
        fold, user = (table[column].to_numpy() for column in ("fold", "user"))
        users = np.unique(user)
        place = fold.astype(np.intp), np.searchsorted(users, user)
        values = {}
        for metric in document["metrics"]:
            cube = np.full((len(entries), spec.k, len(users)), np.nan, dtype=np.float32)
            for at in range(len(entries)):
                cube[at, *place] = table[f"{at}:{metric}"].to_numpy()
            values[metric] = cube
        return Configurations(
            spec=spec,
            configurations=tuple(dict(entry["params"]) for entry in entries),
            values=values,
            folds=_of_folds(entries, "scores", spec.k),
            joules=_of_folds(entries, "joules", spec.k),
        )
    except (OSError, KeyError, ValueError, TypeError, IndexError, pyarrow.ArrowException) as error:
        raise InputError(
            f"the recorded configurations {path.name} cannot be read ({type(error).__name__}); "
            "restore the two files from the project"
        ) from error


def _of_folds(entries: Sequence[Mapping[str, Any]], name: str, k: int) -> NDArray[np.float64]:
    return np.array([entry[name] for entry in entries], dtype=np.float64).reshape(len(entries), k)
