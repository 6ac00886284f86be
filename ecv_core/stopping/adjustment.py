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

from ecv_core.records.arrays import AnyFloats, Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.run import UserScores, user_table
from ecv_core.stopping.fold_variance import (
    FoldsOfSets,
    FoldVariance,
    UserMoments,
    VarianceByUsers,
    user_moments,
    variance_of_squared_deviations,
)

_SINGULAR = 1e-8
"""Of the largest, below which directions of the regression do not count."""
_PRIOR_FOLDS = 12.0
"""How many folds the users' part of the cheap models is worth beside the folds seen."""


class CheapModels:
    """Cheap models, all of whose folds are in."""

    def __init__(self, models: Mapping[str, Mapping[int, UserScores]], metric: str) -> None:
        """Of the same folds each.

        Args:
            models: Name -> fold -> per-user scores; at least one, with at least two folds.
            metric: As in UserScores.metrics: 'ndcg@10'.

        Raises:
            InputError: Where they have other folds or users, or not this metric.
        """
        self.names = tuple(models)
        scores_of_first_model = models[self.names[0]]
        self.folds = sorted(scores_of_first_model)
        """The indices of the folds, ascending."""
        for name, scores in models.items():
            folds = sorted(fold for fold, users in scores.items() if metric in users.metrics)
            if folds != self.folds:
                raise InputError(
                    f"to adjust by '{name}', its {metric} for every user in the folds "
                    f"{self.folds} is needed, but it has {folds}; run it with the rule 'never'"
                )
        self.users, _ = user_table(list(scores_of_first_model.values()), metric)
        """The numbers of the users, ascending."""
        # `aligned_table` refuses a model that has not scored the same users in the same folds as
        # the first one.
        table_of_first_model = self._scores_by_fold_and_user(scores_of_first_model, metric)
        self._is_scored = ~np.isnan(table_of_first_model)
        self.values = np.stack([self.aligned_table(scores, metric) for scores in models.values()])
        """Scores, NaN where a user is not in a fold; shape (models, k, users)."""

    def aligned_table(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
        """Per-user scores of some of the folds on these users; NaN elsewhere.

        Returns:
            Shape (k, users).

        Raises:
            InputError: For a fold or a user that the cheap models do not have.
        """
        values = self._scores_by_fold_and_user(scores, metric)
        for fold in scores:
            row = self.folds.index(fold)
            differing = int((np.isnan(values[row]) == self._is_scored[row]).sum())
            if differing:
                raise InputError(self._other_users(fold, f" ({differing:,} differ)"))
        return values

    def _scores_by_fold_and_user(self, scores: Mapping[int, UserScores], metric: str) -> Floats:
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
    def predictors(self) -> Floats:
        """What predicts a dear model's scores: each cheap model's, then each one's user means.

        A user's mean over the folds stands in every fold that has the user.
        Shape (2 * models, k, users).
        """
        # An expensive model's score of a user in a fold is predicted from two numbers of each cheap
        # model: its score of this user in this fold, and its mean for this user over all folds.
        # Arrays have the shape (models, folds, users), as the scores have.
        is_scored = ~np.isnan(self.values)
        sums_over_folds = np.where(is_scored, self.values, 0.0).sum(axis=1)
        scored_folds = is_scored.sum(axis=1)
        user_means = sums_over_folds / np.maximum(scored_folds, 1)
        # The same mean stands in every fold that has the user. A fold may have high scores because
        # its users have high scores in every fold, and their means show that.
        user_mean_in_each_fold = np.where(is_scored, user_means[:, np.newaxis, :], np.nan)
        return np.concatenate([self.values, user_mean_in_each_fold])

    @cached_property
    def fold_means(self) -> Floats:
        """Of `predictors`; shape (2 * models, k)."""
        return np.nanmean(self.predictors, axis=2)

    @cached_property
    def covariances(self) -> Floats:
        """Of these, as the users of all folds tell; shape (2 * models, 2 * models)."""
        set_of_all_folds = np.ones((1, len(self.folds)), dtype=np.bool_)
        return user_moments(self.predictors, set_of_all_folds).covariances[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class AdjustedMeans:
    """What some sets of folds tell of the k-fold mean, corrected; arrays of shape (sets,)."""

    means: Floats
    """Estimates of the k-fold mean; exactly it where a set holds all folds."""
    weights: Floats
    """How far the correction counts, from 0 (the plain mean) to 1."""
    variance: FoldVariance
    """Of one fold's corrected mean."""


def adjusted_means(
    scores: Floats, values: AnyFloats, cheap_models: CheapModels, sets: FoldsOfSets
) -> AdjustedMeans:
    """The k-fold mean of a model as each set of its folds tells it, corrected by cheap models.

    Args:
        scores: The scores of the model's folds; NaN for one in no set. Shape (k,).
        values: A score per fold and user, NaN where the user has nothing held out in the fold, and
            throughout a fold in no set; on the users of `cheap_models`, shape (k, users).
        cheap_models: The cheap models.
        sets: At least one fold in each; shape (sets, k).
    Source: regression estimator, Cochran (1977, chapter 7); control variates with estimated
        coefficients, Lavenberg, Welch (1981).
    """
    # The cheap models ran all folds, and their scores tell how easy each fold is. From these a
    # regression predicts the mean of every fold. In each set of folds, the corrected mean is
    #     mean of the set's scores - weight * (mean prediction in the set - mean prediction of all).
    # Arrays have a row for each set, and where they are of folds a column for each fold.
    moments = _moments_with(cheap_models, values, sets)
    # A covariance that is not known, as of a fold with a single user, predicts nothing.
    regression = _Regression.of(np.nan_to_num(moments.covariances))
    predictions = regression.slopes @ cheap_models.fold_means
    prediction_variance = _prediction_variance_beyond_users(
        predictions, regression.slopes, cheap_models
    )
    plain_means = _set_means(scores, sets)
    predicted_means = _set_means(predictions, sets)
    deviations = np.where(sets, scores - plain_means[:, None], 0.0)
    predicted_deviations = np.where(sets, predictions - predicted_means[:, None], 0.0)
    weights = _weights(moments, regression, prediction_variance, deviations, predicted_deviations)
    # A set of easy folds has a higher mean prediction than all folds, and is corrected downwards.
    # A set of all folds has the k-fold mean itself, to the last digit.
    sizes = sets.sum(axis=1)
    corrections = weights * (predicted_means - predictions.mean(axis=1))
    corrections[sizes == len(scores)] = 0.0
    by_users = _variance_with_estimated_slopes(
        moments, regression, weights, cheap_models.fold_means, sets
    )
    corrected_deviations = deviations - weights[:, None] * predicted_deviations
    variance = FoldVariance(
        sizes=sizes,
        # The weighted prediction itself varies by more than its users explain.
        by_users=by_users.variance + weights**2 * prediction_variance,
        users_freedom=by_users.freedom,
        of_fold_means=variance_of_squared_deviations(
            (corrected_deviations**2).sum(axis=1), sizes, size_of_means=np.abs(plain_means)
        ),
    )
    return AdjustedMeans(means=plain_means - corrections, weights=weights, variance=variance)


def _moments_with(cheap_models: CheapModels, values: AnyFloats, sets: FoldsOfSets) -> UserMoments:
    """Of a dear model, which comes first, and of the predictors of the cheap models.

    Args:
        cheap_models: The cheap models.
        values: The values of the dear model, as for `adjusted_means`.
        sets: Likewise.
    """
    model_and_predictors = np.concatenate([values[None], cheap_models.predictors])
    # Folds in no set have no scores of the dear model.
    is_in_a_set = sets.any(axis=0)
    return user_moments(model_and_predictors[:, is_in_a_set], sets[:, is_in_a_set])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Regression:
    """The dear model's part of a fold's mean regressed on those of the predictors, in each set."""

    slopes: Floats
    """Shape (sets, predictors)."""
    explained: Floats
    """The variance of a fold's mean that the predictors explain; shape (sets,)."""
    inverse: AnyFloats
    """Of the predictors' covariances; shape (sets, predictors, predictors)."""
    rank: Indices
    """Of the same; shape (sets,)."""

    @classmethod
    def of(cls, covariances: Floats) -> _Regression:
        """The regression in each set of folds.

        Args:
            covariances: The covariances of the fold means of model and predictors, the model first;
                shape (sets, 1 + predictors, 1 + predictors).
        """
        # In each set, the first row and the first column are those of the model.
        predictor_covariances = covariances[:, 1:, 1:]
        covariances_with_model = covariances[:, 1:, 0]
        # Predictors that depend on each other leave many slopes that fit equally well. The
        # pseudo-inverse gives the shortest of them.
        inverse = np.linalg.pinv(predictor_covariances, rcond=_SINGULAR, hermitian=True)
        slopes = np.einsum("sij,sj->si", inverse, covariances_with_model)
        return cls(
            slopes=slopes,
            explained=np.einsum("si,si->s", slopes, covariances_with_model),
            inverse=inverse,
            rank=np.linalg.matrix_rank(predictor_covariances, hermitian=True, rtol=_SINGULAR),
        )


def _prediction_variance_beyond_users(
    predictions: Floats, slopes: Floats, cheap_models: CheapModels
) -> Floats:
    """How much more the predictions vary from fold to fold than users explain; shape (sets,).

    It is what all users of a fold share with the cheap models only.

    Args:
        predictions: The predicted fold means; shape (sets, k).
        slopes: Shape (sets, predictors).
        cheap_models: The cheap models.
    """
    # Each set of folds (s) has its own slopes, and by them a prediction of every fold's mean.
    _, k = predictions.shape
    # The prediction is the predictors times the slopes, so its variance is slopes' C slopes in
    # each set, with the covariances C of the predictors.
    by_users = np.einsum("si,ij,sj->s", slopes, cheap_models.covariances, slopes)
    of_fold_means = predictions.var(axis=1, ddof=1)
    # The variance of k fold means is uncertain. A moderated variance takes its place: the mean of
    # it and of what users explain, weighted by degrees of freedom, which are k - 1 of k folds and
    # `_PRIOR_FOLDS` of users.
    moderated = (_PRIOR_FOLDS * by_users + (k - 1) * of_fold_means) / (_PRIOR_FOLDS + k - 1)
    return np.maximum(moderated - by_users, 0)


def _set_means(values: Floats, sets: FoldsOfSets) -> Floats:
    """The mean of the folds of each set.

    Args:
        values: The values of the folds; shape (k,), or (sets, k) where each set has its own.
        sets: Shape (sets, k).
    """
    return np.where(sets, values, 0.0).sum(axis=1) / sets.sum(axis=1)


def _weights(
    moments: UserMoments,
    regression: _Regression,
    prediction_variance: Floats,
    deviations: Floats,
    predicted_deviations: Floats,
) -> Floats:
    """How far the correction counts in each set, from 0 to 1, as users and fold means tell.

    It is the slope of the fold means on the predicted ones: high where the scores of a set's folds
    deviate from their mean in the same way as the predictions do.
    """
    # What users tell counts as much as `_PRIOR_FOLDS` folds.
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = _PRIOR_FOLDS * regression.explained
        covariance += (deviations * predicted_deviations).sum(axis=1)
        variance = _PRIOR_FOLDS * (regression.explained + prediction_variance)
        variance += (predicted_deviations**2).sum(axis=1)
        slopes = covariance / variance
    weights = np.clip(np.nan_to_num(slopes), 0, 1)
    # A correction needs more degrees of freedom than slopes that were estimated.
    freedom_if_corrected = _residual_variance(moments, weights, regression.slopes).freedom
    return np.where(freedom_if_corrected > regression.rank + 1, weights, 0.0)


def _residual_variance(moments: UserMoments, weights: Floats, slopes: Floats) -> VarianceByUsers:
    """Of a fold's mean of the model's scores less the weighted prediction.

    Args:
        moments: The moments of the model and the predictors.
        weights: The weights of the prediction; shape (sets,).
        slopes: Shape (sets, predictors).
    """
    model_weight = np.ones((len(weights), 1))
    predictor_weights = -weights[:, None] * slopes
    return moments.variance_of(np.concatenate([model_weight, predictor_weights], axis=1))


def _variance_with_estimated_slopes(
    moments: UserMoments,
    regression: _Regression,
    weights: Floats,
    fold_means: Floats,
    sets: FoldsOfSets,
) -> VarianceByUsers:
    """The part of the variance of a fold's corrected mean that the users' residuals explain.

    Args:
        moments: The moments of the model and the predictors.
        regression: The regression of each set.
        weights: The weights of the prediction; shape (sets,).
        fold_means: The fold means of the predictors; shape (predictors, k).
        sets: Shape (sets, k).
    """
    residual = _residual_variance(moments, weights, regression.slopes)
    # Each slope that is estimated takes a degree of freedom, where there is a correction, that is
    # where its weight is above 0.
    freedom = np.maximum(residual.freedom - regression.rank, 1)
    freedom = np.where(weights > 0, freedom, residual.freedom)
    # The errors of the slopes add more, the less the folds of a set are like all folds. In a
    # regression this distance is called leverage.
    leverage = _leverage(regression, fold_means, sets, freedom)
    allowance_for_slopes = residual.freedom / freedom + weights**2 * leverage
    return VarianceByUsers(residual.variance * allowance_for_slopes, freedom)


def _leverage(
    regression: _Regression, fold_means: Floats, sets: FoldsOfSets, freedom: Floats
) -> Floats:
    """How much the errors of the slopes add where the folds of a set are unlike all folds.

    Args:
        regression: The regression of each set.
        fold_means: The fold means of the predictors; shape (predictors, k).
        sets: Shape (sets, k).
        freedom: Degrees of freedom that are left beside the slopes; shape (sets,).

    Returns:
        Shape (sets,); 0 for a set of all folds.
    """
    k = sets.shape[1]
    sizes = sets.sum(axis=1)
    set_sums = np.where(sets[:, None, :], fold_means, 0.0).sum(axis=2)
    set_means = set_sums / sizes[:, None]
    distances = set_means - fold_means.mean(axis=1)
    # Squared Mahalanobis distance of each set's means (s) from those of all folds.
    squared_distances = np.einsum("si,sij,sj->s", distances, regression.inverse, distances)
    with np.errstate(invalid="ignore", divide="ignore"):
        # By the finite population correction a set's mean has this share of one fold's variance.
        share_of_variance = 1 / sizes - 1 / k
        leverage = squared_distances / share_of_variance / freedom
    return np.where(sizes < k, np.nan_to_num(leverage), 0.0)
