"""Fold scores -> their mean, spread, its confidence interval, and how far two means differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import Interval


def mean_and_deviation(scores: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n-1 in the denominator) of at least one score.

    The order of the scores never matters, not even in the last digit. The deviation of one score
    is NaN, that of equal scores exactly 0.

    Raises:
        InputError: For a score that is not a finite number.
    """
    for score in scores:
        if not math.isfinite(score):
            raise InputError(f"a fold's score must be a finite number, but is {score}")
    low = min(scores)
    # Scores are measured from the lowest one, in units of their range. So nearly equal scores keep
    # all their digits, and no square vanishes or overflows.
    unit = max(scores) - low or 1.0
    distances = [(score - low) / unit for score in scores]
    mean_distance = math.fsum(distances) / len(scores)
    mean = low + unit * mean_distance
    if len(scores) < 2:
        return mean, math.nan
    squares = [(distance - mean_distance) ** 2 for distance in distances]
    variance = math.fsum(squares) / (len(scores) - 1)
    return mean, unit * math.sqrt(variance)


def mean_interval(
    scores: Sequence[float], confidence: float, overlap: float = 0.0
) -> Interval | None:
    """Confidence interval of the mean of fold scores: Student's t, n-1 degrees of freedom.

    Args:
        scores: One per fold, in any order; at least one.
        confidence: In (0, 1), e.g. 0.95.
        overlap: As `RunSpec.overlap`.

    Returns:
        None for one score; its `width` is c_n of the paper.

    Raises:
        InputError: For a score that is not a finite number.
    Source: the paper is silent on which interval; see docs/method.md for how we read it.
    """
    mean, deviation = mean_and_deviation(scores)
    if len(scores) < 2:
        return None
    # If repeated splits hold out the same rows in several folds, `overlap` is the rows that a
    # fold holds out over those that it learns from. It widens the interval, for such scores are
    # alike; without it folds count as independent.
    reach = half_width(deviation, len(scores), confidence, overlap)
    return Interval(low=mean - reach, high=mean + reach)


def half_width(deviation: float, n: int, confidence: float, overlap: float) -> float:
    """How far the interval of the mean of n fold scores reaches to each side, by Student's t.

    Args:
        deviation: The standard deviation of the scores.
        n: How many there are, at least 2.
        confidence: In (0, 1).
        overlap: As `RunSpec.overlap`: the variance of the mean is deviation^2 (1/n + overlap), so
            that more repetitions of a cross-validation do not make it vanish.

    Source: Nadeau, Bengio (2003), the corrected resampled t-test.
    """
    half_width_without_overlap = t_quantile(n - 1, confidence) * deviation / math.sqrt(n)
    # Scores whose training sets overlap are alike: their mean varies 1 + n * overlap times as much.
    return half_width_without_overlap * math.sqrt(1 + n * overlap)


def uncertainty_of(
    scores: Sequence[float], confidence: float, overlap: float = 0.0
) -> Interval | None:
    """`mean_interval` to be shown; None also where all scores are the same: a zero is not certain,
    and equal scores do not tell how uncertain their mean is."""
    interval = mean_interval(scores, confidence, overlap)
    if interval is None or interval.width == 0:
        return None
    return interval


@lru_cache(maxsize=4096)
def t_quantile(freedom: int, confidence: float) -> float:
    """How many standard errors a two-sided interval of Student's t reaches to each side.

    Args:
        freedom: Degrees of freedom, at least 1.
        confidence: In (0, 1), e.g. 0.95.
    """
    # The lower tail, because 1 - (1 - confidence) / 2 loses digits as confidence nears 1.
    return -float(scipy.special.stdtrit(freedom, (1 - confidence) / 2))


def t_factors(k: int, confidence: float) -> Floats:
    """Half the width of the interval of a mean of 1 .. k scores, over their standard deviation.

    Returns:
        Shape (k,); NaN for one score.
    """
    quantiles = np.full(k, math.nan)
    for n in range(2, k + 1):
        quantiles[n - 1] = t_quantile(n - 1, confidence)
    return quantiles / np.sqrt(np.arange(1, k + 1))


