"""Two systems' paired scores -> difference, interval, p value, effect; Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import t_quantile

Floats = NDArray[np.float64]

RESAMPLES = 1000
"""Bootstrap samples: the ends of a 95 % interval are steady to about 2 % of its width."""
BLOCK_CELLS = 4_000_000
"""How many (sample, user) weights are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """What paired scores say about the difference of two means, first minus second."""

    over: str
    """What is paired: 'users' or 'folds'."""
    pairs: int
    difference: float
    low: float
    """Lower end of its interval, for this comparison alone."""
    high: float
    p: float
    """Two-sided, of a t test, not corrected for other comparisons."""
    effect: float | None
    """Cohen's d of the differences: mean / standard deviation. None over folds, whose spread says
    little of single users, and where all differences are the same."""


def over_users(
    scores: ArrayLike, pairs: Sequence[tuple[int, int]], *, resamples: int = RESAMPLES
) -> list[PairedTest]:
    """Compare systems by the scores of the same users: a paired t test.

    The interval of 95 % is the percentile bootstrap's over users. All pairs share the resamples, so
    that swapping two systems changes nothing but signs.

    Args:
        scores: one row per system, one column per user; shape (systems, users >= 2).
        pairs: rows to compare, first minus second.
        resamples: bootstrap samples.
    Raises: InputError for fewer than two users, or scores that are not finite.
    Source: Smucker, Allan, Carterette (2007) on paired tests in retrieval; Efron (1979).
    """
    values = _finite(scores, "users")
    means = bootstrap_means(values, resamples=resamples)
    found = []
    for first, second in pairs:
        steps = values[first] - values[second]
        low, high = np.quantile(means[first] - means[second], [0.025, 0.975])
        found.append(
            _paired(
                steps,
                over="users",
                error=_deviation(steps) / math.sqrt(len(steps)),
                interval=(float(low), float(high)),
            )
        )
    return found


def over_folds(
    first: Sequence[float], second: Sequence[float], *, k: int, confidence: float = 0.95
) -> PairedTest:
    """Compare two systems by the scores of the same folds: the corrected resampled t test.

    The folds of a cross-validation share training data, so a plain t test finds differences that
    are not there. The variance is multiplied by 1/J + test/train instead of 1/J.

    Args:
        first: one score per fold; at least two (J).
        second: of the same folds.
        k: folds of the whole cross-validation, so that test/train is 1 / (k - 1).
        confidence: of the interval, in (0, 1).
    Raises: InputError for fewer than two folds, or scores that are not finite.
    Source: Nadeau and Bengio (2003), Inference for the generalization error.
    """
    values = _finite([first, second], "folds")
    steps = values[0] - values[1]
    error = _deviation(steps) * math.sqrt(1 / len(steps) + 1 / (k - 1))
    reach = t_quantile(len(steps) - 1, confidence) * error
    middle = float(steps.mean())
    return _paired(steps, over="folds", error=error, interval=(middle - reach, middle + reach))


def bootstrap_means(values: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Means of each row over users drawn with replacement, the same draws for all rows.

    Args:
        values: shape (systems, users).
        resamples: how many samples.
        seed: of the draws.
    Returns: shape (systems, resamples).
    """
    rng = np.random.default_rng(seed)
    users = values.shape[1]
    means = np.empty((len(values), resamples))
    block = max(1, BLOCK_CELLS // users)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(users, size=(rows, users), dtype=np.int32)
        weights = np.stack([np.bincount(one, minlength=users) for one in drawn])
        means[:, start : start + rows] = values @ weights.T.astype(np.float64) / users
    return means


def holm(p_values: Sequence[float]) -> list[float]:
    """p values of several comparisons, corrected so that one false alarm in all stays unlikely.

    Returns: in the order given; each in [0, 1], at least what it was, and in the same ranking.
    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = highest
    return corrected


def _paired(steps: Floats, *, over: str, error: float, interval: tuple[float, float]) -> PairedTest:
    middle, deviation = float(steps.mean()), _deviation(steps)
    if error > 0:
        p = min(1.0, 2 * float(stdtr(len(steps) - 1, -abs(middle) / error)))
    else:
        p = 0.0 if middle else 1.0  # the same for all pairs: no doubt, or no difference
    return PairedTest(
        over=over,
        pairs=len(steps),
        difference=middle,
        low=interval[0],
        high=interval[1],
        p=p,
        effect=middle / deviation if over == "users" and deviation > 0 else None,
    )


def _deviation(steps: Floats) -> float:
    """Standard deviation, n - 1 in the denominator; exactly 0 for equal values."""
    return float(steps.std(ddof=1)) if np.ptp(steps) > 0 else 0.0


def _finite(scores: ArrayLike, what: str) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape[-1] < 2:
        raise InputError(
            f"a paired test needs at least two {what} in common, but there are {values.shape[-1]}"
        )
    if not np.isfinite(values).all():
        raise InputError(f"a paired test needs a finite score of all {what}, but some are missing")
    return values
