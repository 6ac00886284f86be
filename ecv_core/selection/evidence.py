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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from ecv_core.analysis.orders.subsets import moments_by_mask
from ecv_core.records.arrays import Floats, Mask
from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import user_variance, user_variance_over_all_folds


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One contender minus another after some folds; of which sign is better is not known here."""

    mean: float
    """Difference of the two means over the folds both have run."""
    user_variance: float
    """Variance of one fold's difference as the users' paired differences tell it
    (`stopping.fold_variance.user_variance`); NaN where it cannot be known."""
    fold_variance: float
    """The variance of the folds' differences, n-1 in the denominator; NaN for one fold."""
    folds: int
    """e: folds that both have run."""


def _algorithm(contender: Scores) -> str:
    """What a contender is a configuration of; its own name where that is not known."""
    name, _, _ = contender.name.partition(":")
    return contender.algorithm or name


class Differences(ABC):
    """What a selection asks of its contenders' scores.

    Contenders are named by their places; a set of folds is a number with one bit per fold. A
    difference is worked out once for each set, when it is first asked for.
    """

    def __init__(self) -> None:
        self._differences: dict[tuple[int, int, int], Difference] = {}
        """(contender, other, set of folds) -> what was worked out before."""

    @abstractmethod
    def scores(self, contender: int, folds: Sequence[int]) -> Floats:
        """A contender's scores in these folds, which it has run; shape (folds,)."""

    @abstractmethod
    def same_algorithm(self, contender: int, other: int) -> bool:
        """Whether both are configurations of one algorithm."""

    @abstractmethod
    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        """`Difference.user_variance` over these folds, which both have run."""

    def between(self, contender: int, other: int, fold_bits: int) -> Difference:
        """Scores of a contender minus those of another.

        Args:
            contender: Its place.
            other: Place of the other.
            fold_bits: The folds that both have run, at least one.
        """
        if contender > other:  # each pair is kept once, with the lower place first
            reverse = self.between(other, contender, fold_bits)
            return replace(reverse, mean=-reverse.mean)
        key = (contender, other, fold_bits)
        if key not in self._differences:
            self._differences[key] = self._difference(contender, other, fold_bits)
        return self._differences[key]

    def mean(self, contender: int, fold_bits: int) -> float:
        """A contender's mean over these folds."""
        return float(self.scores(contender, folds_in(fold_bits)).mean())

    def _difference(self, contender: int, other: int, fold_bits: int) -> Difference:
        folds = folds_in(fold_bits)
        difference_by_fold = self.scores(contender, folds) - self.scores(other, folds)
        fold_variance = np.nan
        if len(folds) > 1:
            fold_variance = float(difference_by_fold.var(ddof=1))
        return Difference(
            mean=float(difference_by_fold.mean()),
            user_variance=self.user_variance(contender, other, folds),
            fold_variance=fold_variance,
            folds=len(folds),
        )


class PairedScores(Differences):
    """Differences from the contenders' scores as they are now, one set of folds at a time."""

    def __init__(
        self, contenders: Sequence[Scores], *, of_fewer_folds: PairedScores | None = None
    ) -> None:
        """Of these contenders.

        Args:
            of_fewer_folds: The evidence of the same contenders with fewer folds, whose differences
                need not be worked out again.
        """
        super().__init__()
        self._contenders = contenders
        if of_fewer_folds is not None and of_fewer_folds._holds_for(contenders):
            self._differences = of_fewer_folds._differences

    def _holds_for(self, contenders: Sequence[Scores]) -> bool:
        """Whether contenders still have the folds that they have here, with the same scores."""
        for then, now in zip(self._contenders, contenders, strict=True):
            ran = ~np.isnan(then.folds)
            if not np.array_equal(then.folds[ran], now.folds[ran]):
                return False
        return True

    def scores(self, contender: int, folds: Sequence[int]) -> Floats:
        return self._contenders[contender].folds[folds]

    def same_algorithm(self, contender: int, other: int) -> bool:
        return _algorithm(self._contenders[contender]) == _algorithm(self._contenders[other])

    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        first = self._contenders[contender].users
        second = self._contenders[other].users
        if first is None or second is None:
            return np.nan
        # Scores of users may be kept in 32 bits, but their small differences are taken in 64.
        user_differences = first[folds].astype(np.float64) - second[folds]
        # These have a row for each of the folds asked for and no others, and so all of their rows
        # count.
        return user_variance_over_all_folds(user_differences)


