"""Differences of contenders to one of them -> how far off each can be, and what is lost by it.

Users tell at once how much the difference of two contenders varies from fold to fold because of
them: u. What all users of a fold share with one contender (the luck of a training, of a partition)
comes on top, and only folds show it. So the variance of one fold's difference is moderated as by
Smyth (2004), and its prior is learnt from all contenders together:

    Q  = (a + D q) / (a + D)           folds beyond users, as a multiple of u: q is the mean ratio
                                       s2 / u of the other contenders, D its degrees of freedom
    d  = 1 / (1/d0 + 1/(a + D))
    s2 = (d Q u + (e - 1) s2_own) / (d + e - 1),     Student's t with d + e - 1 degrees of freedom

a says how much is known before any fold was compared (that Q is near 1), d0 how alike contenders
are in it. The mean over all k folds is off by a variance of s2 (1/e - 1/k) (Cochran 1977, 2.5).
No flag says who draws random numbers: in the recorded study the ratio is 0.3 to 2.7 for both kinds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import Floats, user_variance


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

    def __init__(self, contenders: Sequence[Scores], *, before: PairedScores | None = None) -> None:
        """Of these contenders.

        Args: before: of the same with fewer folds, whose differences need not be worked out again.
        """
        self._contenders = contenders
        self._levels: dict[tuple[int, int, int], Difference] = {}
        if before is not None and all(
            np.array_equal(now.folds[there], then.folds[there])
            for now, then in zip(contenders, before._contenders, strict=True)
            if (there := ~np.isnan(then.folds)).any()
        ):
            self._levels = before._levels

    def between(self, one: int, other: int, folds: int) -> Difference:
        if one > other:
            found = self.between(other, one, folds)
            return replace(found, mean=-found.mean)
        key = (one, other, folds)
        if key not in self._levels:
            self._levels[key] = self._computed(*key)
        return self._levels[key]

    def mean(self, one: int, folds: int) -> float:
        return float(self._contenders[one].folds[folds_in(folds)].mean())

    def alike(self, one: int, other: int) -> bool:
        return _algorithm(self._contenders[one]) == _algorithm(self._contenders[other])

    def _computed(self, one: int, other: int, folds: int) -> Difference:
        a, b, rows = self._contenders[one], self._contenders[other], folds_in(folds)
        by_fold = a.folds[rows] - b.folds[rows]
        users = np.nan
        if a.users is not None and b.users is not None:
            apart = a.users[rows].astype(np.float64) - b.users[rows]
            users = float(user_variance(apart, np.ones((1, len(rows)), dtype=np.bool_))[0][0])
        observed = float(by_fold.var(ddof=1)) if len(rows) > 1 else np.nan
        mean = float(by_fold.mean())
        return Difference(mean=mean, users=users, observed=observed, folds=len(rows))


class EverySubset(PairedScores):
    """Differences over any set of the k folds, for replaying many orders of complete contenders.

    A pair's variances over all 2^k - 1 sets of folds are worked out when it is first asked for.
    """

    def __init__(self, contenders: Sequence[Scores]) -> None:
        super().__init__(contenders)
        k = contenders[0].k
        self._chosen = ((np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1).astype(np.bool_)
        self._pairs: dict[tuple[int, int], tuple[Floats, ...]] = {}
        size = self._chosen.sum(axis=1)
        self._means = [self._chosen @ one.folds / size for one in contenders]

    def mean(self, one: int, folds: int) -> float:
        return float(self._means[one][folds - 1])

    def _computed(self, one: int, other: int, folds: int) -> Difference:
        if (one, other) not in self._pairs:
            self._pairs[one, other] = self._of_pair(one, other)
        mean, users, observed = (float(part[folds - 1]) for part in self._pairs[one, other])
        return Difference(mean=mean, users=users, observed=observed, folds=folds.bit_count())

    def _of_pair(self, one: int, other: int) -> tuple[Floats, ...]:
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


def folds_in(folds: int) -> list[int]:
    """The folds of these bits, ascending."""
    return [row for row in range(folds.bit_length()) if folds >> row & 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is taken for known of fold noise before folds have shown it."""

    freedom: float
    """a: degrees of freedom with which it is known that folds add nothing to what users tell."""
    unlike: float
    """d0 of contenders of different algorithms."""
    alike: float
    """d0 of configurations of one algorithm, whose folds behave much the same."""


