"""Predictions and what came true -> prediction errors: log loss, and MAE and RMSE of ratings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def log_loss(log_odds: ArrayLike, chosen: ArrayLike) -> Floats:
    """-log of the probability that a model gave to what happened.

    Args:
        log_odds: of an interaction, log(p / (1 - p)); any shape, any finite size.
        chosen: 1 or True where there is one; same shape.
    Returns: same shape, in nats, not negative; log 2 where p is one half.
    Source: Good (1952); as binary cross-entropy in He et al. (2017).
    """
    odds = np.asarray(log_odds, dtype=np.float64)
    # log(1 + exp(x)) without overflow.
    return np.logaddexp(0.0, np.where(np.asarray(chosen, dtype=bool), -odds, odds))


def errors_by_user(
    predicted: ArrayLike,
    given: ArrayLike,
    users: ArrayLike,
    own: Mapping[str, Floats] = MappingProxyType({}),
) -> tuple[NDArray[np.int32], dict[str, Floats], dict[str, float]]:
    """MAE and RMSE over all ratings of a fold, and what each user adds to them.

    Both are ratios of sums over users, so they are no mean of users' own. What a user adds is
    linearized: with s_u the user's sum of (absolute, squared) errors, n_u ratings, m users and N
    ratings in all, the mean error is E = sum s_u / N, and

        z_u = f(E) + f'(E) * (s_u - n_u * E) / (N / m)

    with f the identity, or the root for RMSE. The mean of z_u over users is f(E) exactly, and the
    variance of that mean is that of a ratio, ratings grouped by user (delta method).

    Args:
        predicted: ratings as a model predicts them; shape (ratings,), at least one.
        given: ratings as users gave them; shape (ratings,).
        users: whose they are, codes; shape (ratings,).
        own: other errors of each rating, whose mean counts as MAE's does; shape (ratings,).
    Returns: the users, ascending; z_u by metric, of shape (users,); each metric over all ratings.
    Source: Cochran (1977), Sampling Techniques, section 6.4, for the ratio; Herlocker et al. (2004)
        for the metrics.
    """
    error = np.asarray(predicted, dtype=np.float64) - np.asarray(given, dtype=np.float64)
    whose, codes, counts = np.unique(users, return_inverse=True, return_counts=True)
    per_user = len(error) / len(whose)
    parts: dict[str, Floats] = {}
    pooled: dict[str, float] = {}
    for name, losses in {"rmse": error**2, "mae": np.abs(error), **own}.items():
        sums = np.bincount(codes, weights=losses)
        mean = float(losses.mean())
        pooled[name] = float(np.sqrt(mean)) if name == "rmse" else mean
        slope = 1.0 if name != "rmse" else 0.5 / pooled[name] if mean > 0 else 0.0
        parts[name] = pooled[name] + slope * (sums - counts * mean) / per_user
    return whose.astype(np.int32), parts, pooled
