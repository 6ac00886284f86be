"""Two systems' paired scores -> difference, interval, p value, effect; Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import t_quantile

RESAMPLES = 1000
"""Bootstrap samples: the ends of a 95 % interval are steady to about 2 % of its width."""
BLOCK_CELLS = 4_000_000
"""How many (sample, user) weights are held at once."""
_ROUNDING = 1e-9
"""Relative to the largest, differences that are closer than this are the same."""


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """What paired scores say about the difference of two means, first minus second."""

    over: str
    """What is paired: 'folds', or 'users', 'samples' or 'clusters of users'."""
    pairs: int
    difference: float
    low: float
    """Lower end of its interval, for this comparison alone."""
    high: float
    p: float
    """Two-sided, of a t test, not corrected for other comparisons. NaN, as both ends of the
    interval are, where all pairs differ by the same: they do not tell by how much others would."""
    effect: float | None
    """Cohen's d of the differences: mean / standard deviation. None over folds, whose spread says
    little of single users, and where all differences are the same."""

    @property
    def speaks_of(self) -> str:
        """Of what a difference is shown, as a sentence ends: the learners, or fitted models.

        Folds vary by the rows that a model is trained on too. Users and samples do not: their test
        takes the models as they were trained.
        """
        if self.over == "folds":
            return "these learners, trained anew on data like these"
        return f"these fitted models, on new {self.over}"

    def within(self, largest: float) -> PairedTest:
        """The same test, its interval cut at the largest difference that the metric can have.

        The interval of a difference that is larger stays: its scores have another scale.
        """
        if abs(self.difference) > largest:
            return self
        return replace(self, low=max(self.low, -largest), high=min(self.high, largest))

    def reversed(self) -> PairedTest:
        """The same test of the second minus the first."""
        effect = self.effect
        if effect is not None:
            effect = -effect
        return replace(
            self, difference=-self.difference, low=-self.high, high=-self.low, effect=effect
        )


def t_tests_over_users(
    scores: ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    unit: str = "users",
) -> list[PairedTest]:
    """Compare systems by the scores of the same users: a paired t test.

    It speaks of the models as they were trained. Read as of the learners, it finds differences that
    are not there (docs/method.md). The interval of 95 % is Student's t, as p is.

    Args:
        scores: One row per system, one column per user; shape (systems, users >= 2).
        pairs: Rows to compare, first minus second.
        unit: What has a score, in the plural: 'users', 'samples' or 'clusters of users'.

    Raises:
        InputError: For fewer than two users, or scores that are not finite.
    Source: Smucker, Allan, Carterette (2007) on paired tests in retrieval.
    """
    user_scores = _finite_scores(scores, unit)
    tests = []
    for first, second in pairs:
        differences = user_scores[first] - user_scores[second]
        standard_error = _standard_deviation(differences) / math.sqrt(len(differences))
        tests.append(_paired_test(differences, over=unit, standard_error=standard_error))
    return tests


def corrected_t_test_over_folds(
    first: ArrayLike,
    second: ArrayLike,
    *,
    k: float,
    confidence: float = 0.95,
) -> PairedTest:
    """Compare two learners by the scores of the same folds: the corrected resampled t test.

    The folds of a cross-validation share training data, so a plain t test finds differences that
    are not there. The variance is multiplied by 1/J + test/train instead of 1/J.

    Args:
        first: One score per fold; at least two (J).
        second: The scores of the second system on the same folds.
        k: Into how many parts the data are split, so that test/train is 1 / (k - 1): the folds of
            the cross-validation; of a repeated one those of one partition.
        confidence: The confidence of the interval, in (0, 1).

    Raises:
        InputError: For fewer than two folds, or scores that are not finite.
    Source: Nadeau and Bengio (2003), Inference for the generalization error.
    """
    scores = _finite_scores(np.array([first, second]), "folds")
    differences = scores[0] - scores[1]
    standard_error = corrected_error(differences, k)
    return _paired_test(
        differences, over="folds", standard_error=standard_error, confidence=confidence
    )


def corrected_error(differences: Floats, k: float) -> float:
    """The standard error of a mean over folds, corrected for the training data that they share.

    Args:
        differences: The differences of each fold that ran; shape (folds,), at least two.
        k: As of `corrected_t_test_over_folds`.
    Source: Nadeau and Bengio (2003): test/train, which is 1 / (k - 1), is added to 1/J.
    """
    return _standard_deviation(differences) * math.sqrt(1 / len(differences) + 1 / (k - 1))


def differ_alike(differences: Floats) -> bool:
    """Whether all pairs differ by the same, so that they do not tell by how much others would.

    With few samples in a fold that is often so by chance: a t test would find no doubt left.

    Args:
        differences: Those of folds or of users; shape (pairs,), at least two.
    """
    return bool(np.ptp(differences) <= _ROUNDING * np.abs(differences).max())


def bootstrap_means(values: Floats, *, resamples: int) -> Floats:
    """Means of each row over users drawn with replacement, the same draws for all rows.

    Args:
        values: Shape (systems, users).
        resamples: How many samples.

    Returns:
        Shape (systems, resamples).
    """
    rng = np.random.default_rng(0)
    systems, users = values.shape
    means = np.empty((systems, resamples))
    samples_per_block = max(1, BLOCK_CELLS // users)
    for start in range(0, resamples, samples_per_block):
        end = min(start + samples_per_block, resamples)
        drawn = rng.integers(users, size=(end - start, users), dtype=np.int32)
        # A sample weighs each user by how often the user was drawn.
        weights = np.stack([np.bincount(sample, minlength=users) for sample in drawn])
        means[:, start:end] = values @ weights.T.astype(np.float64) / users
    return means


def holm(p_values: ArrayLike) -> Floats:
    """Correct p values of several comparisons, so that one false alarm in all stays unlikely.

    Args:
        p_values: Shape (..., comparisons); each row is a family of comparisons of its own.

    Returns:
        The same shape and order; each in [0, 1], at least what it was, and in the same ranking
        within a row.
    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    hypotheses_left = np.arange(values.shape[-1], 0, -1)
    multiplied = np.minimum(1.0, hypotheses_left * ascending)
    corrected = np.empty_like(values)
    np.put_along_axis(corrected, order, np.maximum.accumulate(multiplied, axis=-1), axis=-1)
    return corrected


