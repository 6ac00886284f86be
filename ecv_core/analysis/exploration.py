"""A stopping rule over every order of some folds: binds the rules to the walk over orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis import orders
from ecv_core.errors import InputError
from ecv_core.records import Progress, no_progress
from ecv_core.stopping import rule as rule_named
from ecv_core.stopping.efold import EFold, least_alpha
from ecv_core.stopping.precision import least_tolerance, precision_half_widths
from ecv_core.stopping.stagnation import StdStagnation, stands

MAX_USER_K = 16
"""Folds up to which the precision rule is worked out exactly."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """The finished folds of one run, or of any system."""

    folds: NDArray[np.float64]
    """One score per fold; shape (k,)."""
    costs: NDArray[np.float64] | None = None
    """What each fold cost, in joules or any unit; shape (k,). None counts folds."""
    users: NDArray[np.floating] | None = None
    """Per-user scores, NaN where a user has nothing held out; shape (k, users)."""


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
        half = _precision_half_widths(subsets, scores.users, confidence)
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


def _precision_half_widths(
    subsets: orders.FoldSubsets, users: ArrayLike | None, confidence: float
) -> NDArray[np.float64]:
    """Of every set of folds; shape (2^k,), NaN for the empty set."""
    if users is None:
        raise InputError(
            "the precision rule needs every user's score, which these folds come without; "
            "use a recorded run that has them, or another rule"
        )
    if subsets.k > MAX_USER_K:
        raise InputError(
            f"the precision rule is explored for up to {MAX_USER_K} folds, but there are "
            f"{subsets.k}; use fewer folds"
        )
    values = np.asarray(users, dtype=np.float64)
    if len(values) != subsets.k:
        raise InputError(f"there are {subsets.k} folds, but users' scores of {len(values)}")
    half = np.full(len(subsets.means), np.nan)
    half[1:] = precision_half_widths(values, subsets.lattice.contains()[1:], subsets.k, confidence)
    return half
