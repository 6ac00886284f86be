"""Per-user scores -> how much one fold's mean varies, as users and fold means together tell it.

Two levels vary. Users: each scores a little differently in every fold, and their number says how
much of that is left in a fold's mean. Folds: what all users of a fold have in common, such as the
luck of a training, shows in no spread of users, only in the fold means, of which there are few. See
docs/method.md for the formula, its sources, and what it was measured to hold.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

# Per-user scores of one or more models on the same folds -> how their fold means vary together.


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


UNSTABLE = 0.01
"""Fold means that differ so much with at most this probability by users alone are unstable."""
ONE_FOLD = 11.0
"""Variance allowed after one fold of a model that draws random numbers, in that of its users."""
TRUST = {False: 12.0, True: 0.75}
"""How many folds the users' part is worth beside the folds seen, by `random`."""
_USERS = 4.25
"""Without randomness the users' part counts as known from that many folds besides the e seen."""
_MOST_FREEDOM = 4.0
"""Of a model that draws random numbers: a rule that looks after each fold stops at a lucky one."""
_UNSTABLE_FREEDOM = 2.0
"""An unstable training has folds far from the others, as no normal distribution has."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldVariance:
    """What some sets of folds tell of the variance of one fold's mean; arrays of shape (sets,)."""

    sizes: NDArray[np.intp]
    """Folds in each set, at least one."""
    users: NDArray[np.float64]
    """The part that users explain; NaN where it cannot be known, as with one fold of one user."""
    users_freedom: NDArray[np.float64]
    """Degrees of freedom of that part."""
    observed: NDArray[np.float64]
    """The variance of the fold means, n-1 in the denominator; NaN for one fold."""
    random: bool
    """Whether the model draws random numbers, so that its training may add a part of its own."""

    @property
    def p_values(self) -> NDArray[np.float64]:
        """How likely fold means differ as much as observed by users alone; NaN for one fold."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = self.observed / self.users
            likely = fdtrc(np.maximum(self.sizes - 1, 1), self.users_freedom, ratio)
        unclear = np.isnan(ratio)
        return np.where(unclear, np.nan, np.where(np.isinf(ratio), 0.0, likely))

    def half_widths(self, k: int, confidence: float) -> NDArray[np.float64]:
        """How far the mean of each set is from that of all k folds, with this confidence.

        The k folds are a finite population: the distance has the variance v * (1/e - 1/k).

        Args:
            k: folds in all, at least as many as in any set.
            confidence: in (0, 1).
        Returns: exactly 0 for all k folds; NaN where it cannot be known.
        """
        variance, freedom = self.at(confidence)
        left = np.maximum(1 / self.sizes - 1 / k, 0)
        half = _reach(freedom, confidence) * np.sqrt(variance * left)
        half[self.sizes == k] = 0.0
        return half

    def at(self, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The variance of one fold's mean, with the degrees of freedom of Student's t beside it.

        Of what users tell, what both levels tell, and what an unstable training leaves, the one
        with the widest interval at this confidence.

        Args:
            confidence: in (0, 1).
        Returns: variances, NaN where they cannot be known, and their degrees of freedom.
        """
        seen = self.sizes - 1.0
        known = self.users_freedom
        trust = np.minimum(TRUST[self.random], known)
        if self.random:
            alone = np.where(seen > 0, self.users, ONE_FOLD * self.users), known
            freedom = np.minimum(trust + seen, _MOST_FREEDOM)
        else:
            alone = self.users, np.minimum(_USERS + self.sizes, known)
            freedom = trust + seen
        spread = np.where(seen > 0, self.observed, 0.0)
        both = (trust * self.users + seen * spread) / (trust + seen), freedom
        unstable = self.p_values < UNSTABLE  # False where there is but one fold
        folds = np.where(unstable, spread, 0.0), np.clip(seen, 1.0, _UNSTABLE_FREEDOM)
        variance, freedom = alone
        for other, its in (both, folds):
            # One fold of a model that draws random numbers has its allowance, and nothing else.
            counts = (seen > 0) | (not self.random)
            wider = counts & (
                _reach(its, confidence) ** 2 * other > _reach(freedom, confidence) ** 2 * variance
            )
            variance, freedom = np.where(wider, other, variance), np.where(wider, its, freedom)
        return variance, freedom


def fold_variance(
    values: NDArray[np.floating], chosen: NDArray[np.bool_], *, random: bool
) -> FoldVariance:
    """The variance of one fold's mean about the mean of all folds, as each set of folds tells it.

    Args:
        values: a score per fold and user, NaN where the user has nothing held out in the fold; or
            the differences of two models' scores. Shape (folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
        random: whether a model (of two, either) draws random numbers in training.
    """
    scores: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    users, freedom = user_variance(scores, chosen)
    return FoldVariance(
        sizes=chosen.sum(axis=1),
        users=users,
        users_freedom=freedom,
        observed=_observed(scores, chosen),
        random=random,
    )


def user_variance(
    values: NDArray[np.floating], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The part of the variance of a fold's mean that its users explain; see `UserMoments`.

    Args: as for `fold_variance`.
    Returns: as `UserMoments.variance_of`.
    """
    one = np.ones((len(chosen), 1))
    return user_moments(np.asarray(values)[None], chosen).variance_of(one)


def _observed(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The variance of the fold means of each set, n-1 in the denominator; NaN for one fold."""
    present = ~np.isnan(values)
    totals: NDArray[np.float64] = np.where(present, values, 0.0).sum(axis=1)
    levels = totals / np.maximum(present.sum(axis=1), 1)
    digits = _ROUNDING * np.abs(levels).max()
    means: NDArray[np.float64] = levels - levels.mean()
    sizes = chosen.sum(axis=1)
    sets = chosen.astype(np.float64)
    middles = sets @ means / sizes
    squares = (sets * (means - middles[:, None]) ** 2).sum(axis=1)
    squares[squares <= digits**2] = 0.0  # equal means that only rounding keeps apart
    with np.errstate(invalid="ignore", divide="ignore"):
        observed: NDArray[np.float64] = np.where(sizes > 1, squares / (sizes - 1), np.nan)
    return observed


def _reach(freedom: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """How many standard errors an interval of Student's t reaches to each side."""
    reach: NDArray[np.float64] = -np.asarray(stdtrit(freedom, (1 - confidence) / 2), np.float64)
    return reach
