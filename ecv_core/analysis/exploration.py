"""A stopping rule over every order of some folds: binds the rules to the walk over orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.orders import outcomes
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.analysis.replay import result_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES, StoppingRule
from ecv_core.stopping import rule as rule_named
from ecv_core.stopping.base import FoldSets, OrderRule, SetRule, first_stop

# A rule from outside that says it is `order_free` -> every order of the folds, by asking it.


_CHECKED = 20
"""Orders on which a rule's word is checked."""


def asked_about_sets(
    folds: NDArray[np.float64],
    results: Sequence[FoldResult],
    rule: StoppingRule,
    confidence: float,
    costs: NDArray[np.float64] | None,
) -> outcomes.Orders:
    """The walk over every order; the rule stops at setting 0, and has no other.

    Args:
        folds: one score per fold; shape (k,).
        results: the same folds as the rule sees them.
        rule: asked about every set of folds with each of its folds as the newest.
        confidence: of the interval whose coverage is told.
        costs: of each fold; None counts folds.
    """
    subsets = FoldSubsets(folds)
    masks = subsets.lattice.masks

    def stops(before: int, after: int) -> bool:
        newest = int(masks[after] ^ masks[before]).bit_length() - 1
        seen = [result for fold, result in enumerate(results) if masks[before] >> fold & 1]
        return rule.decide([*seen, results[newest]]).stop

    def step(before: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.float64]:
        rows = [[stops(one, end) for one, end in zip(row, after, strict=True)] for row in before]
        return np.where(np.array(rows), 0.0, np.inf)

    return outcomes.Orders(subsets, subsets.half_widths(confidence), step, costs=costs)


def check_order_free(rule: StoppingRule, results: Sequence[FoldResult]) -> None:
    """Refuse a rule that decides otherwise when what came before the newest fold is shuffled.

    Raises: InputError with an order that shows it.
    """
    for row in outcomes.drawn_orders(len(results), _CHECKED, seed=0).tolist():
        for n in range(3, len(row) + 1):
            seen, newest = row[: n - 1], row[n - 1]
            one, other = (
                rule.decide([*(results[fold] for fold in before), results[newest]]).stop
                for before in (seen, sorted(seen))
            )
            if one != other:
                raise InputError(
                    f"the rule {type(rule).__name__} says that it is order_free, but after the "
                    f"folds {seen} and then {newest} it decides otherwise than after "
                    f"{sorted(seen)} and then {newest}; leave order_free out"
                )


MAX_ASKED_K = 12
"""Folds up to which a rule is asked about every set of folds: k * 2^(k-1) questions, 24,576."""
DRAWS = 5000
"""Orders drawn where they are not all worked out: as many as in the paper."""


def explore(
    scores: Scores,
    rule: str = PAPERS_RULE,
    *,
    confidence: float = 0.95,
    min_folds: int = 1,
) -> outcomes.Orders:
    """Every order of the folds under a rule whose axis is still free, ready to be asked.

    Args:
        scores: the folds; with `users` for a rule that needs them.
        rule: the id of one that is a `stopping.base.SetRule`.
        confidence: of the rule's interval, in (0, 1).
        min_folds: no stop before this fold.
    Raises: UnknownName for the rule; InputError if it has no setting to explore, the scores are
        bad or too many, or users are missing.
    """
    known = rule_named(rule)
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must be between 0 and 1, but is {confidence}")
    if not known.by_sets:
        able = [one.id for one in RULES.values() if one.by_sets]
        raise InputError(f"the rule '{rule}' has no setting to explore; choose {' or '.join(able)}")
    built = known.build(
        RunSpec(
            dataset="",
            algorithm="",
            k=len(scores.folds),
            rule=rule,
            confidence=confidence,
            min_folds=min_folds,
        )
    )
    assert isinstance(built, SetRule)
    return _walk(scores, built)[0]


def _walk(scores: Scores, rule: SetRule) -> tuple[outcomes.Orders, float]:
    """The walk, and the value of the axis that the rule itself has."""
    subsets = FoldSubsets(scores.folds)
    found = rule.steps(
        FoldSets(
            folds=subsets.scores,
            means=subsets.means,
            half_widths=subsets.half_widths,
            chosen=subsets.lattice.contains,
            users=scores.users,
            aids=scores.aids,
        )
    )
    walk = outcomes.Orders(
        subsets if found.means is None else subsets.estimated(found.means),
        found.half_widths,
        found.step,
        first=first_stop(rule),
        costs=scores.costs,
    )
    return walk, found.setting


def fixed(
    scores: Scores, *, confidence: float = 0.95, within_percent: float | None = None
) -> outcomes.Curve:
    """The baseline: the exact outcome of always using e folds; one row per e, from 1 to k."""
    subsets = FoldSubsets(scores.folds)
    return outcomes.fixed(
        subsets,
        subsets.half_widths(confidence),
        costs=scores.costs,
        within_percent=within_percent,
    )


def outcome(
    scores: Scores,
    rule: StoppingRule,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> outcomes.Outcome:
    """What any rule does over the orders of some folds.

    Exact for a rule that decides by sets of folds (`stopping.base.SetRule`), that does not look at
    scores, or that says `order_free` of itself, up to MAX_ASKED_K folds; else over drawn orders,
    with standard errors.

    Args:
        scores: the folds; with `users` for the precision rule, and with `results` for a rule that
            looks at more than scores.
        rule: an instance.
        confidence: of the interval whose coverage is told (Student's t), where the rule has none.
        draws: how many orders are drawn.
        seed: same seed, same orders.
        within_percent: the difference to count as close enough.
    Raises: InputError for bad scores, or a rule that says it is `order_free` and is not.
    """
    if isinstance(rule, SetRule):
        walk, setting = _walk(scores, rule)
        return walk.at(setting, within_percent=within_percent)
    results = _shown(scores)
    if not getattr(rule, "looks", True):
        stop = float(_first_stop(rule, results))
        curve = fixed(scores, confidence=confidence, within_percent=within_percent)
        return replace(curve.at(stop), setting=stop if hasattr(rule, "min_folds") else None)
    if getattr(rule, "order_free", False) and len(results) <= MAX_ASKED_K:
        check_order_free(rule, results)
        walk = asked_about_sets(scores.folds, results, rule, confidence, scores.costs)
        return replace(walk.at(0.0, within_percent=within_percent), setting=None)

    def stops(shuffled: NDArray[np.float64]) -> NDArray[np.intp]:
        if isinstance(rule, OrderRule):
            return rule.first_stops(shuffled)
        order = outcomes.drawn_orders(len(results), draws, seed)
        found = [_first_stop(rule, [results[fold] for fold in row]) for row in order.tolist()]
        return np.array(found, dtype=np.intp)

    return outcomes.sampled(
        scores.folds,
        stops,
        confidence=confidence,
        orders=draws,
        seed=seed,
        costs=scores.costs,
        within_percent=within_percent,
    )


def _shown(scores: Scores) -> tuple[FoldResult, ...]:
    """The folds as a rule sees them."""
    if scores.results is not None:
        return scores.results
    return tuple(result_of(fold, float(score)) for fold, score in enumerate(scores.folds))


def _first_stop(rule: StoppingRule, results: Sequence[FoldResult]) -> int:
    """The fold after which this order stops; the last one ends it in any case."""
    k = len(results)
    return next((n for n in range(1, k) if rule.decide(results[:n]).stop), k)
