"""Per-user scores of algorithms under several splits -> their scores, had other users come.

Users are drawn, each with all folds, and the same users for every algorithm under every split:
scores of the same user are alike, and so orders and swaps stay comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.significance import RESAMPLES, bootstrap_means
from ecv_core.records.arrays import Floats
from ecv_core.records.run import UserScores

UserCube = NDArray[np.float32]
"""Scores of algorithms in folds for users; shape (algorithms, folds, users), NaN where absent."""


def user_cube(scores: Sequence[Mapping[int, UserScores]], metric: str, n_users: int) -> UserCube:
    """Put the per-user scores of several algorithms under one split into an array.

    Args:
        scores: For each algorithm its per-user scores by fold; the same folds for all.
        metric: As in UserScores.metrics.
        n_users: Users of the dataset, or one more than the largest code that occurs.

    Returns:
        Shape (algorithms, folds, n_users); NaN where not every algorithm has a score of the user in
        the fold.
    """
    folds = sorted(scores[0])
    cube = np.full((len(scores), len(folds), n_users), np.nan, dtype=np.float32)
    for row, scores_by_fold in enumerate(scores):
        for column, fold in enumerate(folds):
            user_scores = scores_by_fold[fold]
            cube[row, column, user_scores.users] = user_scores.of(metric)
    # Algorithms are compared on the same users: a score that one of them lacks counts for none.
    cube[:, np.isnan(cube).any(axis=0)] = np.nan
    return cube


def resampled_scores(cubes: Sequence[UserCube], *, resamples: int = RESAMPLES) -> list[Floats]:
    """Work out every algorithm's score for users drawn with replacement.

    A score is the mean over folds of the mean over users. The same users are drawn for all
    algorithms under all splits.

    Args:
        cubes: One for each split, as `user_cube` makes it: shape (algorithms, folds, users).
        resamples: How many bootstrap samples.

    Returns:
        For each split, shape (algorithms, resamples); a fold none of whose users is drawn does not
        count, and NaN is left where that is so in every fold.
    Source: Efron (1979), with the user as the unit.
    """
    if not cubes:
        return []
    # A fold's mean over the users drawn is a ratio: the sum of their scores over the number of
    # users that have one. Both are means over all users drawn, if a missing score counts as 0, and
    # if a user with a score counts as 1 and any other as 0. So each split has a block of rows, with
    # a column for every user: a row of scores for every algorithm and fold, then a row of 1 and 0
    # for every fold. All blocks are drawn at once, so that the users are the same.
    blocks = []
    # A cube has the scores under one split; its shape is (algorithms, folds, users).
    for cube in cubes:
        scores = np.nan_to_num(cube, nan=0.0).astype(np.float64)
        has_score = ~np.isnan(cube[0])  # a score is missing of all algorithms or of none
        blocks.append(np.concatenate([scores.reshape(-1, cube.shape[-1]), has_score]))
    means_of_rows = bootstrap_means(np.concatenate(blocks), resamples=resamples)
    block_ends = np.cumsum([len(block) for block in blocks])
    means_of_blocks = np.split(means_of_rows, block_ends[:-1])
    samples = []
    for cube, means in zip(cubes, means_of_blocks, strict=True):
        algorithms, folds, _ = cube.shape
        mean_scores = means[:-folds].reshape(algorithms, folds, resamples)
        shares_with_score = means[-folds:]
        is_counted = shares_with_score > 0  # a sample may have no user of a fold
        with np.errstate(invalid="ignore", divide="ignore"):
            fold_means = np.where(is_counted, mean_scores / shares_with_score, 0.0)
            samples.append(fold_means.sum(axis=1) / is_counted.sum(axis=0))
    return samples


def percentile_interval(samples: Floats) -> tuple[Floats, Floats]:
    """Find the ends of the 95 % percentile interval over the last axis.

    Args:
        samples: Shape (..., resamples); NaN does not count.

    Returns:
        The lower and the upper ends, each of shape (...); NaN where there is no sample.
    """
    has_samples = ~np.isnan(samples).all(axis=-1)  # Without any sample, numpy would warn.
    ends = np.full((2, *has_samples.shape), np.nan)
    if has_samples.any():
        ends[:, has_samples] = np.nanquantile(samples[has_samples], [0.025, 0.975], axis=-1)
    low, high = ends
    return low, high
