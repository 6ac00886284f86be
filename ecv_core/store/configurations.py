"""Configurations of one algorithm with all their folds, kept small in two files.

`<name>.json` says what was run, with every fold's score, seconds and joules; the Parquet file
beside it holds the scores per user in 16 bits: a row per fold and user, a column per configuration
and metric.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded import FOLDER

GRIDS = FOLDER / "grids"
"""Grids of one parameter, `<dataset>--<algorithm>--<parameter>`."""
TUNINGS = Path(os.environ.get("ECV_TUNINGS") or FOLDER / "tunings").expanduser()
"""Tunings with all folds, `<dataset>--<algorithm>`; they are in the project, not in its wheel."""
NO_TUNINGS = (
    "recorded tunings do not come with the package; get data/recorded/tunings from the project and "
    "name the folder in ECV_TUNINGS"
)
"""What is said where there is none."""

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
    import pyarrow as pa
    from pyarrow import parquet

    try:
        document = json.loads(path.read_text("utf-8"))
        spec = RunSpec.from_json(json.dumps(document["spec"]))
        entries = document["configurations"]
        table = parquet.read_table(path.with_suffix(".parquet"))
        fold, user = (table[column].to_numpy() for column in ("fold", "user"))
        users = np.unique(user)
        place = fold.astype(np.intp), np.searchsorted(users, user)
        values = {}
        for metric in document.get("metrics") or [spec.metric_name]:
            cube = np.full((len(entries), spec.k, len(users)), np.nan, dtype=np.float32)
            for at in range(len(entries)):
                # Before there were several metrics, a column was a configuration.
                column = f"{at}:{metric}" if "metrics" in document else str(at)
                cube[at, *place] = table[column].to_numpy()
            values[metric] = cube
        return Configurations(
            spec=spec,
            configurations=tuple(dict(entry["params"]) for entry in entries),
            values=values,
            folds=_of_folds(entries, "scores", spec.k),
            joules=_of_folds(entries, "joules", spec.k),
        )
    except (OSError, KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
        raise InputError(
            f"the recorded configurations {path.name} cannot be read ({type(error).__name__}); "
            "restore the two files from the project"
        ) from error


def _of_folds(entries: Sequence[Mapping[str, Any]], name: str, k: int) -> NDArray[np.float64]:
    return np.array([entry[name] for entry in entries], dtype=np.float64).reshape(len(entries), k)