@dataclass(frozen=True, kw_only=True, eq=False)
class _OverSubsets:
    """A pair's `Difference` over each of the 2^k - 1 sets of folds; arrays of shape (sets,)."""

    means: Floats
    user_variances: Floats
    fold_variances: Floats


class EverySubset(PairedScores):
    """Differences over any set of the k folds, for replaying many orders of complete contenders.

    A pair's variances over all 2^k - 1 sets of folds are worked out when it is first asked for.
    The set with the bits b has row b - 1 in every array.
    """

    def __init__(self, contenders: Sequence[Scores]) -> None:
        super().__init__(contenders)
        k = contenders[0].k
        # These are the sets as numbers with one bit per fold, in one column. The empty set, 0, is
        # left out.
        every_set = np.arange(1, 2**k)[:, None]
        self._has_fold = ((every_set >> np.arange(k)) & 1).astype(np.bool_)
        """Whether a set has a fold; shape (sets, k)."""
        self._pairs: dict[tuple[int, int], _OverSubsets] = {}
        self._means = [moments_by_mask(contender.folds).means for contender in contenders]
        """For each contender, its mean over every set, the empty one too; shape (2^k,)."""

    def mean(self, contender: int, fold_bits: int) -> float:
        return float(self._means[contender][fold_bits])

    def _difference(self, contender: int, other: int, fold_bits: int) -> Difference:
        if (contender, other) not in self._pairs:
            self._pairs[contender, other] = self._over_subsets(contender, other)
        pair = self._pairs[contender, other]
        row = fold_bits - 1  # the empty set, 0, has no row
        return Difference(
            mean=float(pair.means[row]),
            user_variance=float(pair.user_variances[row]),
            fold_variance=float(pair.fold_variances[row]),
            folds=fold_bits.bit_count(),
        )

    def _over_subsets(self, contender: int, other: int) -> _OverSubsets:
        first = self._contenders[contender]
        second = self._contenders[other]
        # The first element of each of these arrays belongs to the empty set.
        moments = moments_by_mask(first.folds - second.folds)
        freedom = self._has_fold.sum(axis=1) - 1.0
        with np.errstate(invalid="ignore"):  # a single fold has no variance: 0 / 0
            fold_variances = moments.squared_deviations[1:] / freedom
        user_variances = np.full(len(freedom), np.nan)
        if first.users is not None and second.users is not None:
            user_variances, _ = user_variance(first.users - second.users, self._has_fold)
        return _OverSubsets(
            means=moments.means[1:], user_variances=user_variances, fold_variances=fold_variances
        )


def folds_in(fold_bits: int) -> list[int]:
    """The folds of a set of bits, ascending."""
    return [fold for fold in range(fold_bits.bit_length()) if (fold_bits >> fold) & 1]


@dataclass(frozen=True, kw_only=True)
class Prior:
    """What is taken for known of fold noise before folds have shown it."""

    ratio_freedom: float
    """a: degrees of freedom with which it is known that folds add nothing to what users tell."""
    user_freedom: float
    """d0: degrees of freedom that the users' variance is worth at most."""
    user_freedom_same_algorithm: float
    """The same of configurations of one algorithm, whose folds behave much the same."""


ANY_NOISE = Prior(ratio_freedom=2, user_freedom=1.9, user_freedom_same_algorithm=8)
"""For what has to hold whatever folds add; see docs/selection.md for how far."""
NEW_DATA = Prior(ratio_freedom=0.75, user_freedom=2.2, user_freedom_same_algorithm=8)
"""For what is said of new data, where nobody waits for more folds and so little may be supposed."""
USUAL_NOISE = Prior(ratio_freedom=3.5, user_freedom=8, user_freedom_same_algorithm=16)
"""For what has to hold on average; its t has a mean, which an expected gain needs."""
NO_NOISE = Prior(ratio_freedom=100, user_freedom=100, user_freedom_same_algorithm=100)
"""For the choice of who runs next: those who are near if folds add no more than has been seen."""
_ROUNDING = 1e-6
"""Share of a difference; fold scores that vary by less are taken for the same."""
_LEAST_FREEDOM = 1e-3
"""In place of no degree of freedom, for which Student's t is not defined."""
_SQUARED_CORRELATION = 0.25
"""Squared correlation of two differences to one contender, of equal and independent noise."""


