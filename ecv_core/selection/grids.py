"""A grid of one algorithm's parameters with all folds of every configuration, kept small.

Two files per grid: `<name>.json` says what was run and every fold's score, seconds and joules;
`<name>.parquet` holds the score of each user in 16 bits, a row per user and fold, a column per
configuration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.files import replacing
from ecv_core.records import FoldResult, ParamValue, RunSpec
from ecv_core.runs.recorded import FOLDER
from ecv_core.selection.contenders import Contender

GRIDS = FOLDER / "grids"

Job = Callable[[RunSpec, int], FoldResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Configurations of one algorithm on one dataset, each with all folds."""

    name: str
    spec: RunSpec
    """Of all of them, with the algorithm's usual parameters."""
    configurations: tuple[Mapping[str, ParamValue], ...]
    """What differs from those, one per contender."""
    contenders: tuple[Contender, ...]
    seconds: float
    """Of all folds together."""


def record_grid(
    name: str,
    spec: RunSpec,
    configurations: Sequence[Mapping[str, ParamValue]],
    job: Job,
    folder: Path = GRIDS,
) -> None:
    """Compute all folds of a grid and write it.

    Args:
        name: of its files.
        spec: of every configuration but for its parameters.
        configurations: parameters that differ from the spec's, by name.
        job: computes a fold; the joules are as its meter says.
        folder: made if need be.
    """
    import pyarrow as pa
    from pyarrow import parquet

    found = [[job(one, index) for index in range(spec.k)] for one in _specs(spec, configurations)]
    columns: dict[str, object] = {}
    for place, results in enumerate(found):
        scores = [_users(result, spec.metric_name) for result in results]
        if not columns:
            sizes = [len(users) for users, _ in scores]
            columns["fold"] = np.repeat(np.arange(spec.k, dtype=np.int16), sizes)
            columns["user"] = np.concatenate([users for users, _ in scores])
        columns[str(place)] = np.concatenate([values for _, values in scores]).astype(np.float16)
    with replacing(folder / f"{name}.parquet") as part:
        parquet.write_table(
            pa.table(columns),
            part,
            compression="zstd",
            compression_level=19,
            use_dictionary=[column for column in columns if column != "user"],
            column_encoding={"user": "DELTA_BINARY_PACKED"},
        )
    document = {
        "spec": json.loads(spec.to_json()),
        "configurations": [
            {
                "params": dict(params),
                "scores": [result.score for result in results],
                "joules": [round(result.energy.joules, 3) for result in results],
                "seconds": [round(result.total_seconds, 4) for result in results],
            }
            for params, results in zip(configurations, found, strict=True)
        ],
    }
    with replacing(folder / f"{name}.json") as part:
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def recorded_grids(folder: Path = GRIDS) -> Iterator[Grid]:
    """The grids in a folder, by name.

    Raises: InputError for a damaged one.
    """
    for name in grid_names(folder):
        yield read_grid(folder / f"{name}.json")


def grid_names(folder: Path = GRIDS) -> list[str]:
    """Names of the grids in a folder, `<dataset>--<algorithm>--<parameter>`; none of them read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_grid(path: Path) -> Grid:
    """One grid, from its JSON file and the Parquet file beside it.

    Raises: InputError if one of them is missing or damaged.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        document = json.loads(path.read_text("utf-8"))
        spec = RunSpec.from_json(json.dumps(document["spec"]))
        table = parquet.read_table(path.with_suffix(".parquet"))
        fold, user = (table[column].to_numpy() for column in ("fold", "user"))
        users = np.unique(user)
        place = fold.astype(np.intp), np.searchsorted(users, user)
        contenders = []
        for at, one in enumerate(document["configurations"]):
            values = np.full((spec.k, len(users)), np.nan, dtype=np.float32)
            values[place] = table[str(at)].to_numpy()
            contenders.append(
                Contender(
                    name=_label(spec.algorithm, one["params"]),
                    scores=np.array(one["scores"], dtype=np.float64),
                    values=values,
                    joules=np.array(one["joules"], dtype=np.float64),
                    random=models.algorithm(spec.algorithm).random,
                )
            )
        return Grid(
            name=path.stem,
            spec=spec,
            configurations=tuple(one["params"] for one in document["configurations"]),
            contenders=tuple(contenders),
            seconds=sum(sum(one["seconds"]) for one in document["configurations"]),
        )
    except (OSError, KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
        raise InputError(
            f"the recorded grid {path.name} cannot be read ({type(error).__name__}); restore its "
            "two files from the project, or record it again"
        ) from error


def _specs(spec: RunSpec, configurations: Sequence[Mapping[str, ParamValue]]) -> Iterator[RunSpec]:
    algorithm = models.algorithm(spec.algorithm)
    for params in configurations:
        yield replace(spec, params=algorithm.resolve(dict(spec.params) | dict(params)))


def _label(algorithm: str, params: Mapping[str, ParamValue]) -> str:
    return f"{algorithm}:{','.join(f'{name}={value}' for name, value in params.items())}"


def _users(result: FoldResult, metric: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    scores = result.user_scores
    if scores is None:
        raise InputError(f"fold {result.fold} has no scores per user; choose a metric with them")
    return scores.users.astype(np.int32), scores.of(metric).astype(np.float32)
