"""Per-user scores of one or more models on the same folds -> how their fold means vary together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**22
_NORMAL = 1e9
"""Degrees of freedom at which Student's t is the normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserMoments:
    """What the users of some sets of folds tell of several models' fold means.

    Users differ far more from each other than one user does from fold to fold. Where the same users
    come back in every fold their differences cancel, and only the spread within users counts; where
    other users come, the whole spread between users does. So, with the overlap p (the share of a
    fold's users that another fold has too) and n users per fold,

        covariance = (p * within + (1 - p) * between) / n

    `within` is pooled over users with at least two of the folds, `between` over the users of each
    fold. With one fold p is 0, which is on the safe side.
    """

    within: NDArray[np.float64]
    """Pooled covariances of one user's scores from fold to fold; shape (sets, models, models)."""
    between: NDArray[np.float64]
    """Of the users of a fold; shape as `within`."""
    overlap: NDArray[np.float64]
    """p; shape (sets,); 0 where no user has two of the folds."""
    per_fold: NDArray[np.float64]
    """Users per fold; shape (sets,)."""
    freedom_within: NDArray[np.float64]
    freedom_between: NDArray[np.float64]

    @property
    def covariances(self) -> NDArray[np.float64]:
        """Of the fold means; shape (sets, models, models); NaN where they cannot be known."""
        inner, outer = self._shares
        mixed: NDArray[np.float64] = (
            inner[:, None, None] * self.within + outer[:, None, None] * self.between
        )
        return mixed

    def variance_of(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The variance of a fold's mean of a weighted sum of the models' scores.

        Args:
            weights: of each model in each set; shape (sets, models).
        Returns: variances, NaN where they cannot be known, as with one fold of a single user; and
            their degrees of freedom after Satterthwaite (1946), at least 1. Both of shape (sets,).
        """
        inner, outer = (
            # A sum of squares: below 0 only by rounding, where the sum has no variance at all.
            share * np.maximum(np.einsum("si,sij,sj->s", weights, part, weights), 0)
            for share, part in zip(self._shares, (self.within, self.between), strict=True)
        )
        mixed = inner + outer
        among = self.freedom_between
        with np.errstate(invalid="ignore", divide="ignore"):
            satterthwaite = mixed**2 / (inner**2 / self.freedom_within + outer**2 / among)
        paired = (self.freedom_within > 0) & (mixed > 0)
        return mixed, np.clip(np.where(paired, satterthwaite, among), 1, _NORMAL)

    @property
    def _shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.overlap / self.per_fold, (1 - self.overlap) / self.per_fold


def user_moments(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> UserMoments:
    """What the users of each set of folds tell of one or more models.

    Args:
        values: a score per model, fold and user; NaN where the user has nothing held out in the
            fold, the same of every model. Shape (models, folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
    """
    values = np.asarray(values, dtype=np.float64)
    models, folds, _ = values.shape
    present = ~np.isnan(values[0])
    filled = np.where(present, values, 0.0)
    # Users present in the same folds contribute alike, so only these patterns are walked.
    codes = present.T @ (1 << np.arange(folds, dtype=np.int64))
    patterns, which = np.unique(codes, return_inverse=True)
    holds = ((patterns[:, None] >> np.arange(folds)) & 1).astype(np.float64)
    people = np.bincount(which, minlength=len(patterns)).astype(np.float64)
    pairs = np.array(list(itertools.combinations(range(folds), 2)), dtype=np.intp).reshape(-1, 2)
    one, other = pairs.T
    common = (holds[:, one] * holds[:, other]).T @ people
    users = present.sum(axis=1).astype(np.float64)
    means = filled.sum(axis=2) / np.maximum(users, 1)
    about_mean = np.where(present, filled - means[:, :, None], 0.0)

    sets = chosen.astype(np.float64)
    size = sets.sum(axis=1)
    freedom = np.empty(len(sets))
    block = max(1, _BLOCK // max(len(patterns), 1))
    blocks = [slice(start, start + block) for start in range(0, len(sets), block)]
    for part in blocks:
        freedom[part] = np.maximum(sets[part] @ holds.T - 1, 0) @ people
    among = sets @ np.maximum(users - 1, 0)
    per_fold = sets @ users / size
    paired_up = freedom > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        overlap = (sets[:, one] * sets[:, other]) @ common / (size * (size - 1) / 2) / per_fold
    within = np.zeros((len(sets), models, models))
    between = np.empty_like(within)
    for a, b in itertools.combinations_with_replacement(range(models), 2):
        # A user's sum of squares about the mean of n scores is that of all their differences / n.
        apart = np.zeros((len(pairs), len(patterns)))
        for row, (f, g) in enumerate(pairs):
            steps = (filled[a, f] - filled[a, g]) * (filled[b, f] - filled[b, g])
            squares = np.where(present[f] & present[g], steps, 0.0)
            apart[row] = np.bincount(which, weights=squares, minlength=len(patterns))
        for part in blocks:
            paired = sets[part][:, one] * sets[part][:, other]
            seen = np.maximum(sets[part] @ holds.T, 1)
            within[part, a, b] = (paired @ apart / seen).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            within[:, a, b] = np.where(paired_up, within[:, a, b] / freedom, 0.0)
            between[:, a, b] = sets @ (about_mean[a] * about_mean[b]).sum(axis=1) / among
        within[:, b, a], between[:, b, a] = within[:, a, b], between[:, a, b]
    return UserMoments(
        within=within,
        between=between,
        overlap=np.where(paired_up, overlap, 0.0),
        per_fold=per_fold,
        freedom_within=freedom,
        freedom_between=among,
    )
