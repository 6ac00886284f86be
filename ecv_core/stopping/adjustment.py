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
from ecv_core.stopping.fold_variance import FoldVariance, UserMoments, user_moments

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
            folds = sorted(fold for fold, users in scores.items() if metric in users.metrics)
            if folds != self.folds:
                raise InputError(
                    f"to adjust by '{name}', its {metric} for every user in the folds "
                    f"{self.folds} is needed, but it has {folds}; run it with the rule 'never'"
                )
        self.users = user_table(list(first.values()), metric)[0]
        self._is_scored = ~np.isnan(self._filled(first, metric))
        self.values = np.stack([self.matrix(scores, metric) for scores in models.values()])

    def matrix(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
        """Per-user scores of some of the folds on these users; NaN elsewhere.

        Returns: shape (k, users).
        Raises: InputError for a fold or a user that the cheap models do not have.
        """
        values = self._filled(scores, metric)
        for fold in scores:
            row = self.folds.index(fold)
            differing = int((np.isnan(values[row]) == self._is_scored[row]).sum())
            if differing:
                raise InputError(self._other_users(fold, f" ({differing:,} differ)"))
        return values

    def _filled(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
        values = np.full((len(self.folds), len(self.users)), np.nan)
        for fold, user_scores in scores.items():
            users, table = user_table([user_scores], metric)
            if fold not in self.folds or not np.isin(users, self.users).all():
                raise InputError(self._other_users(fold))
            values[self.folds.index(fold), np.searchsorted(self.users, users)] = table[0]
        return values

    def _other_users(self, fold: int, how_many: str = "") -> str:
        return (
            f"fold {fold} has other users than the same fold of '{self.names[0]}'{how_many}; "
            "run all models on the same folds"
        )

    @cached_property
    def helpers(self) -> Floats:
        """Their scores, then each user's mean of them in every fold that has the user.

        Shape (2 * models, k, users).
        """
        is_scored = ~np.isnan(self.values)
        sums_over_folds = np.where(is_scored, self.values, 0.0).sum(axis=1)
        scored_folds = is_scored.sum(axis=1)
        user_means = sums_over_folds / np.maximum(scored_folds, 1)
        # A fold is easy also because its users are easy in every fold, which their means tell.
        user_mean_in_each_fold = np.where(is_scored, user_means[:, np.newaxis, :], np.nan)
        return np.concatenate([self.values, user_mean_in_each_fold])

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
    # What the cheap models predict of each fold's mean: Z, by a regression in each set of folds.
    used = chosen.any(axis=0)
    model_and_helpers = np.concatenate([np.asarray(values)[None], aids.helpers])
    moments = user_moments(model_and_helpers[:, used], chosen[:, used])
    regression = _Regression.of(np.nan_to_num(moments.covariances))
    predicted = regression.slopes @ aids.fold_means
    variance_of_folds = _variance_of_folds(predicted, regression.slopes, aids)

    # How far the prediction counts: as far as folds deviate from their mean as predicted.
    plain_means = _means_of(scores, chosen)
    predicted_means = _means_of(predicted, chosen)
    distances = np.where(chosen, scores - plain_means[:, None], 0.0)
    predicted_distances = np.where(chosen, predicted - predicted_means[:, None], 0.0)
    weights = _weights(regression, variance_of_folds, distances, predicted_distances)
    # A correction needs more degrees of freedom than slopes that were estimated.
    _, freedom = _left_over(moments, weights, regression.slopes)
    weights = np.where(freedom > regression.rank + 1, weights, 0.0)

    # What is left to vary, with an allowance for slopes that are estimated from so many users.
    users, freedom = _left_over(moments, weights, regression.slopes)
    degrees_of_freedom = np.where(weights > 0, np.maximum(freedom - regression.rank, 1), freedom)
    leverage = _leverage(regression, aids.fold_means, chosen, degrees_of_freedom)
    users *= freedom / degrees_of_freedom + weights**2 * leverage
    users += weights**2 * variance_of_folds

    # A set of easy folds has a prediction above that of all folds, and is corrected downwards.
    means = plain_means - weights * (predicted_means - predicted.mean(axis=1))
    means[sizes == k] = plain_means[sizes == k]
    corrected_distances = distances - weights[:, None] * predicted_distances
    return Adjusted(
        means=means,
        weights=weights,
        variance=FoldVariance(
            sizes=sizes,
            users=users,
            users_freedom=degrees_of_freedom,
            observed=_variance_of_fold_means(corrected_distances, sizes, plain_means),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Regression:
    """The model's part of a fold's mean regressed on those of the helpers, in each set of folds."""

    slopes: Floats
    """Shape (sets, helpers)."""
    explained: Floats
    """The variance of a fold's mean that the helpers explain; shape (sets,)."""
    inverse: NDArray[np.floating]
    """Of the helpers' covariances; shape (sets, helpers, helpers)."""
    rank: NDArray[np.intp]
    """Of the same; shape (sets,)."""

    @classmethod
    def of(cls, covariances: Floats) -> _Regression:
        """The regression in each set of folds.

        Args:
            covariances: of the fold means of model and helpers, the model first; shape
                (sets, 1 + helpers, 1 + helpers).
        """
        of_helpers = covariances[:, 1:, 1:]
        with_model = covariances[:, 1:, 0]
        inverse = np.linalg.pinv(of_helpers, rcond=_SINGULAR, hermitian=True)
        slopes = np.einsum("sij,sj->si", inverse, with_model)
        return cls(
            slopes=slopes,
            explained=np.einsum("si,si->s", slopes, with_model),
            inverse=inverse,
            rank=np.linalg.matrix_rank(of_helpers, hermitian=True, rtol=_SINGULAR),
        )


def _variance_of_folds(predicted: Floats, slopes: Floats, aids: Aids) -> Floats:
    """How much more Z varies from fold to fold than its users explain; shape (sets,).

    It is what all users of a fold share with the cheap models only.

    Args:
        predicted: the fold means of Z; shape (sets, k).
        slopes: shape (sets, helpers).
        aids: the cheap models.
    """
    k = predicted.shape[1]
    # Z is the helpers times the slopes, so its variance is slopes' C slopes in each set.
    explained_by_users = np.einsum("si,ij,sj->s", slopes, aids.covariances, slopes)
    observed = predicted.var(axis=1, ddof=1)
    # The variance of k fold means is rough, so it is drawn towards what users explain.
    steadied = (_STEADY * explained_by_users + (k - 1) * observed) / (_STEADY + k - 1)
    return np.maximum(steadied - explained_by_users, 0)


def _means_of(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The mean of the folds of each set.

    Args:
        values: of the folds; shape (k,), or (sets, k) where each set has its own.
        chosen: the folds of each set; shape (sets, k).
    """
    return np.asarray(np.where(chosen, values, 0.0).sum(axis=1) / chosen.sum(axis=1))


def _weights(
    regression: _Regression, of_folds: Floats, distances: Floats, predicted_distances: Floats
) -> Floats:
    """How far the correction counts in each set, from 0 to 1, as users and fold means tell."""
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = _STEADY * regression.explained + (distances * predicted_distances).sum(axis=1)
        variance = _STEADY * (regression.explained + of_folds)
        variance += (predicted_distances**2).sum(axis=1)
        weights = covariance / variance
    return np.clip(np.nan_to_num(weights), 0, 1)


def _left_over(moments: UserMoments, weights: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """The variance of a fold's corrected mean by users, and its degrees of freedom."""
    own_weight = np.ones((len(weights), 1))
    aid_weights = -weights[:, None] * slopes
    return moments.variance_of(np.concatenate([own_weight, aid_weights], axis=1))


def _leverage(
    regression: _Regression,
    fold_means: Floats,
    chosen: NDArray[np.bool_],
    degrees_of_freedom: Floats,
) -> Floats:
    """How much the errors of the slopes add where the folds of a set are unlike all folds.

    Args:
        regression: of each set.
        fold_means: of the helpers; shape (helpers, k).
        chosen: the folds of each set; shape (sets, k).
        degrees_of_freedom: that are left beside the slopes; shape (sets,).
    Returns: shape (sets,); 0 for a set of all folds.
    """
    k = chosen.shape[1]
    sizes = chosen.sum(axis=1)
    set_sums = np.where(chosen[:, None, :], fold_means, 0.0).sum(axis=2)
    set_means = set_sums / sizes[:, None]
    distances = set_means - fold_means.mean(axis=1)
    # Squared Mahalanobis distance of each set's means (s) from those of all folds.
    squared_distances = np.einsum("si,sij,sj->s", distances, regression.inverse, distances)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = 1 / sizes - 1 / k
        leverage = squared_distances / expected / degrees_of_freedom
    return np.where(sizes < k, np.nan_to_num(leverage), 0.0)


def _variance_of_fold_means(
    distances: Floats, sizes: NDArray[np.intp], plain_means: Floats
) -> Floats:
    """The variance of corrected fold means, n-1 in the denominator; NaN for one fold.

    Args:
        distances: of each fold from its set's mean, 0 for a fold of another; shape (sets, k).
        sizes: of the sets.
        plain_means: of the sets, against which rounding is told.
    """
    squares = (distances**2).sum(axis=1)
    squares[squares <= (_ROUNDING * np.abs(plain_means)) ** 2] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sizes > 1, squares / (sizes - 1), np.nan)
