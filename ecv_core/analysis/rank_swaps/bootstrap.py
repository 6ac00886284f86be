"""Per-user scores of some algorithms under one split -> their scores, had other users come.

The user is what is drawn: with all folds, under every split and for every algorithm alike, since
scores of the same user are alike. That is what makes orders and swaps comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.significance import RESAMPLES, bootstrap_means
from ecv_core.records import UserScores

__all__ = ["RESAMPLES", "resampled_scores", "user_cube"]


def user_cube(
    scores: Sequence[Mapping[int, UserScores]], metric: str, n_users: int
) -> NDArray[np.float32]:
    """Per-user scores as an array.

    Args:
        scores: per algorithm, fold -> its per-user scores; the same folds for all.
        metric: as in UserScores.metrics.
        n_users: users of the dataset, or one more than the largest code that occurs.
    Returns: shape (algorithms, folds, n_users); NaN where a user is not evaluated in a fold by
        every algorithm.
    """
    folds = sorted(scores[0])
    cube = np.full((len(scores), len(folds), n_users), np.nan, dtype=np.float32)
    for row, by_fold in enumerate(scores):
        for column, fold in enumerate(folds):
            cube[row, column, by_fold[fold].users] = by_fold[fold].of(metric)
    cube[:, np.isnan(cube).any(axis=0)] = np.nan
    return cube


def resampled_scores(
    cubes: Sequence[NDArray[np.float32]], *, resamples: int = RESAMPLES, seed: int = 0
) -> list[NDArray[np.float64]]:
    """Each algorithm's mean over folds of its mean over users, for users drawn with replacement.

    The same users are drawn for all algorithms under all splits.

    Args:
        cubes: one per split, as `user_cube` makes it: shape (algorithms, folds, users).
        resamples: how many bootstrap samples.
        seed: of the draws.
    Returns: per split, shape (algorithms, resamples); a fold none of whose users is drawn does not
        count, and NaN is left where that is so in every fold.
    Source: Efron (1979), with the user as the unit.
    """
    if not cubes:
        return []
    rows = np.concatenate([part for cube in cubes for part in _sums_and_users(cube)])
    drawn = bootstrap_means(rows, resamples=resamples, seed=seed)
    found, at = [], 0
    for cube in cubes:
        algorithms, folds, _ = cube.shape
        middle, end = at + algorithms * folds, at + (algorithms + 1) * folds
        totals, shares = drawn[at:middle].reshape(algorithms, folds, -1), drawn[middle:end]
        known = shares > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(known, totals / shares, 0.0).sum(axis=1) / known.sum(axis=0)
        found.append(means)
        at = end
    return found


def _sums_and_users(cube: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A row of scores per algorithm and fold, and a row per fold with 1 for who is evaluated."""
    scores = np.nan_to_num(cube, nan=0.0).astype(np.float64)
    return scores.reshape(-1, cube.shape[-1]), (~np.isnan(cube[0])).astype(np.float64)
