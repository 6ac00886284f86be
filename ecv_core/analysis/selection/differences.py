"""Scores of two contenders on the same folds -> their difference, and how far off it can be.

The target is the difference of the two k-fold means: the k folds are a finite population, so after
e of them the distance to it has the variance s2 * (1/e - 1/k), with s2 the variance of one fold's
difference (`user_variance` of the users' paired differences). What the fold means
themselves show moderates s2 (Smyth 2004, section 3):

    s2 = (d0 * users' level + (e - 1) * variance of the fold differences) / (d0 + e - 1)

with Student's t of d0 + e - 1 degrees of freedom. The users' level knows nothing of what all users
of a fold share, such as the luck of a training; d0 says how far it can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import user_variance

PRIOR_FREEDOM_RANDOM = 2
"""d0 where one of the two draws random numbers: its training noise is shared by all users."""
PRIOR_FREEDOM = 16
"""d0 where neither does: only the luck of the partition is shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One contender minus another after some folds; of which sign is better is not known here."""

    mean: float
    """Difference of the two means over the folds both have run."""
    variance: float
    """s2: of the difference in one fold; NaN where it cannot be known."""
    freedom: float
    """Degrees of freedom of Student's t that belong to it."""
    folds: int
    """e: folds that both have run."""

    def half_width(self, level: float, k: int | None) -> float:
        """How far the difference of the k-fold means can be from `mean` on one side.

        Args:
            level: probability that it is farther, in (0, 1).
            k: folds in all; None for the difference on new data of the same kind, where the folds
                are a sample of endlessly many.
        Returns: 0 once all k folds are in; infinite where the variance cannot be known.
        """
        if k == self.folds:
            return 0.0
        if np.isnan(self.variance) or self.freedom < 1:
            return np.inf
        left = 1 / self.folds - (0.0 if k is None else 1 / k)
        return _reach(self.freedom, level) * float(np.sqrt(self.variance * left))


@lru_cache(maxsize=4096)
def _reach(freedom: float, level: float) -> float:
    return -float(stdtrit(freedom, level))


class Differences(Protocol):
    """What a selection asks of its contenders' scores."""

    def between(self, one: int, other: int, folds: int) -> Difference:
        """Scores `one` minus contender `other`.

        Args:
            one: place of a contender.
            other: place of another.
            folds: bits of the folds that both have run, at least one.
        """

    def mean(self, one: int, folds: int) -> float:
        """A contender's mean over these folds."""


def moderated(users: float, folds: NDArray[np.float64], *, random: bool) -> tuple[float, float]:
    """Variance and degrees of freedom of one fold's difference; see the module.

    Args:
        users: the users' level; NaN where there are no scores per user.
        folds: the difference of the two means in each fold, at least one.
        random: whether one of the two contenders draws random numbers.
    """
    more = len(folds) - 1
    seen = float(folds.var(ddof=1)) if more else 0.0
    if np.isnan(users):
        return (seen if more else np.nan), more
    trust = PRIOR_FREEDOM_RANDOM if random else PRIOR_FREEDOM
    return (trust * users + more * seen) / (trust + more), trust + more


class PairedScores:
    """Differences from the contenders' scores as they are now, one set of folds at a time."""

    def __init__(self, contenders: Sequence[Scores]) -> None:
        self._contenders = contenders
        self._levels: dict[tuple[int, int, int], Difference] = {}

    def between(self, one: int, other: int, folds: int) -> Difference:
        if one > other:
            found = self.between(other, one, folds)
            return Difference(
                mean=-found.mean,
                variance=found.variance,
                freedom=found.freedom,
                folds=found.folds,
            )
        key = (one, other, folds)
        if key not in self._levels:
            self._levels[key] = self._computed(*key)
        return self._levels[key]

    def mean(self, one: int, folds: int) -> float:
        return float(self._contenders[one].folds[_indices(folds)].mean())

    def _computed(self, one: int, other: int, folds: int) -> Difference:
        a, b, rows = self._contenders[one], self._contenders[other], _indices(folds)
        by_fold = a.folds[rows] - b.folds[rows]
        users = np.nan
        if a.users is not None and b.users is not None:
            users = paired_variance(a.users, b.users, rows)
        variance, freedom = moderated(users, by_fold, random=a.random or b.random)
        return Difference(
            mean=float(by_fold.mean()), variance=variance, freedom=freedom, folds=len(rows)
        )


