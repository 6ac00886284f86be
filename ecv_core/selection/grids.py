"""A grid of one algorithm's parameters with all folds of every configuration, as contenders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecv_core import models
from ecv_core.records import FoldResult, ParamValue, RunSpec, Scores
from ecv_core.runs.configurations import (
    read_configurations,
    specs_of,
    write_configurations,
)
from ecv_core.runs.recorded import FOLDER

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
    contenders: tuple[Scores, ...]
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
    found = [
        (params, [job(one, index) for index in range(spec.k)])
        for params, one in zip(configurations, specs_of(spec, configurations), strict=True)
    ]
    write_configurations(folder / f"{name}.json", spec, found, [spec.metric_name])


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
    found = read_configurations(path)
    spec = found.spec
    return Grid(
        name=path.stem,
        spec=spec,
        configurations=tuple(one["params"] for one in found.entries),
        contenders=tuple(
            Scores(
                name=_label(spec.algorithm, one["params"]),
                folds=np.array(one["scores"], dtype=np.float64),
                users=values,
                joules=np.array(one["joules"], dtype=np.float64),
                random=models.of(spec).random,
            )
            for one, values in zip(found.entries, found.values[spec.metric_name], strict=True)
        ),
        seconds=sum(sum(one["seconds"]) for one in found.entries),
    )


def _label(algorithm: str, params: Mapping[str, ParamValue]) -> str:
    return f"{algorithm}:{','.join(f'{name}={value}' for name, value in params.items())}"