@dataclass(frozen=True, kw_only=True)
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

    def standard_errors(self, k: int | None) -> Floats:
        """Of the k-fold differences; with None of those on new data, of endless folds."""
        # The variance of a mean of e folds, as a share of that of one: 1/e, and less where it is
        # compared with the mean of k folds of which these are a part.
        variance_share = 1 / self.folds
        if k is not None:
            variance_share = np.maximum(variance_share - 1 / k, 0)
        errors = np.sqrt(self.variances * variance_share)
        errors[np.isnan(self.variances) | (self.freedom <= 0)] = np.inf
        if k is not None:
            errors[self.folds == k] = 0.0
        return errors

    def half_widths(self, tail_probability: float, k: int | None) -> Floats:
        """How far each k-fold difference can be from its mean on one side.

        Args:
            tail_probability: That it is farther, in (0, 0.5).
            k: Folds in all, or None, as of `standard_errors`.
        """
        errors = self.standard_errors(k)
        # Student's t needs a positive degree of freedom. Where there is none, the standard error is
        # infinite, and so is the half width below, whatever the quantile.
        positive_freedom = np.maximum(self.freedom, _LEAST_FREEDOM)
        t_quantiles = -stdtrit(positive_freedom, tail_probability)
        with np.errstate(invalid="ignore"):
            half_widths = t_quantiles * errors
        # An infinite quantile times no error, or the reverse, is not a number.
        half_widths[errors == 0] = 0.0
        half_widths[np.isinf(errors)] = np.inf
        return half_widths

    def expected_losses(self, k: int, more_folds: int = 0) -> Floats:
        """What is expected to be lost by passing over each: E[(its mean over k folds - ours)+].

        The opportunity cost of Chick and Inoue (2001), under Student's t.

        Args:
            k: Folds in all.
            more_folds: As if so many more had been run and had shown the same means.
        """
        folds = np.minimum(self.folds + more_folds, k)
        # By the finite population correction, for these folds are a part of all k.
        errors = np.sqrt(self.variances * (1 / folds - 1 / k))
        errors[folds == k] = 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            losses = errors * expected_excess(self.means / errors, self.freedom)
        # Without an error the difference is certain. A contender that is ahead, whose mean is
        # negative, is a loss of just its lead; one that is behind is none.
        known_losses = np.maximum(-self.means, 0)
        losses = np.where(errors == 0, known_losses, losses)
        # Student's t has no mean, and so no expected loss, up to one degree of freedom.
        has_no_expectation = np.isnan(errors) | (self.freedom <= 1)
        return np.where(has_no_expectation, np.inf, losses)


def spread_of(
    differences: Sequence[Difference],
    same_algorithm: Sequence[bool],
    prior: Prior,
    sign: float = 1.0,
) -> Spread:
    """Differences of one contender to several others, each moderated by what the others show.

    Args:
        differences: The differences that contender minus each other, of at least one fold.
        same_algorithm: For each comparison, whether both are configurations of one algorithm.
        prior: What is taken for known.
        sign: 1 where more is better, else -1.
    """
    means = np.array([difference.mean for difference in differences])
    user_variances = np.array([difference.user_variance for difference in differences])
    fold_variances = np.array([difference.fold_variance for difference in differences])
    folds = np.array([difference.folds for difference in differences], dtype=np.float64)
    is_same = np.array(same_algorithm, dtype=np.bool_)
    return moderated_spread(sign * means, user_variances, fold_variances, folds, is_same, prior)


def moderated_spread(
    means: Floats,
    user_variances: Floats,
    fold_variances: Floats,
    folds: Floats,
    same_algorithm: Mask,
    prior: Prior,
) -> Spread:
    """`spread_of` differences as arrays of shape (..., contenders); each row by itself.

    Args:
        means: `Difference.mean` of each.
        user_variances: u, `Difference.user_variance`; NaN where it is not known.
        fold_variances: s2, `Difference.fold_variance`.
        folds: `Difference.folds`.
        same_algorithm, prior: as of `spread_of`.
    """
    # A moderated variance (Smyth 2004), the mean of two estimates: what the users of a difference
    # show, enlarged by what folds add among the others, and what its own folds show.
    fold_freedom = folds - 1
    others = _ratios_of_others(user_variances, fold_variances, fold_freedom)
    # Q says by how much folds multiply the users' variance. The prior supposes 1, that folds add
    # nothing, and the other contenders show q. Q is the mean of both, weighted by degrees of
    # freedom.
    ratio_freedom = prior.ratio_freedom + others.freedom
    ratios = (prior.ratio_freedom + others.freedom * others.mean) / ratio_freedom
    # Configurations of one algorithm train alike, so that folds add little to their difference: the
    # prior trusts what users tell of it more.
    most_user_freedom = np.where(
        same_algorithm, prior.user_freedom_same_algorithm, prior.user_freedom
    )
    # d says how many degrees of freedom the users' variance, times Q, is worth beside the folds'
    # own. The squared relative errors of both factors add up, and each is in proportion to one over
    # its degrees of freedom.
    user_freedom = 1 / (1 / most_user_freedom + 1 / ratio_freedom)
    without_users = np.isnan(user_variances)
    user_freedom[without_users] = 0.0
    freedom = user_freedom + fold_freedom
    # The variance is the mean of both, weighted by their degrees of freedom. Without users, or with
    # a single fold, one of both has the weight 0.
    from_users = np.where(without_users, 0.0, user_freedom * ratios * user_variances)
    with np.errstate(invalid="ignore", divide="ignore"):
        from_folds = np.where(fold_freedom > 0, fold_freedom * fold_variances, 0.0)
        variances = (from_users + from_folds) / freedom
    # Without users a difference that is the same in every fold, but for rounding, has a variance of
    # 0, which a few folds do not show for certain: it is not known.
    variances[without_users & (fold_variances <= (_ROUNDING * means) ** 2)] = np.nan
    return Spread(means=means, variances=variances, freedom=freedom, folds=folds)