def running_means_and_deviations(
    scores_of_orders: Floats,
) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n-1) of the first n scores, for every n.

    Args:
        scores_of_orders: Scores in order; shape (orders, k).

    Returns:
        Both of shape (orders, k); the deviation of one score is NaN.
    """
    # Scores are measured from the lowest one of their order, in units of its range, so that no
    # square vanishes or overflows.
    low = scores_of_orders.min(axis=1, keepdims=True)
    unit = scores_of_orders.max(axis=1, keepdims=True) - low
    unit[unit == 0] = 1.0
    distances = (scores_of_orders - low) / unit
    means = np.empty_like(distances)
    squares = np.empty_like(distances)
    for place, (mean, squares_about_mean) in enumerate(running_moments(distances.T)):
        means[:, place] = mean
        squares[:, place] = squares_about_mean
    freedom = np.arange(distances.shape[1], dtype=np.float64)
    freedom[0] = np.nan  # One score has no deviation.
    return low + unit * means, unit * np.sqrt(squares / freedom)


def differences_percent(x: ArrayLike, y: ArrayLike) -> Floats:
    """d(x, y) = |x - y| / ((|x| + |y|) / 2) * 100, element by element; 0 where both are 0.

    Returns:
        In [0, 200]; the paper's formula for scores that are not negative, and symmetric in sign, so
        that metrics below zero work too.
    Source: papers/e-fold-cross-validation.
    """
    x = np.asarray(x, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    mean_size = np.abs(x) / 2 + np.abs(y) / 2
    # If the mean size is 0 both are 0, and so is their difference, whatever it is divided by.
    return np.abs(x - y) / np.where(mean_size > 0, mean_size, 1.0) * 100


def difference_percent(x: float, y: float) -> float:
    """`differences_percent` of two numbers."""
    return float(differences_percent(x, y))


# Fold scores up to a stop -> an interval of their mean that allows for having looked on the way.
#
# A rule that looks at the scores stops at folds that happen to agree, so that Student's t at the
# stop is too narrow. Here every mean from the first that could be a stop to the last fold has an
# interval, and all of them hold at once with the confidence that is asked for: whichever look ends
# the run, its interval holds. No rule need be known, only when its looks began.


_MOST_RUNS = 100_000
"""Runs that are simulated."""
_MOST_SCORES = 2_000_000
"""Scores of all simulated runs together, so that hundreds of folds do not take forever."""
_LEAST_RUNS = 10_000
"""Runs that are simulated however many folds each has."""

_SIMULATED = {
    2: {3: 2768, 4: 2018, 5: 1641, 6: 1412, 7: 1253, 8: 1141, 9: 1054, 10: 986, 12: 884, 20: 673},
    3: {4: 3049, 5: 2286, 6: 1874, 7: 1614, 8: 1439, 9: 1306, 10: 1203, 12: 1055, 20: 774},
    4: {5: 3263, 6: 2516, 7: 2084, 8: 1801, 9: 1603, 10: 1458, 12: 1251, 20: 879},
}
"""What 2,000,000 runs gave at 95 %, in 1e-5: first look -> last look -> level."""


def stop_interval(
    scores: Sequence[float], *, first_look: int, k: int, confidence: float, overlap: float = 0.0
) -> Interval | None:
    """The interval of the mean after these folds, however a rule came to end there.

    Args:
        scores: The scores of the folds used, at least one and at most k.
        first_look: The first fold after which the rule could stop; below 2, that counts as 2.
        k: Folds in all: the last look, where the run ends whatever the rule says.
        confidence: The confidence that the intervals of all these looks hold at once, in (0, 1).
        overlap: As `RunSpec.overlap`.

    Returns:
        None before the first look, and of equal scores, which do not tell.

    Raises:
        InputError: For a score that is not a finite number.
    Source: repeated confidence intervals, Jennison & Turnbull (1989); with Student's t at each
        look, equally deep in its tails (1991). Assumes normal, independent scores, as t does.
    """
    _, deviation = mean_and_deviation(scores)
    n = len(scores)
    # One score has no deviation, so the first interval is that after two folds.
    first_look = max(first_look, 2)
    # Equal scores do not tell how far others would be.
    if n < first_look or deviation == 0:
        return None
    # The intervals of all looks are to hold together. So each look may err less often than a single
    # look may, and its interval has a higher confidence.
    error_of_look = look_level(first_look, k, confidence)
    return mean_interval(scores, 1 - error_of_look, overlap)


@lru_cache(maxsize=256)
def look_level(first: int, k: int, confidence: float) -> float:
    """The error that each look may make, so that no look errs with the probability `confidence`.

    Args:
        first: Fold of the first look, at least 2.
        k: Fold of the last look.
        confidence: In (0, 1).

    Returns:
        Between (1 - confidence) / looks and 1 - confidence; simulated with a fixed seed where it is
        not known, with a standard error of 2 % of it (more for hundreds of folds).
    """
    if first == k:
        return 1 - confidence  # there is a single look, which may make all of the error
    level_in_hundred_thousandths = _SIMULATED.get(first, {}).get(k)
    if confidence == 0.95 and level_in_hundred_thousandths is not None:
        return level_in_hundred_thousandths / 1e5
    # The more folds a run has, the fewer runs are simulated, so that none takes long.
    runs = min(_MOST_RUNS, max(_MOST_SCORES // k, _LEAST_RUNS))
    return _simulated_level(first, k, confidence, runs)


def _simulated_level(first: int, k: int, confidence: float, runs: int) -> float:
    """`look_level` from so many runs of normal scores with the mean 0.

    Source: as of `stop_interval`.
    """
    rng = np.random.default_rng(20240901)
    scores = (rng.standard_normal(runs) for _ in range(k))
    p_values = []
    # `squares` are the sums of the squared distances to the mean of the first n scores.
    for n, (means, squares) in enumerate(running_moments(scores), start=1):
        if n >= first:
            # Student's t: the mean over its standard error, the root of squares / (n - 1) / n.
            t = np.abs(means) * np.sqrt(n * (n - 1) / squares)
            p_values.append(2 * scipy.special.stdtr(n - 1, -t))
    # The interval of a look misses the true mean, 0, where its p value is below the level. A run
    # errs if any look misses it, that is if its smallest p value is below. The level is chosen so
    # that the share 1 - confidence of the runs errs.
    smallest_p_values = np.min(p_values, axis=0)
    return float(np.quantile(smallest_p_values, 1 - confidence))


def running_moments(scores: Iterable[Floats]) -> Iterator[tuple[Floats, Floats]]:
    """Mean, and sum of squares about it, of the scores of many runs up to each fold.

    Args:
        scores: The scores of one fold after the other; each of shape (runs,).

    Returns:
        Both of shape (runs,), after each fold.
    Source: Welford (1962).
    """
    mean = np.zeros(1)  # It is broadcast to any number of runs.
    squares = np.zeros(1)
    for n, score in enumerate(scores, start=1):
        # Welford's recurrence: the new score's distances to both means, the old and the new one.
        step = score - mean
        mean = mean + step / n
        squares = squares + step * (score - mean)
        yield mean, squares
