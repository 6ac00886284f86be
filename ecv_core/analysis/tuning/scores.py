"""Runs of the database that differ in parameters only -> a tuning with all folds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import FoldResult
from ecv_core.records.spec import RunSpec, Task
from ecv_core.store.configurations import Configurations
from ecv_core.store.results import Results
from ecv_core.store.store import Store

STUDIED = ("ndcg", "precision", "recall", "mrr", "efd", "epc")
"""The metrics of Anelli et al. (2019)."""


def own_tuning_names(store: Store) -> dict[str, int]:
    """What `own_tuning` finds something for: `<dataset>--<algorithm>` -> how many folds there are.

    Reads no scores of users, so that a metric may still be missing there.
    """
    found: dict[str, int] = {}
    for family in _families(store):
        if len(family) > 1:
            name = f"{family[0].dataset}--{family[0].algorithm}"
            found[name] = max(found.get(name, 0), family[0].k * len(family))
    return found


def own_tuning(store: Store, dataset: str, algorithm: str) -> Configurations | None:
    """The largest set of configurations with all folds; None where there is none.

    Args:
        store: where runs with all folds are, such as those of `tune --all-folds`.
        dataset: an id.
        algorithm: an id.
    """
    results = Results(store, recorded=False)
    best: dict[RunSpec, dict[int, FoldResult]] = {}
    for family in _families(store):
        if (family[0].dataset, family[0].algorithm) == (dataset, algorithm):
            folds = {spec: results.folds(spec, user_scores=True) for spec in family}
            whole = {spec: found for spec, found in folds.items() if _studied(spec, found)}
            best = max(best, whole, key=len)
    return _gathered(best) if len(best) > 1 else None


def _families(store: Store) -> list[list[RunSpec]]:
    """Specs with all folds, those together that differ in parameters only; newest first."""
    families: defaultdict[str, list[RunSpec]] = defaultdict(list)
    for spec, folds in store.specs():
        if folds == spec.k and spec.task is Task.TOP_N:
            families[replace(spec, params=()).score_key].append(spec)
    return list(families.values())


def _studied(spec: RunSpec, folds: Mapping[int, FoldResult]) -> bool:
    """Whether every fold has users' scores by all metrics that are studied."""
    users = [result.user_scores for result in folds.values()]
    wanted = {f"{metric}@{spec.n}" for metric in STUDIED}
    return all(one is not None and wanted <= set(one.metrics) for one in users)


def _gathered(runs: Mapping[RunSpec, Mapping[int, FoldResult]]) -> Configurations:
    specs = list(runs)
    given = [dict(spec.params) for spec in specs]
    differ = [name for name in given[0] if len({one[name] for one in given}) > 1]
    order = sorted(range(len(specs)), key=lambda at: [_key(given[at][name]) for name in differ])
    results = [[runs[specs[at]][fold] for fold in range(specs[0].k)] for at in order]
    scores = [[result.user_scores for result in folds] for folds in results]
    users = np.unique(np.concatenate([s.users for folds in scores for s in folds if s]))
    shape = (len(specs), specs[0].k, len(users))
    values = {
        f"{metric}@{specs[0].n}": np.full(shape, np.nan, dtype=np.float32) for metric in STUDIED
    }
    for place, folds in enumerate(scores):
        for fold, one in enumerate(folds):
            for metric, cube in values.items():
                if one is not None:
                    cube[place, fold, np.searchsorted(users, one.users)] = one.of(metric)
    return Configurations(
        spec=specs[order[0]],
        configurations=tuple({name: given[at][name] for name in differ} for at in order),
        values=values,
        folds=np.array([[result.score for result in folds] for folds in results]),
        joules=np.array([[result.energy.joules for result in folds] for folds in results]),
    )


def _key(value: ParamValue) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
