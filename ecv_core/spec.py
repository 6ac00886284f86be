"""What a user asked for -> a RunSpec with every value checked and every default filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ecv_core import datasets, energy, evaluation, models, splits, stopping
from ecv_core.errors import FoldsError, InputError, UnknownName
from ecv_core.records import ParamValue, RunSpec


def make_spec(
    *,
    dataset: str,
    algorithm: str,
    params: Mapping[str, ParamValue] | None = None,
    split: str = "user-k-fold",
    folds_sha256: str | None = None,
    k: int = 10,
    only_folds: Sequence[int] = (),
    seed: int = 42,
    metric: str = "ndcg",
    n: int = 10,
    rule: str = "e-fold",
    alpha: float = 1e-4,
    tolerance: float | None = None,
    confidence: float = 0.95,
    min_folds: int | None = None,
    full: bool = False,
    country: str = "DEU",
) -> RunSpec:
    """A checked spec; arguments as in `records.RunSpec`, `min_folds` by default the rule's.

    Raises: InputError for an unknown name or a value that cannot work, before anything runs.
    """
    entry = datasets.entry(dataset)
    resolved = models.algorithm(algorithm).resolve(params or {})
    if metric not in evaluation.METRICS:
        raise UnknownName("metric", metric, evaluation.METRICS)
    if folds_sha256 is None:
        splits.strategy(split)
    else:
        split = splits.IMPORTED
    if k < 2:
        raise FoldsError(f"k must be at least 2, but is {k}: one fold has nothing to train on")
    if entry.interactions is not None and k > entry.interactions:
        raise FoldsError(
            f"k must be at most the {entry.interactions:,} interactions of {dataset}, but is {k}"
        )
    if wrong := [fold for fold in only_folds if not 0 <= fold < k]:
        raise FoldsError(f"there is no fold {wrong[0]}; with k = {k} they are 0 to {k - 1}")
    if len(set(only_folds)) != len(only_folds):
        raise FoldsError(f"each fold can be run once, but --only-folds has {list(only_folds)}")
    if n < 1:
        raise InputError(f"n, the length of the recommendation list, must be at least 1, not {n}")
    if entry.items is not None and n > entry.items:
        raise InputError(f"n must be at most the {entry.items:,} items of {dataset}, but is {n}")
    if not 0 <= seed < 2**32:
        raise InputError(f"the seed must be from 0 to {2**32 - 1}, but is {seed}")
    default_folds = stopping.rule(rule).default_folds
    cutoffs = {cutoff for cutoff in (1, 5, 10, 20) if not entry.items or cutoff <= entry.items}
    spec = RunSpec(
        dataset=dataset,
        algorithm=algorithm,
        params=resolved,
        split=split,
        folds_sha256=folds_sha256,
        k=k,
        only_folds=tuple(only_folds),
        seed=seed,
        metric=metric,
        n=n,
        cutoffs=tuple(sorted(cutoffs | {n})),
        rule=rule,
        alpha=alpha,
        tolerance=tolerance,
        confidence=confidence,
        min_folds=min(default_folds, k) if min_folds is None else min_folds,
        full=full,
        country=energy.country(country).code,
    )
    stopping.rule_for(spec)  # refuses a rule or an alpha that cannot work
    return spec


def to_the_end(spec: RunSpec) -> RunSpec:
    """The same run, going on to its last fold after the stop, to check it."""
    return replace(spec, full=True)
