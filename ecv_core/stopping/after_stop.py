"""Fold scores up to a stop -> an interval of their mean that allows for having looked on the way.

A rule that looks at the scores stops at folds that happen to agree, so that Student's t at the stop
is too narrow. Here every mean from the first that could be a stop to the last fold has an interval,
and all of them hold at once with the confidence that is asked for: whichever look ends the run, its
interval holds. No rule need be known, only when its looks began.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from ecv_core.records import Interval
from ecv_core.stopping.interval import mean_and_deviation, t_quantile

_RUNS = 100_000
_NUMBERS = 2_000_000
"""Runs made, and scores in all, so that hundreds of folds do not take forever."""

_KNOWN = {
    2: {3: 2768, 4: 2018, 5: 1641, 6: 1412, 7: 1253, 8: 1141, 9: 1054, 10: 986, 12: 884, 20: 673},
    3: {4: 3049, 5: 2286, 6: 1874, 7: 1614, 8: 1439, 9: 1306, 10: 1203, 12: 1055, 20: 774},
    4: {5: 3263, 6: 2516, 7: 2084, 8: 1801, 9: 1603, 10: 1458, 12: 1251, 20: 879},
}
"""What 2,000,000 runs gave at 95 %, in 1e-5: first look -> last look -> level."""


def stop_interval(
    scores: Sequence[float], *, first: int, k: int, confidence: float
) -> Interval | None:
    """The interval of the mean after these folds, however a rule came to end there.

    Args:
        scores: of the folds used, at least one.
        first: the first fold after which the rule could stop; the first look, at least 2.
        k: folds in all: the last look, where the run ends whatever the rule says.
        confidence: that the intervals of all these looks hold at once, in (0, 1).
    Returns: None before the first look.
    Raises: InputError for a score that is not a finite number.
    Source: repeated confidence intervals, Jennison & Turnbull (1989); with Student's t at each
        look, equally deep in its tails (1991). Assumes normal, independent scores, as t does.
    """
    mean, deviation = mean_and_deviation(scores)
    n, first = len(scores), max(first, 2)
    if n < first:
        return None
    within = 1 - look_level(first, max(k, n), confidence)
    half = t_quantile(n - 1, within) * deviation / math.sqrt(n)
    return Interval(low=mean - half, high=mean + half)


@lru_cache(maxsize=256)
def look_level(first: int, k: int, confidence: float) -> float:
    """The error that each look may make, so that no look errs with the probability `confidence`.

    Args:
        first: fold of the first look, at least 2.
        k: fold of the last look.
        confidence: in (0, 1).
    Returns: between (1 - confidence) / looks and 1 - confidence; simulated with a fixed seed where
        it is not known, with a standard error of 2 % of it (more for hundreds of folds).
    """
    if first == k:
        return 1 - confidence
    if confidence == 0.95 and k in _KNOWN.get(first, {}):
        return _KNOWN[first][k] / 1e5
    runs = min(_RUNS, max(_NUMBERS // k, 10_000))
    rng = np.random.default_rng(20240901)
    means, squares = np.zeros(runs), np.zeros(runs)
    least = np.ones(runs)
    for n in range(1, k + 1):
        score = rng.standard_normal(runs)
        step = score - means
        means += step / n
        squares += step * (score - means)
        if n >= first:
            t = np.abs(means) * np.sqrt(n * (n - 1) / squares)
            np.minimum(least, 2 * stdtr(n - 1, -t), out=least)
    return float(np.quantile(least, 1 - confidence))
