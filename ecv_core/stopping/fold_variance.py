"""Per-user scores -> how much the mean score of one fold varies, estimated from any set of folds."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

SEEN_TWICE = 0.9
"""Share of the users that must be in two of the folds for their own spread to be used."""
_BLOCK = 2**22


def fold_variance(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The variance of one fold's mean score over its users, as each set of folds estimates it.

    Users differ far more from each other than one user does from fold to fold, and the same users
    come back in every fold, so their differences cancel. Hence the spread within users, pooled over
    those with at least two of the folds, divided by the mean number of users of a fold. Where fewer
    than 90 % of the users have two folds, so with one fold always, the spread between the users of
    a fold stands in, which is larger.

    Args:
        values: a score per fold and user, NaN where the user has nothing held out in the fold;
            shape (folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
    Returns: shape (sets,); NaN where even that cannot be known (a fold of a single user).
    """
    values = np.asarray(values, dtype=np.float64)
    folds = len(values)
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    # Users present in the same folds contribute alike, so only these patterns are walked.
    codes = present.T @ (1 << np.arange(folds, dtype=np.int64))
    patterns, which = np.unique(codes, return_inverse=True)
    holds = ((patterns[:, None] >> np.arange(folds)) & 1).astype(np.float64)
    people = np.bincount(which, minlength=len(patterns)).astype(np.float64)
    pairs = list(itertools.combinations(range(folds), 2))
    # A user's sum of squares about the mean of n scores is that of all their differences over n.
    apart = np.zeros((len(pairs), len(patterns)))
    for row, (one, other) in enumerate(pairs):
        both = present[one] & present[other]
        squares = np.where(both, (filled[one] - filled[other]) ** 2, 0.0)
        apart[row] = np.bincount(which, weights=squares, minlength=len(patterns))
    users = present.sum(axis=1).astype(np.float64)
    means = filled.sum(axis=1) / np.maximum(users, 1)
    between = np.where(present, (values - means[:, None]) ** 2, 0.0).sum(axis=1)

    estimates = np.empty(len(chosen))
    block = max(1, _BLOCK // max(len(patterns), 1))
    for start in range(0, len(chosen), block):
        sets = chosen[start : start + block].astype(np.float64)
        if pairs:
            one, other = np.array(pairs).T
            squares = (sets[:, one] * sets[:, other]) @ apart
        else:
            squares = np.zeros((len(sets), len(patterns)))
        seen = sets @ holds.T
        freedom = np.maximum(seen - 1, 0) @ people
        within = (squares / np.maximum(seen, 1)).sum(axis=1)
        twice = (seen >= 2) @ people
        once = (seen >= 1) @ people
        with np.errstate(invalid="ignore", divide="ignore"):
            user_variance = np.where(
                twice >= np.maximum(SEEN_TWICE * once, 1),
                within / freedom,
                (sets @ between) / (sets @ (users - 1)),
            )
            estimates[start : start + block] = user_variance / (sets @ users / sets.sum(axis=1))
    return estimates
