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

DRAWS = 5000
"""Orders drawn where they are not all worked out: as many as in the paper."""


def explore(
    scores: Scores, rule: str = PAPERS_RULE, *, confidence: float = 0.95, min_folds: int = 1
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
        subsets, subsets.half_widths(confidence), costs=scores.costs, within_percent=within_percent
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

    Exact for a rule that decides by sets of folds (`stopping.base.SetRule`), or that does not look
    at scores; else over drawn orders, with standard errors.

    Args:
        scores: the folds; with `users` for the precision rule, and with `results` for a rule that
            looks at more than scores.
        rule: an instance.
        confidence: of the interval whose coverage is told (Student's t), where the rule has none.
        draws: how many orders are drawn.
        seed: same seed, same orders.
        within_percent: the difference to count as close enough.
    Raises: InputError for bad scores.
    """
    if isinstance(rule, SetRule):
        walk, setting = _walk(scores, rule)
        return walk.at(setting, within_percent=within_percent)
    results = _shown(scores)
    if not getattr(rule, "looks", True):
        stop = float(_first_stop(rule, results))
        curve = fixed(scores, confidence=confidence, within_percent=within_percent)
        return replace(curve.at(stop), setting=stop if hasattr(rule, "min_folds") else None)

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
