"""Configurations of one algorithm with all their folds, as the project keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.evaluation import metric_of
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import UnknownName
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded import FOLDER
from ecv_core.store.recorded_users import reading
from ecv_core.untrusted.files import change_stamp_of

GRIDS = FOLDER / "grids.parquet"
"""Grids of one parameter, named `<dataset>--<algorithm>--<parameter>`: a row per configuration and
fold, with the scores of its users."""
TUNINGS = FOLDER / "tunings.parquet"
"""Tunings with all folds, named `<dataset>--<algorithm>`: a row per metric and fold, with the p of
every two configurations and the mean of each. They are in the project, not in its wheel."""
SPACES = FOLDER / "spaces.json"
"""Whole search spaces of a dataset under several splits: means, and how far splits agree."""

_WHAT = "the recorded configurations"

Configuration = Mapping[str, ParamValue]
"""The parameters that differ between them, by name."""


def contender_word(algorithm: str, configuration: Configuration) -> str:
    """A configuration as `selection.contenders.parse_contender` reads it."""
    settings = [f"{name}={value}" for name, value in configuration.items()]
    return f"{algorithm}:{','.join(settings)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Configurations:
    """One algorithm with several parameters, every fold of each scored by several metrics."""

    spec: RunSpec
    """Of all of them but for their parameters."""
    configurations: tuple[Configuration, ...]
    """The parameters that differ between them."""
    user_scores: Mapping[str, NDArray[np.float32]]
    """'ndcg@10' -> shape (configurations, folds, users); NaN where a user has nothing held out."""
    fold_scores: Floats
    """Scores by the metric of the spec; shape (configurations, folds)."""
    joules: Floats
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
        user_scores = self.user_scores[self.spec.metric_name]
        scores = []
        for index, configuration in enumerate(self.configurations):
            scores.append(
                Scores(
                    name=contender_word(self.spec.algorithm, configuration),
                    folds=self.fold_scores[index],
                    joules=self.joules[index],
                    users=user_scores[index],
                    metric_range=metric_of(self.spec).range,
                )
            )
        return scores


@dataclass(frozen=True, kw_only=True, eq=False)
class PairedTests:
    """Configurations of one algorithm, and how likely the differences of every two are chance."""

    spec: RunSpec
    """Of all of them but for their parameters."""
    configurations: tuple[Configuration, ...]
    """The parameters that differ between them."""
    p_values: Mapping[str, Floats]
    """'ndcg@10' -> p of a paired t test over users; shape (folds, pairs), pairs in the order of
    `numpy.triu_indices(configurations, 1)`."""
    means: Mapping[str, Floats]
    """'ndcg@10' -> mean score over users; shape (folds, configurations)."""


def specs_of(spec: RunSpec, configurations: Sequence[Configuration]) -> list[RunSpec]:
    """The spec of each configuration.

    Raises:
        InputError: For a bad parameter.
    """
    algorithm = models.of(spec)
    specs = []
    for configuration in configurations:
        params = algorithm.resolve(dict(spec.params) | dict(configuration))
        specs.append(replace(spec, params=params))
    return specs


def configuration_names(path: Path) -> list[str]:
    """What is recorded in GRIDS or TUNINGS; nothing where there is no such file.

    Raises:
        InputError: If the file is damaged.
    """
    return list(_names_at_stamp(path, change_stamp_of(path)))


@lru_cache(maxsize=8)
def _names_at_stamp(path: Path, stamp: tuple[int, ...]) -> tuple[str, ...]:
    """The names in a file, in their order, which is read again only when it has changed."""
    if not stamp:  # There is no file.
        return ()
    from pyarrow import parquet

    with reading(_WHAT, path), parquet.ParquetFile(path) as file:
        names = file.read(columns=["name"])["name"].unique()
        return tuple(sorted(names.to_pylist()))


def recorded_grid(name: str, path: Path = GRIDS) -> Configurations:
    """The configurations of a recorded grid.

    Args:
        name: The name of `configuration_names`.
        path: The path of the file.

    Raises:
        InputError: If the file is missing or damaged, or has no such grid.
    """
    with reading(_WHAT, path):
        rows = _columns_of_rows(path, name)
        spec = RunSpec.from_json(rows["spec"][0])
        # A row is one fold of one configuration, whose parameters it has as a JSON text, and holds
        # the codes of the users of the fold and their scores.
        params_texts = list(dict.fromkeys(rows["params"]))
        shape = (len(params_texts), spec.k)
        users = np.unique(np.concatenate(rows["user"]))
        fold_scores = np.full(shape, np.nan)
        joules = np.full(shape, np.nan)
        user_scores = np.full((*shape, len(users)), np.nan, dtype=np.float32)
        for row, fold in enumerate(rows["fold"]):
            configuration = params_texts.index(rows["params"][row])
            fold_scores[configuration, fold] = rows["score"][row]
            joules[configuration, fold] = rows["joules"][row]
            places_of_users = np.searchsorted(users, rows["user"][row])
            user_scores[configuration, fold, places_of_users] = rows[spec.metric_name][row]
        return Configurations(
            spec=spec,
            configurations=tuple(json.loads(text) for text in params_texts),
            user_scores={spec.metric_name: user_scores},
            fold_scores=fold_scores,
            joules=joules,
        )


def recorded_tuning(name: str, path: Path = TUNINGS) -> PairedTests:
    """The tests of a recorded tuning.

    Args:
        name: The name of `configuration_names`.
        path: The path of the file.

    Raises:
        InputError: If the file is missing or damaged, or has no such tuning.
    """
    with reading(_WHAT, path):
        rows = _columns_of_rows(path, name)
        spec = RunSpec.from_json(rows["spec"][0])
        configurations = json.loads(rows["configurations"][0])
        # A row is one fold of one metric, and holds the p of every pair of configurations and the
        # mean of each configuration.
        p_values = {}
        means = {}
        for metric in dict.fromkeys(rows["metric"]):
            is_of_metric = rows["metric"] == metric
            p_values[metric] = np.stack(rows["p"][is_of_metric])
            means[metric] = np.stack(rows["means"][is_of_metric])
        return PairedTests(
            spec=spec, configurations=tuple(configurations), p_values=p_values, means=means
        )


def recorded_spaces() -> dict[str, Any]:
    """Dataset -> what is recorded of its search spaces; nothing where there is no file.

    Of a dataset: `metric`, the `configurations`' names, their `scores` under each split, and the
    `agreements` of every two splits.
    """
    if not SPACES.exists():
        return {}
    return json.loads(SPACES.read_text("utf-8"))


def _columns_of_rows(path: Path, name: str) -> dict[str, NDArray[Any]]:
    """The rows of one name, by column."""
    from pyarrow import parquet

    table = parquet.read_table(path, filters=[("name", "=", name)])
    if not len(table):
        raise UnknownName("recorded tuning or grid", name, configuration_names(path))
    return {column: table[column].to_numpy() for column in table.column_names}
