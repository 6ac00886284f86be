"""Fold scores, recorded or made up -> where stopping early misleads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.stopping.efold import EFold, least_alpha, least_alphas
from ecv_core.stopping.interval import (
    difference_percent,
    look_level,
    mean_interval,
    running,
    t_quantile,
)
from pages.learn.material.recorded_runs import CONFIDENCE, replayed, stops_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Coincidence:
    """Three folds that agree by chance, so that the rule stops at once."""

    order: tuple[int, ...]
    """All k folds, the three first."""
    share: float
    """Of all orders: those that stop after three folds."""
    share_wrong: float
    """Of all orders: those that stop after three folds and whose interval misses the mean."""
    difference_percent: float
    times_too_narrow: float
    """How many half-widths the k-fold mean is away; above 1 the interval misses it."""


def coincidence(scores: NDArray[np.float64], alpha: float) -> Coincidence:
    """The order that stops after three folds and is furthest off, and how common such stops are.

    Args:
        scores: shape (k,), k at least 4.
        alpha: of the paper's rule.
    Raises: InputError if no order stops after three folds.
    """
    k, mean = len(scores), float(scores.mean())
    stopping, wrong = 0, 0
    worst: tuple[float, float, tuple[int, int, int]] | None = None
    for a, b, c in permutations(range(k), 3):
        three = (a, b, c)
        seen = [float(scores[fold]) for fold in three]
        before, now = mean_interval(seen[:2], CONFIDENCE), mean_interval(seen, CONFIDENCE)
        assert before is not None
        assert now is not None
        if least_alpha(before.width, now.width) > alpha:
            continue
        middle = (now.low + now.high) / 2
        stopping += 1
        wrong += not now.low <= mean <= now.high
        times = abs(middle - mean) / (now.width / 2) if now.width else np.inf
        off = difference_percent(middle, mean)
        if worst is None or (off, times) > worst[:2]:
            worst = (off, times, three)
    if worst is None:
        raise InputError(f"no order of these folds stops after three at alpha {alpha}; raise it")
    off, times, three = worst
    every = k * (k - 1) * (k - 2)
    return Coincidence(
        order=three + tuple(fold for fold in range(k) if fold not in three),
        share=stopping / every,
        share_wrong=wrong / every,
        difference_percent=off,
        times_too_narrow=float(times),
    )


def scaled_stops(scores: NDArray[np.float64], alpha: float, factors: Sequence[float]) -> list[int]:
    """Folds used if the very same scores are written in another unit, in their recorded order.

    Args:
        scores: shape (k,).
        alpha: left as it is, whatever the unit.
        factors: what the scores are multiplied by.
    """
    order = range(len(scores))
    return [
        int(stops_at(replayed(scores * factor, order), np.array([alpha]))[0]) for factor in factors
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCoverage:
    """What holds in the runs that stop after one number of folds."""

    stop: int
    """Folds used; 0 for all runs together."""
    share: float
    """Of the runs."""
    plain: float
    """Share of these in which the interval of the mean (Student's t) holds the true mean."""
    wide: float
    """Likewise of the interval that allows for the stop."""


def at_the_stop(
    alpha: float, deviation: float, *, k: int = 10, runs: int = 500_000
) -> list[StopCoverage]:
    """Coverage by stop: all runs together, then each stop that more than 0.1 % of runs have.

    Args:
        alpha: of the rule.
        deviation: standard deviation of the fold scores, in their unit.
        k: folds in all.
        runs: how many are made.
    """
    scores = deviation * np.random.default_rng(0).standard_normal((runs, k))
    means, deviations = running(scores)
    stops = least_alphas(deviations, CONFIDENCE) <= alpha
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    rows = np.arange(runs)
    off = np.abs(means[rows, at]) / (deviations[rows, at] / np.sqrt(at + 1))
    first = EFold(alpha=alpha).first
    level = 1 - look_level(first, k, CONFIDENCE)
    plain, wide = (
        off <= np.array([0.0] + [t_quantile(n - 1, one) for n in range(2, k + 1)])[at]
        for one in (CONFIDENCE, level)
    )
    found = [StopCoverage(stop=0, share=1.0, plain=float(plain.mean()), wide=float(wide.mean()))]
    for n in range(first, k + 1):
        here = at == n - 1
        if here.mean() > 0.001:
            found.append(
                StopCoverage(
                    stop=n,
                    share=float(here.mean()),
                    plain=float(plain[here].mean()),
                    wide=float(wide[here].mean()),
                )
            )
    return found
