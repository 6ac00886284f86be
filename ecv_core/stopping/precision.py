"""Our rule: stop when the k-fold mean is known to within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import InputError
from ecv_core.records import Decision, FoldResult, Interval, IntervalKind, RunSpec
from ecv_core.stopping.base import Rule, after
from ecv_core.stopping.fold_variance import ONE_FOLD, UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.interval import mean_and_deviation


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
    random: bool = True
    """Whether the model draws random numbers in training; in a run, as its algorithm says."""

    def interval(self, results: Sequence[FoldResult]) -> Interval | None:
        """Where the k-fold mean is, as far as these folds tell; None where they do not."""
        mean, _ = mean_and_deviation([result.score for result in results])
        half = float(self._variance(results).half_widths(self.k, self.confidence)[0])
        if math.isnan(half):
            return None
        return Interval(low=mean - half, high=mean + half, kind=IntervalKind.K_FOLD_MEAN)

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        mean, _ = mean_and_deviation([result.score for result in results])
        variance = self._variance(results)
        half = variance.half_widths(self.k, self.confidence)
        known = float(least_tolerance(half, np.array([mean]))[0])
        if math.isinf(known):
            return Decision(
                stop=False, reason=f"{after(n)}: too few users to tell how far it is off: go on."
            )
        found = f"{after(n)}: known within {known:.1%}, asked for {self.tolerance:.1%}"
        found += self._noted(variance, n)
        if known > self.tolerance:
            return Decision(stop=False, reason=f"{found}: go on.")
        if n < self.min_folds:
            return Decision(
                stop=False, reason=f"{found}, but at least {self.min_folds} folds are due: go on."
            )
        return Decision(stop=True, reason=f"{found}: stop.")

    def _variance(self, results: Sequence[FoldResult]) -> FoldVariance:
        values = user_matrix(results, self.metric)
        everything = np.ones((1, len(results)), dtype=np.bool_)
        return fold_variance(values, everything, random=self.random)

    def _noted(self, variance: FoldVariance, n: int) -> str:
        """What the reader of a decision must know beside the numbers; mostly nothing."""
        if n == self.k:
            return ""
        if n == 1 and self.random:
            return (
                f" (one fold cannot show how much training itself varies; {ONE_FOLD:g} times the "
                "variance that users explain is allowed for)"
            )
        if variance.p_values[0] < UNSTABLE:
            times = float(variance.observed[0] / variance.users[0])
            times_text = f"{times:.1f} times" if times < 1000 else "over 1,000 times"
            cause = "the training is unstable" if self.random else "something sets folds apart"
            return (
                f"; fold means vary {times_text} as much as users explain "
                f"(p {_p_text(float(variance.p_values[0]))}), so {cause} and only fold means count"
            )
        return ""


def _p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


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
    source="this project; moderated variance of the fold means (Smyth 2004), finite population",
    meaning="is as precise as asked for",
    settings=("tolerance", "confidence", "min_folds"),
    least_folds=1,
    default_folds=1,
    needs_user_scores=True,
    interval=IntervalKind.K_FOLD_MEAN,
    kind=Precision,
    build=_build,
)