class EverySubset:
    """Differences over any set of the k folds, for replaying many orders of complete contenders.

    A pair's variances over all 2^k - 1 sets of folds are worked out when it is first asked for.
    """

    def __init__(self, contenders: Sequence[Scores]) -> None:
        self._contenders = contenders
        self._k = contenders[0].k
        sets = np.arange(1, 2**self._k)
        self._chosen = ((sets[:, None] >> np.arange(self._k)) & 1).astype(np.bool_)
        self._pairs: dict[tuple[int, int], tuple[NDArray[np.float64], ...]] = {}
        size = self._chosen.sum(axis=1)
        self._means = [self._chosen @ one.folds / size for one in contenders]

    def between(self, one: int, other: int, folds: int) -> Difference:
        sign = 1.0
        if one > other:
            one, other, sign = other, one, -1.0
        if (one, other) not in self._pairs:
            self._pairs[one, other] = self._computed(one, other)
        mean, variance, freedom = (part[folds - 1] for part in self._pairs[one, other])
        return Difference(
            mean=sign * float(mean),
            variance=float(variance),
            freedom=float(freedom),
            folds=folds.bit_count(),
        )

    def mean(self, one: int, folds: int) -> float:
        return float(self._means[one][folds - 1])

    def _computed(self, one: int, other: int) -> tuple[NDArray[np.float64], ...]:
        a, b, chosen = self._contenders[one], self._contenders[other], self._chosen
        by_fold = a.folds - b.folds
        more = chosen.sum(axis=1) - 1.0
        mean = chosen @ by_fold / (more + 1)
        # Of the set's folds about the set's mean; the shift by the overall mean keeps the digits.
        about = by_fold - by_fold.mean()
        squares = np.maximum(chosen @ about**2 - (more + 1) * (mean - by_fold.mean()) ** 2, 0.0)
        if a.users is None or b.users is None:
            with np.errstate(invalid="ignore", divide="ignore"):
                return mean, np.where(more > 0, squares / more, np.nan), more
        users = user_variance(a.users - b.users, chosen)[0]
        trust = PRIOR_FREEDOM_RANDOM if a.random or b.random else PRIOR_FREEDOM
        return mean, (trust * users + squares) / (trust + more), trust + more


def paired_variance(
    one: NDArray[np.floating], other: NDArray[np.floating], rows: Sequence[int]
) -> float:
    """`user_variance` of the differences over one set of folds, in one pass over the users.

    Args:
        one: a score per fold and user, NaN where the user has none; shape (folds, users).
        other: likewise, with the same NaN.
        rows: the folds.
    Returns: NaN where it cannot be known, as with one fold of a single user.
    """
    apart = [one[row].astype(np.float64) - other[row] for row in rows]
    present = [~np.isnan(row) for row in apart]
    users = np.array([float(np.count_nonzero(here)) for here in present])
    total, squares, seen = (np.zeros(apart[0].shape) for _ in range(3))
    about = 0.0
    for values, here in zip(apart, present, strict=True):
        values[~here] = 0.0
        total += values
        squares += values * values
        seen += here
        middle = values.sum() / max(np.count_nonzero(here), 1)
        about += float((np.where(here, values - middle, 0.0) ** 2).sum())
    per_fold = users.mean()
    freedom = np.maximum(seen - 1, 0).sum()
    spread = users - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        between = np.float64(about) / np.maximum(spread, 0).sum()
        if freedom == 0:
            return float(between / per_fold)
        within = np.maximum(squares - total * total / np.maximum(seen, 1), 0).sum() / freedom
        common = (seen * (seen - 1) / 2).sum()
        overlap = common / (len(rows) * (len(rows) - 1) / 2) / per_fold
        return float((overlap * within + (1 - overlap) * between) / per_fold)


def _indices(folds: int) -> list[int]:
    return [row for row in range(folds.bit_length()) if folds >> row & 1]
