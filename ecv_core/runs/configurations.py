"""Configurations of one algorithm with all their folds, kept small in two files.

`<name>.json` says what was run, with every fold's score, seconds and joules; the Parquet file
beside it holds the scores per user in 16 bits: a row per fold and user, a column per configuration
and metric.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.records import ParamValue, RunSpec

Configuration = Mapping[str, ParamValue]
"""The parameters that differ between them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Configurations:
    """What the two files hold."""

    spec: RunSpec
    """Of all of them but for their parameters."""
    entries: Sequence[Mapping[str, Any]]
    """Per configuration its `params`, and the `scores`, `seconds` and `joules` of its folds."""
    values: Mapping[str, NDArray[np.float32]]
    """'ndcg@10' -> shape (configurations, folds, users); NaN where a user has nothing held out."""


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
        for entry in entries:
            for name in ("scores", "seconds", "joules"):
                if len(entry[name]) != spec.k:
                    raise ValueError(f"{len(entry[name])} {name} of {spec.k} folds")
            dict(entry["params"])
    except (OSError, KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
        raise InputError(
            f"the recorded configurations {path.name} cannot be read ({type(error).__name__}); "
            "restore the two files from the project"
        ) from error
    return Configurations(spec=spec, entries=entries, values=values)