def _paired_test(
    differences: Floats, *, over: str, standard_error: float, confidence: float = 0.95
) -> PairedTest:
    """A t test.

    Args:
        differences: The differences of the pairs, first minus second; shape (pairs,).
        over: What is paired.
        standard_error: That of the mean difference.
        confidence: The confidence of the interval, in (0, 1).
    """
    mean = float(differences.mean())
    half_width = t_quantile(len(differences) - 1, confidence) * standard_error
    deviation = _standard_deviation(differences)
    # Equal scores do not differ at all. Other differences that are all alike have no spread, and do
    # not show how likely they are by chance.
    if not differences.any():
        p = 1.0
    elif differ_alike(differences):
        p = math.nan
        half_width = math.nan
    else:
        p = min(1.0, 2 * float(stdtr(len(differences) - 1, -abs(mean) / standard_error)))
    # Folds share training data, so the deviation of their differences is no measure of an effect.
    effect = None
    if over != "folds" and deviation > 0:
        effect = mean / deviation
    return PairedTest(
        over=over,
        pairs=len(differences),
        difference=mean,
        low=mean - half_width,
        high=mean + half_width,
        p=p,
        effect=effect,
    )


def _standard_deviation(values: Floats) -> float:
    """Standard deviation, n - 1 in the denominator; exactly 0 for equal values."""
    if np.ptp(values) == 0:
        return 0.0
    return float(values.std(ddof=1))


def _finite_scores(scores: ArrayLike, unit: str) -> Floats:
    """Check the scores to be paired; `unit` is what they are of, in the plural.

    Raises:
        InputError: For fewer than two in a row, or for one that is not a finite number.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.shape[-1] < 2:
        raise InputError(
            f"a paired test needs at least two {unit} in common, but there are {values.shape[-1]}"
        )
    if not np.isfinite(values).all():
        raise InputError(f"a paired test needs a finite score of all {unit}, but some are missing")
    return values
