"""Our rule: stop when the k-fold mean is known to within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ecv_core.errors import InputError
from ecv_core.records import Decision, FoldResult, Interval, RunSpec
from ecv_core.stopping.base import Rule, after
from ecv_core.stopping.fold_variance import fold_variance
from ecv_core.stopping.interval import mean_and_deviation


def precision_half_widths(
    values: NDArray[np.floating], chosen: NDArray[np.bool_], k: int, confidence: float
) -> NDArray[np.float64]:
    """How far the mean of some folds is from that of all k, at most, with this confidence.

    The k folds are a finite population, so the distance has the variance s2 * (1/e - 1/k), with s2
    the variance of one fold's mean; see `fold_variance`.

    Args:
        values: a score per fold and user, NaN where there is none; shape (folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
        k: folds in all, at least as many as in any set.
        confidence: in (0, 1).
    Returns: half widths; shape (sets,); exactly 0 for all k folds; NaN where it cannot be known.
    """
    e = chosen.sum(axis=1)
    left = 1 / e - 1 / k
    reach = -float(ndtri((1 - confidence) / 2))
    half: NDArray[np.float64] = reach * np.sqrt(fold_variance(values, chosen) * left)
    half[e == k] = 0.0
    return half


def least_tolerance(
    half_widths: NDArray[np.float64], means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The least tolerance at which each set stops: half width / |mean|; infinite if unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least = half_widths / np.abs(means)
    least[half_widths == 0] = 0.0  # also where the mean is 0
    least[np.isnan(least)] = np.inf
    return least


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Stop when the interval of the k-fold mean reaches at most `tolerance` of the mean each way.

    Looks at per-user scores, so that the first fold can be enough on large data.
    """

    tolerance: float
    """A share of the mean: 0.03 is 3 %."""
    k: int = 10
    """Folds in all; in a run, that run's."""
    metric: str = "ndcg@10"
    """As in UserScores.metrics; in a run, that run's."""
    confidence: float = 0.95
    min_folds: int = 1

    def interval(self, results: Sequence[FoldResult]) -> Interval | None:
        """Where the k-fold mean is, as far as these folds tell; None where they do not."""
        mean, _ = mean_and_deviation([result.score for result in results])
        half = self._half_width(results)
        return None if math.isnan(half) else Interval(low=mean - half, high=mean + half)

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        mean, _ = mean_and_deviation([result.score for result in results])
        known = float(least_tolerance(np.array([self._half_width(results)]), np.array([mean]))[0])
        if math.isinf(known):
            return Decision(
                stop=False, reason=f"{after(n)}: too few users to tell how far it is off: go on."
            )
        found = f"{after(n)}: known within {known:.1%}, asked for {self.tolerance:.1%}"
        if known > self.tolerance:
            return Decision(stop=False, reason=f"{found}: go on.")
        if n < self.min_folds:
            return Decision(
                stop=False, reason=f"{found}, but at least {self.min_folds} folds are due: go on."
            )
        return Decision(stop=True, reason=f"{found}: stop.")

    def _half_width(self, results: Sequence[FoldResult]) -> float:
        values = user_matrix(results, self.metric)
        everything = np.ones((1, len(results)), dtype=np.bool_)
        return float(precision_half_widths(values, everything, self.k, self.confidence)[0])


def user_matrix(results: Sequence[FoldResult], metric: str) -> NDArray[np.float64]:
    """One metric's per-user scores side by side.

    Returns: shape (folds, users seen); NaN where a user has nothing held out in a fold.
    Raises: InputError if a fold came without them, or has none of this metric.
    """
    scores = []
    for result in results:
        if result.user_scores is None:
            raise InputError(
                f"the precision rule needs every user's score, but fold {result.fold} was recorded "
                "without; run it again or pick another rule"
            )
        if metric not in result.user_scores.metrics:
            raise InputError(
                f"the precision rule needs every user's score, but fold {result.fold} has no "
                f"per-user scores of {metric}; choose a metric that each user has a value of, such "
                "as ndcg, or another rule"
            )
        scores.append(result.user_scores)
    users = np.unique(np.concatenate([score.users for score in scores]))
    values = np.full((len(scores), len(users)), np.nan)
    for row, score in zip(values, scores, strict=True):
        row[np.searchsorted(users, score.users)] = score.of(metric)
    return values


def _build(spec: RunSpec) -> Precision:
    assert spec.tolerance is not None  # rule_for has checked it
    return Precision(
        tolerance=spec.tolerance,
        k=spec.max_folds,
        metric=spec.metric_name,
        confidence=spec.confidence,
        min_folds=spec.min_folds,
    )


PRECISION = Rule(
    id="precision",
    title="Precision",
    help=(
        "Stops when the k-fold mean is known to within the tolerance you state, with the "
        "confidence you state. It compares every user's score from fold to fold, so large "
        "data may need one fold and noisy data nearly all."
    ),
    source="this project; finite-population variance of the fold means",
    meaning="is as precise as asked for",
    settings=("tolerance", "confidence", "min_folds"),
    least_folds=1,
    default_folds=1,
    needs_user_scores=True,
    kind=Precision,
    build=_build,
)
