"""Scores of a dear model on some folds, of cheap ones on all -> a sharper mean of the dear one.

The cheap models tell how easy each fold is. With Z the part of a user's score that a regression on
theirs explains, the mean of e folds is corrected by how easy these were (control variates):

    mean_e(A) - w * (mean_e(Z) - mean_k(Z))

See docs/method.md for the regression, the weight w, their sources, and what they were measured to
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.records.run import UserScores, user_table
from ecv_core.stopping.fold_variance import FoldVariance, user_moments

Floats = NDArray[np.float64]

_SINGULAR = 1e-8
"""Of the largest, below which directions of the regression do not count."""
_ROUNDING = 1e-12
_STEADY = 12.0
"""How many folds the users' part of the cheap models is worth beside the folds seen."""


class Aids:
    """Cheap models, all of whose folds are in."""

    def __init__(self, models: Mapping[str, Mapping[int, UserScores]], metric: str) -> None:
        """Of the same folds each.

        Args:
            models: name -> fold -> per-user scores; at least one, with at least two folds.
            metric: as in UserScores.metrics: 'ndcg@10'.
        Raises: InputError where they have other folds or users, or not this metric.
        """
        self.names = tuple(models)
        first = models[self.names[0]]
        self.folds = sorted(first)
        for name, scores in models.items():
            if sorted(scores) != self.folds or any(
                metric not in one.metrics for one in scores.values()
            ):
                raise InputError(
                    f"to adjust by '{name}' every user's {metric} in the folds {self.folds} is "
                    f"needed, but it has {sorted(scores)}; run it with the rule 'never'"
                )
        self.users = user_table(list(first.values()), metric)[0]
        self._there = ~np.isnan(self._filled(first, metric))
        self.values = np.stack([self.matrix(scores, metric) for scores in models.values()])

    def matrix(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
        """Per-user scores of some of the folds on these users; NaN elsewhere.

        Returns: shape (k, users).
        Raises: InputError for a fold or a user that the cheap models do not have.
        """
        values = self._filled(scores, metric)
        for fold in scores:
            row = self.folds.index(fold)
            if apart := int((np.isnan(values[row]) == self._there[row]).sum()):
                raise InputError(self._other_users(fold, f" ({apart:,} differ)"))
        return values

    def _filled(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
        values = np.full((len(self.folds), len(self.users)), np.nan)
        for fold, one in scores.items():
            users, [told] = user_table([one], metric)
            if fold not in self.folds or not np.isin(users, self.users).all():
                raise InputError(self._other_users(fold))
            values[self.folds.index(fold), np.searchsorted(self.users, users)] = told
        return values

    def _other_users(self, fold: int, how: str = "") -> str:
        return (
            f"fold {fold} has other users than that of '{self.names[0]}'{how}; run all of the "
            "models on the same folds"
        )

    @cached_property
    def helpers(self) -> Floats:
        """Their scores, then each user's mean of them in every fold that has the user.

        Shape (2 * models, k, users).
        """
        there = ~np.isnan(self.values)
        sums = np.where(there, self.values, 0.0).sum(axis=1)
        means = sums / np.maximum(there.sum(axis=1), 1)
        return np.concatenate([self.values, np.where(there, means[:, None, :], np.nan)])

    @cached_property
    def fold_means(self) -> Floats:
        """Of `helpers`; shape (2 * models, k)."""
        return np.nanmean(self.helpers, axis=2)

    @cached_property
    def covariances(self) -> Floats:
        """Of these, as the users of all folds tell; shape (2 * models, 2 * models)."""
        everything = np.ones((1, len(self.folds)), dtype=np.bool_)
        return user_moments(self.helpers, everything).covariances[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjusted:
    """What some sets of folds tell of the k-fold mean, corrected; arrays of shape (sets,)."""

    means: Floats
    """Estimates of the k-fold mean; exactly it where a set holds all folds."""
    weights: Floats
    """How far the correction counts, from 0 (the plain mean) to 1."""
    variance: FoldVariance
    """Of one fold's corrected mean."""


def adjusted(
    scores: Floats, values: NDArray[np.floating], aids: Aids, chosen: NDArray[np.bool_]
) -> Adjusted:
    """The k-fold mean of a model as each set of its folds tells it, corrected by cheap models.

    Args:
        scores: of the model's folds; NaN for one in no set. Shape (k,).
        values: a score per fold and user, NaN where the user has nothing held out in the fold, and
            throughout a fold in no set; on the users of `aids`, shape (k, users).
        aids: the cheap models.
        chosen: the folds of each set, at least one; shape (sets, k).
    Source: regression estimator, Cochran (1977, chapter 7); control variates with estimated
        coefficients, Lavenberg, Welch (1981).
    """
    k = len(scores)
    sizes = chosen.sum(axis=1)
    used = chosen.any(axis=0)
    of_folds = aids.fold_means
    every = np.concatenate([np.asarray(values)[None], aids.helpers])
    moments = user_moments(every[:, used], chosen[:, used])
    together = np.nan_to_num(moments.covariances)
    spread, shared = together[:, 1:, 1:], together[:, 1:, 0]
    inverse = np.linalg.pinv(spread, rcond=_SINGULAR, hermitian=True)
    slopes = np.einsum("sij,sj->si", inverse, shared)

    # Z: its fold means, and how much of it all users of a fold share with the cheap models only.
    explained = slopes @ of_folds
    by_users = np.einsum("si,ij,sj->s", slopes, aids.covariances, slopes)
    seen = (_STEADY * by_users + (k - 1) * explained.var(axis=1, ddof=1)) / (_STEADY + k - 1)
    own = np.maximum(seen - by_users, 0)

    plain = np.where(chosen, scores, 0.0).sum(axis=1) / sizes
    middle = np.where(chosen, explained, 0.0).sum(axis=1) / sizes
    one = np.where(chosen, np.where(chosen, scores, 0.0) - plain[:, None], 0.0)
    other = np.where(chosen, explained - middle[:, None], 0.0)
    common = np.einsum("si,si->s", slopes, shared)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = (_STEADY * common + (one * other).sum(axis=1)) / (
            _STEADY * (common + own) + (other**2).sum(axis=1)
        )
    weights = np.clip(np.nan_to_num(weights), 0, 1)

    # What is left to vary, with an allowance for slopes that are estimated from so many users.
    def left_over(weights: Floats) -> tuple[Floats, Floats]:
        ones = np.ones((len(weights), 1))
        return moments.variance_of(np.concatenate([ones, -weights[:, None] * slopes], axis=1))

    rank = np.linalg.matrix_rank(spread, hermitian=True, rtol=_SINGULAR)
    freedom = left_over(weights)[1]
    weights = np.where(freedom > rank + 1, weights, 0.0)
    users, freedom = left_over(weights)
    corrected = weights > 0
    spare = np.where(corrected, np.maximum(freedom - rank, 1), freedom)
    off = (np.where(chosen[:, None, :], of_folds, 0.0).sum(axis=2) / sizes[:, None]) - (
        of_folds.mean(axis=1)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        leverage = np.einsum("si,sij,sj->s", off, inverse, off) / (1 / sizes - 1 / k) / spare
    leverage = np.where(sizes < k, np.nan_to_num(leverage), 0.0)
    users = users * (freedom / spare + weights**2 * leverage) + weights**2 * own

    rest = one - weights[:, None] * other
    squares = (rest**2).sum(axis=1)
    squares[squares <= (_ROUNDING * np.abs(plain)) ** 2] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.where(sizes > 1, squares / (sizes - 1), np.nan)
    means = plain - weights * (middle - explained.mean(axis=1))
    means[sizes == k] = plain[sizes == k]
    return Adjusted(
        means=means,
        weights=weights,
        variance=FoldVariance(sizes=sizes, users=users, users_freedom=spare, observed=observed),
    )
