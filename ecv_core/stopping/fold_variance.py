"""Per-user scores -> how much one fold's mean varies, as users and fold means together tell it.

Two levels vary. Users: each scores a little differently in every fold, and their number says how
much of that is left in a fold's mean. Folds: what all users of a fold have in common, such as the
luck of a training, shows in no spread of users, only in the fold means, of which there are few. See
docs/method.md for the formula, its sources, and what it was measured to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from ecv_core.stopping.user_moments import user_moments

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
