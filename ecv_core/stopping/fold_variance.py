"""Per-user scores -> how much one fold's mean varies, as any set of folds estimates it."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**22


def fold_variance(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The variance of one fold's mean score about the k-fold mean, as each set of folds tells it.

    Users differ far more from each other than one user does from fold to fold. Where the same users
    come back in every fold their differences cancel, and only the spread within users counts; where
    other users come, the whole spread between users does. So, with the overlap p (the share of a
    fold's users that another fold has too) and n users per fold,

        variance = (p * within + (1 - p) * between) / n

    `within` is pooled over users with at least two of the folds, `between` over the users of each
    fold. With one fold p is 0, which is on the safe side.

    Args:
        values: a score per fold and user, NaN where the user has nothing held out in the fold;
            shape (folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
    Returns: shape (sets,); NaN where it cannot be known, as with one fold of a single user.
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
    pairs = np.array(list(itertools.combinations(range(folds), 2)), dtype=np.intp).reshape(-1, 2)
    one, other = pairs.T
    # A user's sum of squares about the mean of n scores is that of all their differences over n.
    apart = np.zeros((len(pairs), len(patterns)))
    for row, (f, g) in enumerate(pairs):
        squares = np.where(present[f] & present[g], (filled[f] - filled[g]) ** 2, 0.0)
        apart[row] = np.bincount(which, weights=squares, minlength=len(patterns))
    common = (holds[:, one] * holds[:, other]).T @ people
    users = present.sum(axis=1).astype(np.float64)
    means = filled.sum(axis=1) / np.maximum(users, 1)
    about_mean = np.where(present, (values - means[:, None]) ** 2, 0.0).sum(axis=1)

    found = np.empty(len(chosen))
    block = max(1, _BLOCK // max(len(patterns), 1))
    for start in range(0, len(chosen), block):
        sets = chosen[start : start + block].astype(np.float64)
        size = sets.sum(axis=1)
        paired = sets[:, one] * sets[:, other]
        seen = sets @ holds.T
        per_fold = sets @ users / size
        with np.errstate(invalid="ignore", divide="ignore"):
            freedom = np.maximum(seen - 1, 0) @ people
            within = (paired @ apart / np.maximum(seen, 1)).sum(axis=1) / freedom
            between = (sets @ about_mean) / (sets @ np.maximum(users - 1, 0))
            overlap = (paired @ common) / (size * (size - 1) / 2) / per_fold
            mixed = overlap * within + (1 - overlap) * between
            known = np.where(freedom > 0, mixed, between)
            found[start : start + block] = known / per_fold
    return found