ANY_NOISE = Prior(freedom=2, unlike=1.9, alike=8)
"""For what has to hold whatever folds add; see docs/selection.md for how far."""
NEW_DATA = Prior(freedom=0.75, unlike=2.2, alike=8)
"""For what is said of new data, where nobody waits for more folds and so little may be supposed."""
USUAL_NOISE = Prior(freedom=3.5, unlike=8, alike=16)
"""For what has to hold on average; its t has a mean, which an expected gain needs."""
NO_NOISE = Prior(freedom=100, unlike=100, alike=100)
"""For whose turn it is: who is near if folds add nothing more than has been seen."""
_ROUNDING = 1e-6
"""Of a difference: what is less is not variation."""
_SHARED = 0.25
"""Squared correlation of two differences to one contender, of equal and independent noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far off differences can be; arrays of one value per contender, shape (contenders,)."""

    means: Floats
    """How far each is behind; negative if it is ahead."""
    variances: Floats
    """Of one fold's difference; NaN where it cannot be known."""
    freedom: Floats
    """Degrees of freedom of Student's t that belong to them."""
    folds: Floats
    """e: folds of each difference."""

    def errors(self, k: int | None) -> Floats:
        """Standard errors: of the k-fold differences; with None on new data, of endless folds."""
        left = 1 / self.folds - (1 / k if k else 0.0)
        error = np.sqrt(self.variances * np.maximum(left, 0))
        error[np.isnan(self.variances) | (self.freedom <= 0)] = np.inf
        error[self.folds == k] = 0.0
        return error

    def half_widths(self, level: float, k: int | None) -> Floats:
        """How far each k-fold difference can be from its mean on one side.

        Args:
            level: probability that it is farther, in (0, 0.5).
            k: folds in all, or None, as of `errors`.
        """
        errors = self.errors(k)
        reach = -stdtrit(np.maximum(self.freedom, 1e-3), level)
        with np.errstate(invalid="ignore"):
            return np.where(errors == 0, 0.0, np.where(np.isinf(errors), np.inf, reach * errors))

    def gains(self, k: int, more: int = 0) -> Floats:
        """What is expected to be lost by passing over each: E[(its mean over k folds - ours)+].

        The opportunity cost of Chick and Inoue (2001), under Student's t.

        Args:
            k: folds in all.
            more: as if so many more folds had been run and had shown the same means.
        """
        left = np.maximum(1 / np.minimum(self.folds + more, k) - 1 / k, 0)
        errors = np.sqrt(self.variances * left)
        errors[self.folds + more >= k] = 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            found = errors * expected_excess(self.means / errors, self.freedom)
        found = np.where(errors == 0, np.maximum(-self.means, 0), found)
        return np.where(np.isnan(errors) | (self.freedom <= 1), np.inf, found)


def spread_of(
    found: Sequence[Difference], alike: Sequence[bool], prior: Prior, sign: float = 1.0
) -> Spread:
    """Differences of one contender to several others, each moderated by what the others show.

    Args:
        found: the one minus each other, of at least one fold.
        alike: of each, whether both are configurations of one algorithm.
        prior: what is taken for known.
        sign: 1 where more is better, else -1.
    """
    parts = [(one.mean, one.users, one.observed, one.folds) for one in found]
    means, users, own, folds = np.array(parts, dtype=np.float64).reshape(-1, 4).T
    return moderated(sign * means, users, own, folds, np.array(alike, dtype=np.bool_), prior)


