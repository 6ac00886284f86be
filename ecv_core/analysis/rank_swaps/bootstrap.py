"""Per-user scores of algorithms under several splits -> their scores, had other users come.

Users are drawn, each with all folds, and the same users for every algorithm under every split:
scores of the same user are alike, and so orders and swaps stay comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.orders.outcomes import Floats
from ecv_core.analysis.significance import RESAMPLES, bootstrap_means
from ecv_core.records.run import UserScores

UserCube = NDArray[np.float32]
"""Scores of algorithms in folds for users; shape (algorithms, folds, users), NaN where absent."""


def user_cube(scores: Sequence[Mapping[int, UserScores]], metric: str, n_users: int) -> UserCube:
    """Put the per-user scores of several algorithms under one split into an array.

    Args:
        scores: for each algorithm its per-user scores by fold; the same folds for all.
        metric: as in UserScores.metrics.
        n_users: users of the dataset, or one more than the largest code that occurs.
    Returns: shape (algorithms, folds, n_users); NaN where not every algorithm has a score of the
        user in the fold.
    """
    folds = sorted(scores[0])
    cube = np.full((len(scores), len(folds), n_users), np.nan, dtype=np.float32)
    for of_algorithm, scores_by_fold in zip(cube, scores, strict=True):
        for of_fold, fold in zip(of_algorithm, folds, strict=True):
            user_scores = scores_by_fold[fold]
            of_fold[user_scores.users] = user_scores.of(metric)
    # Algorithms are compared on the same users: a score that one of them lacks counts for none.
    cube[:, np.isnan(cube).any(axis=0)] = np.nan
    return cube


def resampled_scores(cubes: Sequence[UserCube], *, resamples: int = RESAMPLES) -> list[Floats]:
    """Work out every algorithm's score for users drawn with replacement.

    A score is the mean over folds of the mean over users. The same users are drawn for all
    algorithms under all splits.

    Args:
        cubes: one for each split, as `user_cube` makes it: shape (algorithms, folds, users).
        resamples: how many bootstrap samples.
    Returns: for each split, shape (algorithms, resamples); a fold none of whose users is drawn does
        not count, and NaN is left where that is so in every fold.
    Source: Efron (1979), with the user as the unit.
    """
    if not cubes:
        return []
    # Of each split a block: a row of scores for every algorithm and fold, with 0 for users without
    # a score; then a row for every fold, with 1 for users who have one. Their means over the users
    # drawn are a fold's sum of scores and its number of users, both divided by the number of all.
    blocks = []
    for cube in cubes:
        scores = np.nan_to_num(cube, nan=0.0).astype(np.float64)
        has_score = ~np.isnan(cube[0])
        blocks.append(np.concatenate([scores.reshape(-1, cube.shape[-1]), has_score]))
    drawn = bootstrap_means(np.concatenate(blocks), resamples=resamples)
    ends = np.cumsum([len(block) for block in blocks])
    samples = []
    for cube, means in zip(cubes, np.split(drawn, ends[:-1]), strict=True):
        algorithms, folds, _ = cube.shape
        sums = means[:-folds].reshape(algorithms, folds, resamples)
        user_shares = means[-folds:]
        has_users = user_shares > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            fold_means = np.where(has_users, sums / user_shares, 0.0)
            samples.append(fold_means.sum(axis=1) / has_users.sum(axis=0))
    return samples


def percentile_interval(samples: Floats) -> tuple[Floats, Floats]:
    """Find the ends of the 95 % percentile interval over the last axis.

    Args:
        samples: shape (..., resamples); NaN does not count.
    Returns: the lower and the upper ends, each of shape (...); NaN where there is no sample.
    """
    sampled = ~np.isnan(samples).all(axis=-1)
    ends = np.full((2, *sampled.shape), np.nan)
    if sampled.any():
        ends[:, sampled] = np.nanquantile(samples[sampled], [0.025, 0.975], axis=-1)
    low, high = ends
    return low, high
