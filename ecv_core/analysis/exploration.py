"""A stopping rule and some fold scores -> what the rule does over every order of the folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ecv_core.analysis.orders import exact
from ecv_core.analysis.orders.drawn import drawn_orders, outcome_of_drawn_orders
from ecv_core.analysis.orders.outcomes import Curve, Outcome
from ecv_core.analysis.orders.subsets import FoldSubsets, checked_scores
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
) -> exact.Orders:
    """Work out every order of the folds under a rule, for any value of the rule's axis.

    Args:
        scores: The folds; with `users` for a rule that needs them.
        rule: The id of one that is a `stopping.base.SetRule`.
        confidence: The confidence of the rule's interval, in (0, 1).
        min_folds: No stop before this fold.

    Raises:
        UnknownName: For the rule.
        InputError: If it has no setting to explore, the scores are bad or too many, or users are
            missing.
    """
    registered_rule = rule_named(rule)
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must be between 0 and 1, but is {confidence}")
    # A rule that decides by sets of folds can be followed through all orders at once: the orders
    # that come to a set stop alike there. One walk gives the stops for every value of its axis.
    if not registered_rule.decides_by_sets:
        explorable = " or ".join(other.id for other in RULES.values() if other.decides_by_sets)
        raise InputError(f"the rule '{rule}' has no parameter to explore; choose {explorable}")
    spec = RunSpec(
        dataset="",
        algorithm="",
        k=len(scores.folds),
        rule=rule,
        confidence=confidence,
        min_folds=min_folds,
    )
    set_rule = registered_rule.build(spec)
    assert isinstance(set_rule, SetRule)
    orders, _ = _orders_and_setting(scores, set_rule)
    return orders


def _orders_and_setting(scores: Scores, rule: SetRule) -> tuple[exact.Orders, float]:
    """Every order of the folds under a rule, whatever it is set to, and what it is set to."""
    subsets = FoldSubsets(scores.folds)
    sets_for_rule = FoldSets(
        folds=subsets.scores,
        means=subsets.means,
        # Two functions, which only some rules call: the half widths of Student's t at a confidence,
        # and which folds each set contains.
        half_widths=subsets.half_widths,
        contains_fold=subsets.lattice.contains,
        users=scores.users,
        # Models that are quick to fit, whose scores on all folds tell how easy each fold is.
        cheap_models=scores.cheap_models,
    )
    # An order of the folds is a path from set to set that adds one fold at each step. The rule
    # gives a threshold for each step, and stops there if its setting, `steps.setting`, is at least
    # that.
    steps = rule.steps(sets_for_rule)
    if steps.means is not None:  # The rule has its own estimates of the k-fold mean.
        subsets = subsets.with_means(steps.means)
    orders = exact.Orders(
        subsets,
        # There is one for each set, at the confidence of the rule's own interval.
        steps.half_widths,
        steps.threshold_of_step,
        earliest_stop=first_stop(rule),
        costs=scores.costs,
    )
    return orders, steps.setting


def fixed_stops(
    scores: Scores, *, confidence: float = 0.95, within_percent: float | None = None
) -> Curve:
    """The baseline: the exact outcome of always using e folds; one row per e, from 1 to k."""
    subsets = FoldSubsets(scores.folds)
    lattice = subsets.lattice
    # Rows are sets of folds, and columns are the numbers of folds after which orders stop. The
    # first n folds of an order are each set of n folds with the same probability. A level is the
    # slice of the rows of these sets.
    stop_probabilities = np.zeros((len(lattice.masks), subsets.k))
    for n in range(1, subsets.k + 1):
        level = lattice.levels[n]
        sets_of_n_folds = level.stop - level.start
        stop_probabilities[level, n - 1] = 1 / sets_of_n_folds
    half_widths = subsets.half_widths(confidence)
    measures = exact.SetMeasures(subsets, half_widths, scores.costs, within_percent)
    return measures.curve(np.arange(1.0, subsets.k + 1), stop_probabilities)


def outcome_over_orders(
    scores: Scores,
    rule: StoppingRule,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> Outcome:
    """Work out what any rule does over the orders of some folds.

    Exact for a rule that decides by sets of folds (`stopping.base.SetRule`), or that does not look
    at scores; else over drawn orders, with standard errors.

    Args:
        scores: The folds; with `users` for the precision rule, and with `results` for a rule that
            looks at more than scores.
        rule: An instance.
        confidence: The confidence of the interval whose coverage is told (Student's t), where the
            rule has none.
        draws: How many orders are drawn.
        seed: Same seed, same orders.
        within_percent: The difference to count as close enough.

    Raises:
        InputError: For bad scores.
    """
    if isinstance(rule, SetRule):  # it decides by sets of folds, so that every order is counted
        orders, setting = _orders_and_setting(scores, rule)
        return orders.at(setting, within_percent=within_percent)
    results = _fold_results(scores)
    # A rule that is no registered one may say of itself that it looks at no score, such as one of
    # a fixed number of folds.
    decides_by_scores = getattr(rule, "looks", True)
    if not decides_by_scores:  # it stops every order after the same fold
        stop = float(_first_stop(rule, results))
        curve = fixed_stops(scores, confidence=confidence, within_percent=within_percent)
        at_stop = curve.at(stop)
        # The setting of 'fixed' is the fold after which it stops; 'never' has no setting.
        if hasattr(rule, "min_folds"):
            return at_stop
        return replace(at_stop, setting=None)
    fold_scores = checked_scores(scores.folds)
    folds_in_order = drawn_orders(len(fold_scores), draws, seed)
    if isinstance(rule, OrderRule):  # it decides for all orders at once
        stops = rule.first_stops(fold_scores[folds_in_order])
    else:
        stops = np.empty(draws, dtype=np.intp)
        for number, order in enumerate(folds_in_order.tolist()):
            stops[number] = _first_stop(rule, [results[fold] for fold in order])
    return outcome_of_drawn_orders(
        fold_scores,
        folds_in_order,
        stops,
        confidence=confidence,
        costs=scores.costs,
        within_percent=within_percent,
    )


def _fold_results(scores: Scores) -> Sequence[FoldResult]:
    """The folds as a rule sees them."""
    if scores.results is not None:
        return scores.results
    return [result_of(fold, score) for fold, score in enumerate(scores.folds.tolist())]


def _first_stop(rule: StoppingRule, results: Sequence[FoldResult]) -> int:
    """The fold after which this order stops; the last one ends it in any case."""
    k = len(results)
    for n in range(1, k):
        if rule.decide(results[:n]).stop:
            return n
    return k