def moderated(
    means: Floats, users: Floats, own: Floats, folds: Floats, alike: NDArray[np.bool_], prior: Prior
) -> Spread:
    """`spread_of` differences as arrays of shape (..., contenders); each row by itself.

    Args:
        means, users, own, folds: the fields of `Difference`; `own` is what was observed.
        alike, prior: as of `spread_of`.
    """
    more = folds - 1
    usable = (more > 0) & (users > 0)  # False for NaN
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(usable, own / users, 0.0)
    weight = np.where(usable, more, 0.0)
    together = np.minimum(weight[..., None], weight[..., None, :]) * _SHARED
    places = np.arange(weight.shape[-1])
    together[..., places, places] = weight
    # Of all others than each: the sum of weights, of weighted ratios, and their variance.
    rest = weight.sum(axis=-1, keepdims=True) - weight
    ratios = (weight * ratio).sum(axis=-1, keepdims=True) - weight * ratio
    every = together.sum(axis=(-2, -1))[..., None]
    variance = every - 2 * together.sum(axis=-1) + weight
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.where(rest > 0, rest**2 / variance, 0.0)
        q = np.where(rest > 0, ratios / rest, 0.0)
    known = prior.freedom + seen
    extra = (prior.freedom + seen * q) / known
    d = 1 / (1 / np.where(alike, prior.alike, prior.unlike) + 1 / known)
    without = np.isnan(users)
    d[without] = 0.0
    level = np.where(without, 0.0, d * extra * users)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = (level + np.where(more > 0, more * own, 0.0)) / (d + more)
    # Fold scores alone that differ by the same in every fold tell nothing: a zero is not certain.
    variances[without & (own <= (_ROUNDING * means) ** 2)] = np.nan
    return Spread(means=means, variances=variances, freedom=d + more, folds=folds)


def expected_excess(x: Floats, freedom: Floats) -> Floats:
    """E[(T - x)+] of Student's t: what it has above x, on average.

    Args:
        x: any numbers.
        freedom: degrees of freedom, above 1; infinite otherwise.
    Source: integration by parts of t's density f: (v + x^2) / (v - 1) f(x) - x P(T > x).
    """
    x, v = np.asarray(x, dtype=np.float64), np.maximum(freedom, 1.0)
    log = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi)
    density = np.exp(log - (v + 1) / 2 * np.log1p(x * x / v))
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = (v + x * x) / (v - 1) * density - x * stdtr(v, -x)
    return np.where(v > 1, np.maximum(excess, 0.0), np.inf)


@lru_cache(maxsize=256)
def level_of_looks(error: float, k: int, *, endless: bool = False) -> float:
    """The error that each of all looks may have, so that all of them together have `error`.

    After each of the k - 1 folds before the last one looks once. With known variance the
    standardised distances to the mean of all k folds are a Brownian bridge at e/k (to the mean of
    endless folds: Brownian motion, k looks), a Markov chain whose maximum is integrated fold by
    fold. Between 1 and error / looks (Bonferroni); 0.0087 for 0.05 and ten folds, not 0.0056.

    Args:
        error: in (0, 0.5).
        k: folds in all, at least two.
        endless: for statements on new data.
    """
    looks = np.arange(1, k + 1) if endless else np.arange(1, k)
    time = looks / k if endless else looks / (k - looks)
    if len(looks) == 1:
        return error
    # The more folds, the less one look differs from the next, which the grid has to tell apart.
    node, node_weight = np.polynomial.legendre.leggauss(max(96, int(10 * np.sqrt(k))))
    lowest = -9.0

    def beyond(limit: float) -> float:
        x = lowest + (limit - lowest) * (node + 1) / 2
        weight = node_weight * (limit - lowest) / 2
        inside = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        for before, after in itertools.pairwise(time):
            r = np.sqrt(before / after)
            rest = np.sqrt(1 - r * r)
            steps = np.exp(-(((x - r * x[:, None]) / rest) ** 2) / 2) / (rest * np.sqrt(2 * np.pi))
            inside = (inside * weight) @ steps
        return float(1 - (inside * weight).sum() - error)

    from scipy.optimize import brentq  # a fifth of a second, needed only here

    low, high = -float(ndtri(error)), -float(ndtri(error / len(looks)))
    return float(ndtr(-brentq(beyond, low - 1e-6, high + 1e-3)))
