"""Predictions and what came true -> prediction errors per user: log loss, MAE, RMSE."""

from __future__ import annotations

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


def mae(predicted: ArrayLike, given: ArrayLike, users: ArrayLike) -> Floats:
    """Mean absolute error of each user's predicted ratings.

    Args:
        predicted: ratings as a model predicts them; shape (ratings,).
        given: ratings as users gave them; shape (ratings,).
        users: whose they are, codes from 0, each at least once; shape (ratings,).
    Returns: in units of the rating; shape (users,).
    Source: Herlocker et al. (2004).
    """
    return _per_user(np.abs(_errors(predicted, given)), users)


def rmse(predicted: ArrayLike, given: ArrayLike, users: ArrayLike) -> Floats:
    """Root of the mean squared error of each user's predicted ratings; arguments as for `mae`.

    Returns: in units of the rating; shape (users,).
    Source: Herlocker et al. (2004).
    """
    root: Floats = np.sqrt(_per_user(_errors(predicted, given) ** 2, users))
    return root


def _errors(predicted: ArrayLike, given: ArrayLike) -> Floats:
    error: Floats = np.asarray(predicted, dtype=np.float64) - np.asarray(given, dtype=np.float64)
    return error


def _per_user(values: Floats, users: ArrayLike) -> Floats:
    codes = np.asarray(users, dtype=np.intp)
    means: Floats = np.bincount(codes, weights=values) / np.bincount(codes)
    return means
