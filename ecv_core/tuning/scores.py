"""A tuning with all folds: every configuration's score per fold and user, by several metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecv_core.records import SCORES, ParamValue, RunSpec, Task, UserScores
from ecv_core.runs.configurations import Configuration, read_configurations
from ecv_core.runs.recorded import FOLDER
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store import Store

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


def tuning_names(folder: Path = TUNINGS) -> list[str]:
    """Names of the recorded tunings, `<dataset>--<algorithm>`; none of them read."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_tuning(path: Path) -> TuningScores:
    """A recorded tuning, from its JSON file and the Parquet file beside it.

    Raises: InputError if one of them is missing or damaged.
    """
    found = read_configurations(path)
    return TuningScores(
        spec=found.spec,
        configurations=tuple(one["params"] for one in found.entries),
        values=found.values,
    )


def own_tuning_names(store: Store) -> dict[str, int]:
    """What `own_tuning` finds something for: `<dataset>--<algorithm>` -> how many folds there are.

    Reads no scores of users, so that a metric may still be missing there.
    """
    families: defaultdict[str, defaultdict[RunSpec, set[int]]] = defaultdict(
        lambda: defaultdict(set)
    )
    for run in store.runs():
        if run.spec.task is Task.TOP_N:
            alike = replace(run.spec, params=(), only_folds=()).part(*SCORES)
            one = replace(run.spec, only_folds=(), rule=NEVER_STOPS, rule_params=())
            families[repr(alike)][one] |= {fold.fold for fold in run.folds}
    found: dict[str, int] = {}
    for family in families.values():
        whole = {spec.params: spec for spec, folds in family.items() if len(folds) == spec.k}
        if len(whole) > 1:
            spec = next(iter(whole.values()))
            name = f"{spec.dataset}--{spec.algorithm}"
            found[name] = max(found.get(name, 0), spec.k * len(whole))
    return found


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
