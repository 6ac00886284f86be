"""A tuning with all folds: every configuration's score per fold and user, by several metrics.

Two files per recorded one: `<dataset>--<algorithm>.json` says what was run; the Parquet file beside
it holds the scores in 16 bits, a row per fold and user, a column per configuration and metric.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.files import replacing
from ecv_core.records import FoldResult, ParamValue, RunSpec, UserScores
from ecv_core.runs.recorded import FOLDER
from ecv_core.store import Store
from ecv_core.tuning.spaces import Configuration

TUNINGS = FOLDER / "tunings"
STUDIED = ("ndcg", "precision", "recall", "mrr", "efd", "epc")
"""The metrics of Anelli et al. (2019)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TuningScores:
    """What a tuning with all folds has found."""

    spec: RunSpec
    """Of all configurations but for their parameters."""
    configurations: tuple[Configuration, ...]
    """The parameters that differ between them."""
    values: Mapping[str, NDArray[np.float32]]
    """'ndcg@10' -> shape (configurations, folds, users); NaN where a user has nothing held out."""

    @property
    def space(self) -> dict[str, tuple[ParamValue, ...]]:
        """Every parameter's values, in the order in which they first appear."""
        return {
            name: tuple(dict.fromkeys(one[name] for one in self.configurations))
            for name in self.configurations[0]
        }


def specs_of(spec: RunSpec, configurations: Sequence[Configuration]) -> list[RunSpec]:
    """The spec of each configuration. Raises: InputError for a bad parameter."""
    algorithm = models.algorithm(spec.algorithm)
    return [
        replace(spec, params=algorithm.resolve(dict(spec.params) | dict(one)))
        for one in configurations
    ]


def write_tuning(
    path: Path,
    spec: RunSpec,
    found: Sequence[tuple[Configuration, Sequence[FoldResult]]],
    metrics: Sequence[str],
) -> None:
    """Keep a tuning with all folds, small.

    Args:
        path: of the JSON file; the Parquet file goes beside it.
        spec: of all of them.
        found: configurations with their folds, which have scores per user.
        metrics: to keep, such as 'ndcg@10'.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, object] = {}
    for place, (_, results) in enumerate(found):
        scores = [one.user_scores for one in results if one.user_scores is not None]
        if not columns:
            sizes = [len(one.users) for one in scores]
            columns["fold"] = np.repeat([one.fold for one in results], sizes).astype(np.int16)
            columns["user"] = np.concatenate([one.users for one in scores]).astype(np.int32)
        for metric in metrics:
            values = np.concatenate([one.of(metric) for one in scores])
            columns[f"{place}:{metric}"] = values.astype(np.float16)
    with replacing(path.with_suffix(".parquet")) as part:
        parquet.write_table(
            pa.table(columns),
            part,
            compression="zstd",
            compression_level=19,
            use_dictionary=[name for name in columns if name != "user"],
            column_encoding={"user": "DELTA_BINARY_PACKED"},
        )
    document = {
        "spec": json.loads(spec.to_json()),
        "metrics": list(metrics),
        "configurations": [
            {
                "params": dict(params),
                "scores": [one.score for one in results],
                "seconds": [round(one.total_seconds, 4) for one in results],
                "joules": [round(one.energy.joules, 3) for one in results],
            }
            for params, results in found
        ],
    }
    with replacing(path) as part:
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def tuning_names(folder: Path = TUNINGS) -> list[str]:
    """Names of the recorded tunings, `<dataset>--<algorithm>`; none of them read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_tuning(path: Path) -> TuningScores:
    """A recorded tuning, from its JSON file and the Parquet file beside it.

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
        configurations = tuple(one["params"] for one in document["configurations"])
        values = {}
        for metric in document["metrics"]:
            cube = np.full((len(configurations), spec.k, len(users)), np.nan, dtype=np.float32)
            for at in range(len(configurations)):
                cube[at, *place] = table[f"{at}:{metric}"].to_numpy()
            values[metric] = cube
        return TuningScores(spec=spec, configurations=configurations, values=values)
    except (OSError, KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
        raise InputError(
            f"the recorded tuning {path.name} cannot be read ({type(error).__name__}); restore its "
            "two files from the project, or record it again"
        ) from error


def own_tuning(store: Store, dataset: str, algorithm: str) -> TuningScores | None:
    """The largest set of complete runs that differ in parameters only; None where there is none.

    Args:
        store: where runs with all folds are, such as those of `tune --all-folds`.
        dataset: an id.
        algorithm: an id.
    """
    families: list[dict[RunSpec, dict[int, UserScores]]] = []
    for run in store.runs():
        spec = run.spec
        if (spec.dataset, spec.algorithm) != (dataset, algorithm) or not run.folds:
            continue
        scores = {
            fold: one
            for fold, one in store.user_scores(run.run_id).items()
            if all(f"{metric}@{spec.n}" in one.metrics for metric in STUDIED)
        }
        alike = (
            family
            for family in families
            if replace(spec, params=(first := next(iter(family))).params).same_scores(first)
        )
        family = next(alike, None)
        if family is None:
            families.append(family := {})
        same = next((one for one in family if one.same_scores(spec)), spec)
        family[same] = scores | family.get(same, {})
    whole = [
        {spec: scores for spec, scores in family.items() if len(scores) == spec.k}
        for family in families
    ]
    best = max(whole, key=len, default={})
    return _gathered(best) if len(best) > 1 else None


def _gathered(runs: Mapping[RunSpec, Mapping[int, UserScores]]) -> TuningScores:
    specs = list(runs)
    given = [dict(spec.params) for spec in specs]
    differ = [name for name in given[0] if len({one[name] for one in given}) > 1]
    order = sorted(range(len(specs)), key=lambda at: [_key(given[at][name]) for name in differ])
    users = np.unique(np.concatenate([s.users for one in runs.values() for s in one.values()]))
    n, k = specs[0].n, specs[0].k
    values = {
        f"{metric}@{n}": np.full((len(specs), k, len(users)), np.nan, dtype=np.float32)
        for metric in STUDIED
    }
    for place, at in enumerate(order):
        for fold, scores in runs[specs[at]].items():
            where = np.searchsorted(users, scores.users)
            for metric, cube in values.items():
                cube[place, fold, where] = scores.of(metric)
    return TuningScores(
        spec=specs[order[0]],
        configurations=tuple({name: given[at][name] for name in differ} for at in order),
        values=values,
    )


def _key(value: ParamValue) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
