"""Folds of two candidates -> how they differ, by what their samples tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ecv_core.estimators.fold_scores import Scored
from ecv_core.evaluation.scoring import SampleValues
from ecv_core.records.arrays import Floats
from ecv_core.selection.evidence import Differences
from ecv_core.stopping.fold_variance import user_variance_over_all_folds


class SampleDifferences(Differences):
    """Differences of candidates in the same folds, by what their samples or groups tell.

    Args:
        folds: The folds of each candidate, fold -> scores; folds may come, none changes.
        types: Of each candidate, the types of its estimators; folds of two of the same types
            behave much the same.
        held_out_once: Whether no sample, or group, is held out in two folds.
        certain: Whether a winner has to be certain, and not only cost little on average.
    """

    def __init__(
        self,
        folds: Sequence[Mapping[int, Scored]],
        types: Sequence[object],
        *,
        held_out_once: bool,
        certain: bool = False,
    ) -> None:
        super().__init__()
        self._winner_must_be_certain = certain
        """Whether a winner has to be certain, and not only cost little on average."""
        self._folds = folds
        """For each candidate: fold -> its scores."""
        self._types = types
        """For each candidate, the types of its estimators; folds of alike ones behave alike."""
        self._held_out_once = held_out_once
        """Whether no sample, or group, is held out in two folds."""

    def scores(self, contender: int, folds: Sequence[int]) -> Floats:
        return np.array([self._folds[contender][fold].score for fold in folds])

    def same_algorithm(self, contender: int, other: int) -> bool:
        return self._types[contender] == self._types[other]

    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        """The variance of one fold's difference as samples tell it; NaN where they do not."""
        # The held-out samples of an estimator, or groups of them, take the place of users.
        differences = []
        for fold in folds:
            difference = self._sample_differences(contender, other, fold)
            if difference is None:
                return np.nan
            differences.append(difference)
        # Samples that are not seen may differ more than those that are. If the winner must be
        # certain, one more is counted, on which the candidates differ by `largest_move`. Otherwise
        # the variance is at least that of half such a sample.
        if self._held_out_once:
            return _variance_held_out_once(differences, certain=self._winner_must_be_certain)
        return _variance_held_out_repeatedly(differences, certain=self._winner_must_be_certain)

    def _sample_differences(self, contender: int, other: int, fold: int) -> SampleValues | None:
        """The difference on each held-out sample; None where both do not tell of the same ones."""
        samples = self._folds[contender][fold].samples
        samples_of_other = self._folds[other][fold].samples
        if samples is None or samples_of_other is None:
            return None
        if not np.array_equal(samples.units, samples_of_other.units):
            return None
        return SampleValues(
            units=samples.units,
            values=samples.values - samples_of_other.values,
            # This is how far a sample's value could move if it were predicted otherwise.
            largest_move=max(samples.largest_move, samples_of_other.largest_move),
        )


def _variance_held_out_repeatedly(folds: Sequence[SampleValues], *, certain: bool) -> float:
    """The variance of a fold's mean where samples, or groups, may come in several folds.

    Args:
        folds: Differences of two candidates.
        certain: As of `SampleDifferences`.
    """
    every_unit = np.unique(np.concatenate([fold.units for fold in folds]))
    # A row per fold, a column per sample or group; NaN where the fold does not hold it out.
    values = np.full((len(folds), len(every_unit)), np.nan)
    for row, fold in zip(values, folds, strict=True):
        row[np.searchsorted(every_unit, fold.units)] = fold.values
    variance = user_variance_over_all_folds(values)
    # A sample that is held out again in a later fold is counted once: all folds together have as
    # many samples, or groups, as there are units.
    freedom = max(len(every_unit) - 1, 1)
    score_count = np.count_nonzero(~np.isnan(values))
    mean_size = score_count / len(folds)
    largest_move = max(fold.largest_move for fold in folds)
    variance_of_sample = largest_move**2 / freedom
    variance_by_one_sample = variance_of_sample / mean_size
    return _with_unseen_sample(variance, variance_by_one_sample, certain=certain)


def _variance_held_out_once(folds: Sequence[SampleValues], *, certain: bool) -> float:
    """The variance of a fold's mean where nobody comes twice: each fold's spread is all there is.

    Args:
        folds: Differences of two candidates.
        certain: As of `SampleDifferences`.

    Returns:
        NaN where each fold is a single sample, or no sample tells anything.
    """
    sizes = np.array([len(fold.values) for fold in folds])
    if sizes.max() == 1:  # one sample has no spread within its fold
        return np.nan
    # The squared distances of all values from the mean of their fold are summed.
    squares_seen = 0.0
    for fold in folds:
        squares_seen += float(((fold.values - fold.values.mean()) ** 2).sum())
    largest_move = max(fold.largest_move for fold in folds)
    squares = _with_unseen_sample(squares_seen, largest_move**2, certain=certain)
    if squares == 0:
        return np.nan
    variance_of_sample = squares / (sizes - 1).sum()
    # The variance of a fold's mean, in a fold of average size.
    return float(variance_of_sample / sizes.mean())


def _with_unseen_sample(seen: float, of_one_sample: float, *, certain: bool) -> float:
    """What samples show of a spread, with a sample that candidates predict as differently as any.

    Samples that two candidates predict alike are no proof that they always will: at least half a
    sample is taken to differ (Jeffreys' prior), or small tables would be decided at once. Where few
    differ, a single one in the last fold may turn the order, which a spread of so few does not
    tell: to be certain, one more than has been seen is expected (Laplace's rule of succession).

    Args:
        seen: The sum of squares or the variance that samples have shown.
        of_one_sample: What one sample adds to it that moves as far as one can.
        certain: As of `SampleDifferences`.
    """
    if certain:
        return seen + of_one_sample
    return max(seen, of_one_sample / 2)
