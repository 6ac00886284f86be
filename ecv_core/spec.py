"""What a user asked for -> a RunSpec with every value checked and every default filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import ecv_core.datasets as datasets
from ecv_core import energy, evaluation, models, splits, stopping
from ecv_core.errors import FoldsError, InputError
from ecv_core.records import ParamValue, RunSpec


def make_spec(
    *,
    dataset: str,
    algorithm: str,
    params: Mapping[str, ParamValue] | None = None,
    split: str = "user-k-fold",
    split_params: Mapping[str, ParamValue] | None = None,
    folds_sha256: str | None = None,
    k: int | None = None,
    only_folds: Sequence[int] = (),
    seed: int = 42,
    metric: str = "ndcg",
    n: int = 10,
    candidates: str = "all",
    negatives: int | None = None,
    negative_sampling: str = "uniform",
    rule: str | None = None,
    alpha: float = 1e-4,
    tolerance: float | None = None,
    confidence: float = 0.95,
    min_folds: int | None = None,
    full: bool = False,
    country: str = "DEU",
) -> RunSpec:
    """A checked spec; arguments as in `records.RunSpec`.

    By default `k` is the split's (10 for folds from a file), the rule is e-fold, or never where
    there is only one fold, and `min_folds` is the rule's.

    Raises: InputError for an unknown name or a value that cannot work, before anything runs.
    """
    entry = datasets.entry(dataset)
    resolved = models.algorithm(algorithm).resolve(params or {})
    evaluation.check_protocol(candidates, negatives, negative_sampling)
    evaluation.check_metric(
        metric, sampled=negatives is not None, log_odds=models.algorithm(algorithm).log_odds
    )
    if folds_sha256 is None:
        known = splits.strategy(split)
        settings = known.resolve(split_params or {})
        k = known.default_k if k is None else k
        known.check_k(k)
    else:
        split, settings = splits.IMPORTED, ()
        k = 10 if k is None else k
        if split_params:
            raise FoldsError("a split from a file has no parameters; leave them out")
        if k < 1:
            raise FoldsError(f"k must be at least 1, but is {k}")
    if entry.interactions is not None and k > entry.interactions:
        raise FoldsError(
            f"k must be at most the {entry.interactions:,} interactions of {dataset}, but is {k}"
        )
    rule = _rule(rule, split, k)
    if wrong := [fold for fold in only_folds if not 0 <= fold < k]:
        raise FoldsError(f"there is no fold {wrong[0]}; with k = {k} they are 0 to {k - 1}")
    if len(set(only_folds)) != len(only_folds):
        raise FoldsError(f"each fold can be run once, but --only-folds has {list(only_folds)}")
    if n < 1:
        raise InputError(f"n, the length of the recommendation list, must be at least 1, not {n}")
    if entry.items is not None and n > entry.items:
        raise InputError(f"n must be at most the {entry.items:,} items of {dataset}, but is {n}")
    if negatives is not None:
        _check_negatives(negatives, n, dataset, entry.items)
    if not 0 <= seed < 2**32:
        raise InputError(f"the seed must be from 0 to {2**32 - 1}, but is {seed}")
    if stopping.rule(rule).needs_user_scores and not evaluation.METRICS[metric].per_user:
        raise InputError(
            f"the rule '{rule}' compares every user's score, but {evaluation.METRICS[metric].title}"
            " has one value per fold and none per user; choose another rule, or a metric such as "
            "ndcg"
        )
    default_folds = stopping.rule(rule).default_folds
    cutoffs = {cutoff for cutoff in (1, 5, 10, 20) if not entry.items or cutoff <= entry.items}
    spec = RunSpec(
        dataset=dataset,
        algorithm=algorithm,
        params=resolved,
        split=split,
        split_params=settings,
        folds_sha256=folds_sha256,
        k=k,
        only_folds=tuple(only_folds),
        seed=seed,
        metric=metric,
        n=n,
        cutoffs=tuple(sorted(cutoffs | {n})),
        candidates=candidates,
        negatives=negatives,
        negative_sampling=negative_sampling,
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


def _rule(rule: str | None, split: str, k: int) -> str:
    """The rule's id. Raises: InputError for one that watches the spread of a single score."""
    if rule is None:
        return "e-fold" if k > 1 else "never"
    if k == 1 and stopping.rule(rule).id not in ("never", "fixed"):
        raise InputError(
            f"the split '{split}' with k = 1 gives a single score, so there is nothing that the "
            f"rule '{rule}' could stop early; use the rule 'never', or a split with several folds"
        )
    return rule


def _check_negatives(negatives: int, n: int, dataset: str, items: int | None) -> None:
    if negatives < n:
        raise InputError(
            f"with {negatives} negatives and a list of {n} every held-out item is a hit; "
            f"ask for at least {n} negatives, or for a shorter list"
        )
    if items is not None and negatives >= items:
        raise InputError(
            f"{dataset} has {items:,} items, so {negatives:,} negatives cannot be drawn besides "
            "what a user has; ask for fewer, or leave the number out for full ranking"
        )


def to_the_end(spec: RunSpec) -> RunSpec:
    """The same run, going on to its last fold after the stop, to check it."""
    return replace(spec, full=True)