class _Ratios(NamedTuple):
    """What folds add to the variance that users show, as a ratio; shape (..., contenders)."""

    mean: Floats
    """q: the mean ratio; 0 where no contender shows any."""
    freedom: Floats
    """D: degrees of freedom of that mean."""


def _ratios_of_others(
    user_variances: Floats, fold_variances: Floats, fold_freedom: Floats
) -> _Ratios:
    """For each contender the mean ratio s2 / u of all the others, by their degrees of freedom.

    A ratio says by how much folds multiply the variance that users show. Of three contenders with
    the ratios 1, 2 and 3 and as many folds each, the first gets 2.5, the mean of 2 and 3.

    Args:
        user_variances: u of each contender; NaN where it is not known.
        fold_variances: s2 of each, the variance of its folds' differences.
        fold_freedom: Degrees of freedom of that variance.
    """
    has_ratio = (fold_freedom > 0) & (user_variances > 0)  # It is False for NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(has_ratio, fold_variances / user_variances, 0.0)
    weights = np.where(has_ratio, fold_freedom, 0.0)
    weights_of_others = _sums_of_others(weights)
    has_others = weights_of_others > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _sums_of_others(weights * ratios) / weights_of_others
        # The mean has as many degrees of freedom as one of independent differences with the same
        # variance would have: the effective sample size.
        freedom = weights_of_others**2 / _variances_of_others(weights)
    return _Ratios(
        mean=np.where(has_others, means, 0.0), freedom=np.where(has_others, freedom, 0.0)
    )


def _sums_of_others(values: Floats) -> Floats:
    """For each contender the sum of all others' values; shapes (..., contenders)."""
    return values.sum(axis=-1, keepdims=True) - values


def _variances_of_others(weights: Floats) -> Floats:
    """For each contender how much the weighted sum of the others' ratios varies, in common units.

    Args:
        weights: Degrees of freedom of each contender's ratio, by which it is weighted; shape
            (..., contenders).
    """
    # The variance of a sum is the sum of all covariances. They are not 0, because the differences
    # of two contenders to a third are correlated.
    # A sample variance with w degrees of freedom has itself a variance in proportion to 1 / w.
    # Times the squared weight, w * w, that is w: the diagonal. Two sample variances with v and w
    # degrees of freedom share only the folds of the one with fewer. So their covariance is in
    # proportion to the squared correlation of the two differences and to 1 / max(v, w). Times both
    # weights, v * w, that is the squared correlation times min(v, w).
    smaller_weights = np.minimum(weights[..., None], weights[..., None, :])
    covariances = smaller_weights * _SQUARED_CORRELATION
    diagonal = np.arange(weights.shape[-1])
    covariances[..., diagonal, diagonal] = weights
    # The contender's own row and column are taken off the sum of all covariances. This takes its
    # element of the diagonal off twice, so it is added once.
    sum_of_all = covariances.sum(axis=(-2, -1))[..., None]
    return sum_of_all - 2 * covariances.sum(axis=-1) + weights


