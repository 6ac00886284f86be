"""The paper's rule on normal scores -> does the interval at its stop hold the true mean?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecv_core.stopping.efold import EFold, least_alpha
from ecv_core.stopping.interval import look_level, running, t_factors, t_quantile


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
    alpha: float,
    deviation: float,
    *,
    k: int = 10,
    confidence: float = 0.95,
    runs: int = 500_000,
    seed: int = 0,
) -> list[StopCoverage]:
    """Coverage by stop: all runs together, then each stop that more than 0.1 % of runs have.

    Args:
        alpha: of the rule.
        deviation: standard deviation of the fold scores, in their unit.
        k: folds in all.
        confidence: of the intervals, in (0, 1).
        runs: how many are made.
        seed: of the draws.
    """
    scores = deviation * np.random.default_rng(seed).standard_normal((runs, k))
    means, deviations = running(scores)
    widths = 2 * t_factors(k, confidence) * deviations
    first = EFold(alpha=alpha).first
    stops = np.zeros(scores.shape, dtype=np.bool_)
    stops[:, first - 1 :] = least_alpha(widths[:, first - 2 : -1], widths[:, first - 1 :]) <= alpha
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    rows = np.arange(runs)
    off = np.abs(means[rows, at]) / (deviations[rows, at] / np.sqrt(at + 1))
    level = 1 - look_level(first, k, confidence)
    plain, wide = (
        off <= np.array([0.0] + [t_quantile(n - 1, one) for n in range(2, k + 1)])[at]
        for one in (confidence, level)
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
