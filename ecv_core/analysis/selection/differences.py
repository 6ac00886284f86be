"""Scores of two contenders on the same folds -> their difference, as users and as folds tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import user_variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One contender minus another after some folds; of which sign is better is not known here."""

    mean: float
    """Difference of the two means over the folds both have run."""
    users: float
    """Variance of one fold's difference as the users' paired differences tell it
    (`stopping.fold_variance.user_variance`); NaN where it cannot be known."""
    observed: float
    """The variance of the folds' differences, n-1 in the denominator; NaN for one fold."""
    folds: int
    """e: folds that both have run."""


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

    def alike(self, one: int, other: int) -> bool:
        """Whether both are configurations of one algorithm."""


def _algorithm(one: Scores) -> str:
    """What a contender is a configuration of; its own name where that is not known."""
    return one.algorithm or one.name.partition(":")[0]


class PairedScores:
    """Differences from the contenders' scores as they are now, one set of folds at a time."""

    def __init__(self, contenders: Sequence[Scores]) -> None:
        self._contenders = contenders
        self._levels: dict[tuple[int, int, int], Difference] = {}

    def between(self, one: int, other: int, folds: int) -> Difference:
        if one > other:
            found = self.between(other, one, folds)
            return replace(found, mean=-found.mean)
        key = (one, other, folds)
        if key not in self._levels:
            self._levels[key] = self._computed(*key)
        return self._levels[key]

    def mean(self, one: int, folds: int) -> float:
        return float(self._contenders[one].folds[_indices(folds)].mean())

    def alike(self, one: int, other: int) -> bool:
        return _algorithm(self._contenders[one]) == _algorithm(self._contenders[other])

    def _computed(self, one: int, other: int, folds: int) -> Difference:
        a, b, rows = self._contenders[one], self._contenders[other], _indices(folds)
        by_fold = a.folds[rows] - b.folds[rows]
        users = np.nan
        if a.users is not None and b.users is not None:
            apart = a.users[rows].astype(np.float64) - b.users[rows]
            users = float(user_variance(apart, np.ones((1, len(rows)), dtype=np.bool_))[0][0])
        observed = float(by_fold.var(ddof=1)) if len(rows) > 1 else np.nan
        mean = float(by_fold.mean())
        return Difference(mean=mean, users=users, observed=observed, folds=len(rows))


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
        mean, users, observed = (float(part[folds - 1]) for part in self._pairs[one, other])
        return Difference(mean=sign * mean, users=users, observed=observed, folds=folds.bit_count())

    def mean(self, one: int, folds: int) -> float:
        return float(self._means[one][folds - 1])

    def alike(self, one: int, other: int) -> bool:
        return _algorithm(self._contenders[one]) == _algorithm(self._contenders[other])

    def _computed(self, one: int, other: int) -> tuple[NDArray[np.float64], ...]:
        a, b, chosen = self._contenders[one], self._contenders[other], self._chosen
        by_fold = a.folds - b.folds
        more = chosen.sum(axis=1) - 1.0
        mean = chosen @ by_fold / (more + 1)
        # Of the set's folds about the set's mean; the shift by the overall mean keeps the digits.
        about = by_fold - by_fold.mean()
        squares = np.maximum(chosen @ about**2 - (more + 1) * (mean - by_fold.mean()) ** 2, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = np.where(more > 0, squares / more, np.nan)
        if a.users is None or b.users is None:
            return mean, np.full(len(mean), np.nan), observed
        return mean, user_variance(a.users - b.users, chosen)[0], observed


def _indices(folds: int) -> list[int]:
    return [row for row in range(folds.bit_length()) if folds >> row & 1]