def expected_excess(x: Floats, freedom: Floats) -> Floats:
    """E[(T - x)+] of Student's t: what it has above x, on average.

    Args:
        x: Any numbers.
        freedom: Degrees of freedom, above 1; infinite otherwise.
    Source: integration by parts of t's density f: (v + x^2) / (v - 1) f(x) - x P(T > x).
    """
    x = np.asarray(x, dtype=np.float64)
    v = np.maximum(freedom, 1.0)
    # The density of t is worked out in logarithms, for its factors are too large where there are
    # many degrees of freedom.
    log_factor = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi)
    density = np.exp(log_factor - (v + 1) / 2 * np.log1p(x * x / v))
    with np.errstate(divide="ignore", invalid="ignore"):
        # This is E[(T - x)+], the mean of how far T is above x, integrated by parts.
        excess = (v + x * x) / (v - 1) * density - x * stdtr(v, -x)
    return np.where(v > 1, np.maximum(excess, 0.0), np.inf)


@lru_cache(maxsize=256)
def level_of_looks(error: float, k: int, *, new_data: bool = False) -> float:
    """The error that each of all looks may have, so that all of them together have `error`.

    After each of the k - 1 folds before the last one looks once. With known variance the
    standardised distances to the mean of all k folds are a Brownian bridge at e/k (to the mean of
    endless folds: Brownian motion, k looks), a Markov chain whose maximum is integrated fold by
    fold. Between 1 and error / looks (Bonferroni); 0.0087 for 0.05 and ten folds, not 0.0056.

    Args:
        error: In (0, 0.5).
        k: Folds in all, at least two.
        new_data: Whether the mean is that on new data, of endless folds.
    """
    if new_data:
        # The mean of e folds, seen from that of endless folds, is Brownian motion at time e/k.
        folds_seen = np.arange(1, k + 1)
        times = folds_seen / k
    else:
        # Seen from the mean of all k folds it is a Brownian bridge at time e/k, which is Brownian
        # motion at time e / (k - e), but for its scale.
        folds_seen = np.arange(1, k)
        times = folds_seen / (k - folds_seen)
    looks = len(times)
    if looks == 1:
        return error
    # This import takes a fifth of a second, and is needed only here.
    from scipy.optimize import brentq

    # The limit that all looks share lies between these two; the margins are for rounding.
    limit_of_one_look = -float(ndtri(error))
    limit_by_bonferroni = -float(ndtri(error / looks))
    # The more folds there are, the less one look differs from the next, and the more points are
    # needed to tell them apart.
    point_count = max(96, int(10 * np.sqrt(k)))

    def excess(limit: float) -> float:
        return _chance_of_crossing(limit, times, point_count) - error

    limit = brentq(excess, limit_of_one_look - 1e-6, limit_by_bonferroni + 1e-3)
    return float(ndtr(-limit))


def _chance_of_crossing(limit: float, times: Floats, point_count: int) -> float:
    """Chance that a z value, a Brownian motion over the root of its time, is ever above a limit.

    The density of the paths that have stayed below the limit is carried from look to look, and the
    chance to pass it at each look is summed up: one minus the chance to stay below would be nothing
    but rounding where the chance is tiny.

    Args:
        limit: In standard deviations.
        times: At which one looks, ascending; in any unit, for only their ratios matter.
        point_count: How many points there are, at which the density is worked out.
    """
    # A path is the z value, look after look: Brownian motion at the time of the look, divided by
    # the root of that time. The time of a look stands for the information that its folds give.
    lowest = -9.0  # practically no path is ever below
    # Integrals over the z values below the limit are sums over these points (Gauss-Legendre).
    nodes, node_weights = np.polynomial.legendre.leggauss(point_count)
    points = lowest + (limit - lowest) * (nodes + 1) / 2
    weights = node_weights * (limit - lowest) / 2
    # At the first look the z value is a standard normal number.
    density = _normal_density(points, 1.0)
    chance = float(ndtr(-limit))
    for time_before, time in itertools.pairwise(times):
        # The z values of two looks have this correlation. Where the earlier one is known, the later
        # one is normal, with the mean `correlation * earlier` and this deviation.
        correlation = np.sqrt(time_before / time)
        deviation = np.sqrt(1 - correlation * correlation)
        # Each point has the chance that a path which was there at the look before passes the limit
        # now.
        chance_of_passing = ndtr((correlation * points - limit) / deviation)
        chance += float((density * weights) @ chance_of_passing)
        # A row per point of the look before, a column per point of this look.
        step_density = _normal_density(points - correlation * points[:, None], deviation)
        density = (density * weights) @ step_density
    return chance


def _normal_density(x: Floats, deviation: float) -> Floats:
    """Of a normal distribution around zero."""
    return np.exp(-((x / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
