"""A stopping rule over every order of some folds: binds the rules to the walk over orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis import orders
from ecv_core.analysis.order_free import asked_about_sets, check_order_free
from ecv_core.errors import InputError
from ecv_core.records import Energy, FoldResult, Progress, Scores, no_progress
from ecv_core.stopping import Fixed, Never, Precision, StoppingRule
from ecv_core.stopping import rule as rule_named
from ecv_core.stopping.adjustment import adjusted
from ecv_core.stopping.efold import EFold, least_alpha
from ecv_core.stopping.fold_variance import fold_variance
from ecv_core.stopping.precision import least_tolerance
from ecv_core.stopping.stagnation import StdStagnation, stands

MAX_USER_K = 16
"""Folds up to which the precision rule is worked out exactly."""
MAX_ASKED_K = 12
"""Folds up to which a rule is asked about every set of folds: k * 2^(k-1) questions, 24,576."""
DRAWS = 5000
"""Orders drawn where they are not all worked out: as many as in the paper."""


def explore(
    scores: Scores,
    rule: str = "e-fold",
    *,
    confidence: float = 0.95,
    min_folds: int = 1,
    progress: Progress = no_progress,
) -> orders.Orders:
    """Every order of the folds under a rule with a free setting, ready to be asked.

    Args:
        scores: the folds; `users` are needed for the precision rule.
        rule: 'e-fold', whose setting is alpha, or 'precision', whose setting is the tolerance.
        confidence: of the rule's interval, in (0, 1).
        min_folds: no stop before this fold.
        progress: called with ("orders", n, k) as the walk goes on.
    Raises: UnknownName for the rule; InputError if it has no setting to explore, the scores are
        bad or too many, or users are missing.
    """
    rule_named(rule)
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must be between 0 and 1, but is {confidence}")
    subsets = orders.FoldSubsets(scores.folds)
    if rule == "e-fold":
        half = subsets.half_widths(confidence)
        widths = 2 * half

        def step(before: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.float64]:
            return least_alpha(widths[before], widths[after])

        first = EFold(alpha=1.0, min_folds=min_folds).first
    elif rule == "precision":
        subsets, half = _precision(subsets, scores, confidence)
        least = least_tolerance(half, subsets.means)

        def step(before: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.float64]:
            return least[after]

        first = max(1, min_folds)
    else:
        raise InputError(f"the rule '{rule}' has no setting to explore; choose e-fold or precision")
    return orders.Orders(subsets, half, step, first=first, costs=scores.costs, progress=progress)


def fixed(
    scores: Scores, *, confidence: float = 0.95, within_percent: float | None = None
) -> orders.Curve:
    """The baseline: the exact outcome of always using e folds; one row per e, from 1 to k."""
    subsets = orders.FoldSubsets(scores.folds)
    return orders.fixed(
        subsets,
        subsets.half_widths(confidence),
        costs=scores.costs,
        within_percent=within_percent,
    )


def stagnation(
    scores: Scores,
    *,
    confidence: float = 0.95,
    min_folds: int = 1,
    draws: int = 5000,
    seed: int = 0,
    within_percent: float | None = None,
) -> orders.Outcome:
    """The rule 'std-stagnation' over random orders: it needs the whole history.

    Args: as for `explore`; `draws` orders are drawn with the seed.
    """
    first = StdStagnation(min_folds=min_folds).first

    def stops(shuffled: NDArray[np.float64]) -> NDArray[np.intp]:
        fires = np.zeros(shuffled.shape, dtype=np.bool_)
        fires[:, 1:] = stands(orders.running(shuffled)[1][:, 1:])
        fires[:, : first - 1] = False
        fires[:, -1] = True  # all folds are in
        first_stop: NDArray[np.intp] = np.argmax(fires, axis=1) + 1
        return first_stop

    return orders.sampled(
        scores.folds,
        stops,
        confidence=confidence,
        orders=draws,
        seed=seed,
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
) -> orders.Outcome:
    """What any rule does over the orders of some folds.

    Exact for the rules of this package but std-stagnation, and for a rule that says `order_free` of
    itself, up to MAX_ASKED_K folds; else over drawn orders, with standard errors.

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
    if isinstance(rule, EFold | Precision):
        by_alpha = isinstance(rule, EFold)
        if isinstance(rule, Precision):
            scores = replace(scores, random=scores.random and rule.random)
            if rule.adjust_by and scores.aids is None:
                raise InputError(
                    f"the precision rule is adjusted by {', '.join(rule.adjust_by)}, but these "
                    "folds come without their scores; give a run, beside which they are found"
                )
        walk = explore(
            scores,
            "e-fold" if by_alpha else "precision",
            confidence=rule.confidence,
            min_folds=rule.min_folds,
        )
        setting = rule.alpha if isinstance(rule, EFold) else rule.tolerance
        return walk.at(setting, within_percent=within_percent)
    if isinstance(rule, Fixed | Never):
        curve = fixed(scores, confidence=confidence, within_percent=within_percent)
        if isinstance(rule, Never):
            return replace(curve.at(float(curve.k)), setting=None)
        return curve.at(float(min(rule.folds, curve.k)))
    if isinstance(rule, StdStagnation):
        return stagnation(
            scores,
            confidence=confidence,
            min_folds=rule.min_folds,
            draws=draws,
            seed=seed,
            within_percent=within_percent,
        )
    results = _shown(scores)
    if getattr(rule, "order_free", False) and len(results) <= MAX_ASKED_K:
        check_order_free(rule, results)
        walk = asked_about_sets(scores.folds, results, rule, confidence, scores.costs)
        return replace(walk.at(0.0, within_percent=within_percent), setting=None)
    order = orders.drawn_orders(len(results), draws, seed)

    def stops(_shuffled: NDArray[np.float64]) -> NDArray[np.intp]:
        found = [_first_stop(rule, [results[fold] for fold in row]) for row in order.tolist()]
        return np.array(found, dtype=np.intp)

    return orders.sampled(
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
    return tuple(
        FoldResult(
            fold=fold,
            score=float(score),
            metrics={},
            users=0,
            fit_seconds=0.0,
            evaluate_seconds=0.0,
            total_seconds=0.0,
            energy=Energy.none(),
        )
        for fold, score in enumerate(scores.folds)
    )


def _first_stop(rule: StoppingRule, results: Sequence[FoldResult]) -> int:
    """The fold after which this order stops; the last one ends it in any case."""
    k = len(results)
    return next((n for n in range(1, k) if rule.decide(results[:n]).stop), k)


def _precision(
    subsets: orders.FoldSubsets, scores: Scores, confidence: float
) -> tuple[orders.FoldSubsets, NDArray[np.float64]]:
    """The sets with the means that the rule goes by, and its half widths; NaN for the empty set."""
    if scores.users is None:
        raise InputError(
            "the precision rule needs every user's score, which these folds come without; "
            "use a recorded run that has them, or another rule"
        )
    if subsets.k > MAX_USER_K:
        raise InputError(
            f"the precision rule is explored for up to {MAX_USER_K} folds, but there are "
            f"{subsets.k}; use fewer folds"
        )
    values = np.asarray(scores.users, dtype=np.float64)
    if len(values) != subsets.k:
        raise InputError(f"there are {subsets.k} folds, but users' scores of {len(values)}")
    half = np.full(len(subsets.means), np.nan)
    chosen = subsets.lattice.contains()[1:]
    if scores.aids is None:
        variance = fold_variance(values, chosen, random=scores.random)
    elif subsets.k > MAX_ASKED_K:
        raise InputError(
            f"means corrected by cheap models are explored for up to {MAX_ASKED_K} folds, but "
            f"there are {subsets.k}; use fewer folds"
        )
    else:
        sharper = adjusted(scores.folds, values, scores.aids, chosen, random=scores.random)
        variance = sharper.variance
        subsets = subsets.estimated(np.concatenate([[np.nan], sharper.means]))
    half[1:] = variance.half_widths(subsets.k, confidence)
    return subsets, half
