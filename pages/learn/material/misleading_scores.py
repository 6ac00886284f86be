"""Fold scores, recorded or made up -> where stopping early misleads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ecv_core.records.arrays import Floats, Mask
from ecv_core.records.errors import InputError
from ecv_core.stopping.efold import EFold, least_alphas
from ecv_core.stopping.interval import (
    differences_percent,
    look_level,
    running_means_and_deviations,
    t_factors,
)
from pages.learn.material.recorded_runs import CONFIDENCE, moments_in_order, stops_at


@dataclass(frozen=True, kw_only=True)
class Coincidence:
    """Three folds that agree by chance, so that the rule stops at once."""

    order: tuple[int, ...]
    """All k folds, the three first."""
    share: float
    """Of all orders: those that stop after three folds."""
    share_wrong: float
    """Of all orders: those that stop after three folds and whose interval misses the mean."""
    times_too_narrow: float
    """How many half-widths the k-fold mean is away; above 1 the interval misses it."""


def coincidence(scores: Floats, alpha: float) -> Coincidence:
    """The order that stops after three folds and is furthest off, and how common such stops are.

    Args:
        scores: One per fold; shape (k,), k at least 4.
        alpha: The alpha of the paper's rule.

    Raises:
        InputError: If no order stops after three folds.
    """
    k = len(scores)
    k_fold_mean = float(scores.mean())
    triples = np.array(list(permutations(range(k), 3)))
    # Arrays have a row for each triple, and a column for each number of folds: -1 is after three.
    means, deviations = running_means_and_deviations(scores[triples])
    stops_after_three = least_alphas(deviations, CONFIDENCE)[:, -1] <= alpha
    if not stops_after_three.any():
        raise InputError(f"no order of these folds stops after three at alpha {alpha}; raise it")
    stopping_triples = triples[stops_after_three]
    stop_means = means[stops_after_three, -1]
    # Half the width of the interval after three folds, in standard deviations of their scores.
    *_, half_width_in_deviations = t_factors(3, CONFIDENCE)
    half_widths = half_width_in_deviations * deviations[stops_after_three, -1]
    distances = np.abs(stop_means - k_fold_mean)
    # Three equal scores have an interval without width.
    with np.errstate(divide="ignore", invalid="ignore"):
        times_too_narrow = np.where(half_widths > 0, distances / half_widths, np.inf)
    # Rounding makes up for the last digit, in which the same three folds differ by their order.
    percents = differences_percent(stop_means, k_fold_mean).round(9)
    is_furthest = percents == percents.max()
    # Several triples may be furthest off. The one whose interval is the narrowest for its distance
    # is taken.
    worst_triple = int(np.argmax(np.where(is_furthest, times_too_narrow.round(9), -1.0)))
    first_three = stopping_triples[worst_triple].tolist()
    others = [fold for fold in range(k) if fold not in first_three]
    return Coincidence(
        order=(*first_three, *others),
        share=len(stopping_triples) / len(triples),
        share_wrong=int((distances > half_widths).sum()) / len(triples),
        times_too_narrow=float(times_too_narrow[worst_triple]),
    )


def scaled_stops(scores: Floats, alpha: float, factors: Sequence[float]) -> list[int]:
    """Folds used if the very same scores are written in another unit, in their recorded order.

    Args:
        scores: One per fold; shape (k,).
        alpha: Left as it is, whatever the unit.
        factors: What the scores are multiplied by.
    """
    stops = []
    for factor in factors:
        moments = moments_in_order(scores * factor, range(len(scores)))
        (stop,) = stops_at(moments, np.array([alpha]))
        stops.append(int(stop))
    return stops


@dataclass(frozen=True, kw_only=True)
class StopCoverage:
    """What holds in the runs that stop after one number of folds."""

    stop: int | None
    """Folds used; None for all runs together, wherever they stop."""
    share: float
    """Of the runs."""
    t_interval_holds: float
    """Share of these in which the interval of the mean (Student's t) holds the true mean."""
    look_interval_holds: float
    """Likewise of the interval that allows for a look after every fold."""


K = 10
"""Folds of each run that is made up."""
_RARE = 0.001
"""Stops that a smaller share of the runs has are left out."""


def coverage_by_stop(alpha: float, deviation: float, *, runs: int) -> list[StopCoverage]:
    """Coverage by stop in made-up runs of normal scores: all together, then stop by stop.

    Args:
        alpha: The alpha of the paper's rule.
        deviation: Standard deviation of the fold scores, in their unit.
        runs: How many are made.
    """
    scores = deviation * np.random.default_rng(0).standard_normal((runs, K))  # the true mean is 0
    means, deviations = running_means_and_deviations(scores)
    may_stop = least_alphas(deviations, CONFIDENCE) <= alpha
    may_stop[:, -1] = True  # every run ends after its last fold
    last_folds = may_stop.argmax(axis=1)  # argmax gives the first True of each run
    # `at_stop` indexes one cell per run: its row, and the column of its last fold.
    at_stop = (np.arange(runs), last_folds)
    # The distances to the true mean, 0, are in standard deviations.
    distances = np.abs(means[at_stop]) / deviations[at_stop]
    # Half the width of an interval is its t factor, in standard deviations as well.
    t_interval_holds = distances <= t_factors(K, CONFIDENCE)[last_folds]
    # The rule looks after every fold from `first_look` on, and each look may err. For all looks
    # together to hold with CONFIDENCE, each look needs more.
    first_look = EFold(alpha=alpha).first
    confidence_of_look = 1 - look_level(first_look, K, CONFIDENCE)
    look_interval_holds = distances <= t_factors(K, confidence_of_look)[last_folds]

    def coverage(stop: int | None, is_counted: Mask) -> StopCoverage:
        return StopCoverage(
            stop=stop,
            share=float(is_counted.mean()),
            t_interval_holds=float(t_interval_holds[is_counted].mean()),
            look_interval_holds=float(look_interval_holds[is_counted].mean()),
        )

    coverages = [coverage(None, np.full(runs, True))]  # all runs together, wherever they stop
    for stop in range(first_look, K + 1):
        stops_here = last_folds == stop - 1
        if stops_here.mean() > _RARE:
            coverages.append(coverage(stop, stops_here))
    return coverages
