"""Per-user scores -> how much one fold's mean varies, as users and fold means together tell it.

Two levels vary. Users: each scores a little differently in every fold, and their number says how
much of that is left in a fold's mean: its variance u. Folds: what all users of a fold have in
common (the luck of a training, users of like taste, other data) shows in no spread of users, only
in the fold means, of which there are few. A fold's mean has the variance u * (1 + r), and how large
r may be is said by one prior for all models: in four of five runs users explain everything (r = 0),
in the fifth r is anything from 1/2 to 1024. The fold means seen weigh these against each other
(Bayes; s2 is their variance, with e - 1 degrees of freedom):

    weight(r | e folds)  ~  prior(r) * (1 + r)^(-(e - 1) / 2) * exp(-(e - 1) * s2 / (2 u (1 + r)))

and the distance of their mean to that of all k folds is a mixture of normal distributions
(Student's t for few users) with the variances u * (1 + r) * (1/e - 1/k). See docs/method.md for
sources, for what is proved and for what it was measured to hold.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike, NDArray

from ecv_core.stopping.interval import running_moments

Floats = NDArray[np.float64]

_BLOCK = 2**22
_CACHED = 2**17  # scores at once that the cache of a processor holds: 1 MB
_BY_PAIRS = 64
"""Folds up to which one set of them is looked at by pairs, as many sets are."""
_ALIKE = 1e-15
"""Of the squared span: a smaller variance is rounding."""
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

    within: Floats
    """Pooled covariances of one user's scores from fold to fold; shape (sets, models, models)."""
    between: Floats
    """Of the users of a fold; shape as `within`."""
    overlap: Floats
    """p; shape (sets,); 0 where no user has two of the folds."""
    per_fold: Floats
    """Users per fold; shape (sets,)."""
    freedom_within: Floats
    freedom_between: Floats
    span: float = 0.0
    """How far one score can be from another: 1 where all are from -1 to 1, as those of the usual
    metrics and their differences are; else the largest size seen."""

    @property
    def covariances(self) -> Floats:
        """Of the fold means; shape (sets, models, models); NaN where they cannot be known."""
        within = self._share_within[:, None, None] * self.within
        between = self._share_between[:, None, None] * self.between
        return within + between

    def variance_of(self, weights: Floats) -> tuple[Floats, Floats]:
        """The variance of a fold's mean of a weighted sum of the models' scores.

        Args:
            weights: of each model in each set; shape (sets, models).
        Returns: variances, NaN where they cannot be known, as with one fold of a single user; and
            their degrees of freedom after Satterthwaite (1946), at least 1. Both of shape (sets,).
        """
        within = np.einsum("si,sij,sj->s", weights, self.within, weights)
        between = np.einsum("si,sij,sj->s", weights, self.between, weights)
        within = self._share_within * _not_certain(within, self.freedom_within, self.span)
        between = self._share_between * _not_certain(between, self.freedom_between, self.span)
        variance = within + between
        with np.errstate(invalid="ignore", divide="ignore"):
            divisor = within**2 / self.freedom_within + between**2 / self.freedom_between
            satterthwaite = variance**2 / divisor
        has_both = (self.freedom_within > 0) & (variance > 0)
        freedom = np.where(has_both, satterthwaite, self.freedom_between)
        return variance, np.clip(freedom, 1, _NORMAL)

    @property
    def _share_within(self) -> Floats:
        return self.overlap / self.per_fold

    @property
    def _share_between(self) -> Floats:
        return (1 - self.overlap) / self.per_fold


def user_moments(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> UserMoments:
    """What the users of each set of folds tell of one or more models.

    Args:
        values: a score per model, fold and user; NaN where the user has nothing held out in the
            fold, the same of every model. Shape (models, folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
    """
    present = ~np.isnan(values[0])
    users_in_fold = present.sum(axis=1).astype(np.float64)
    sets = chosen.astype(np.float64)
    sizes = sets.sum(axis=1)
    per_fold = sets @ users_in_fold / sizes
    freedom_between = sets @ np.maximum(users_in_fold - 1, 0)
    patterns = _Patterns.of(present)
    blocks = patterns.blocks(sets)
    freedom_within = np.concatenate([_freedom_within(block, patterns) for block in blocks])
    sums = _product_sums(values, present, chosen, patterns)
    with np.errstate(invalid="ignore", divide="ignore"):
        overlap = sums.in_two_folds / (sizes * (sizes - 1) / 2) / per_fold
        within = np.where(freedom_within > 0, sums.within.T / freedom_within, 0.0).T
        between = (sums.between.T / freedom_between).T
    return UserMoments(
        within=within,
        between=between,
        overlap=np.where(freedom_within > 0, overlap, 0.0),
        per_fold=per_fold,
        freedom_within=freedom_within,
        freedom_between=freedom_between,
        span=float(np.nanmax(np.abs(values[0]), initial=1.0)),
    )


class _ProductSums(NamedTuple):
    """Sums of products of two models' deviations, over the users of each set of folds."""

    within: Floats
    """About each user's own mean; shape (sets, models, models)."""
    between: Floats
    """About each fold's mean; shape (sets, models, models)."""
    in_two_folds: Floats
    """How many times a user is in both of two folds; shape (sets,)."""


def _product_sums(
    values: NDArray[np.floating],
    present: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    patterns: _Patterns,
) -> _ProductSums:
    """The sums of every two models.

    Args:
        values: as for `user_moments`.
        present: which fold has which user; shape (folds, users).
        chosen: as for `user_moments`.
        patterns: of the users.
    """
    models = len(values)
    sets = chosen.astype(np.float64)
    # Pairs of folds serve all sets at once; of many folds they take gigabytes, so that a few sets
    # are better gone through one by one.
    by_pairs = len(present) <= _BY_PAIRS or len(chosen) >= len(present)
    pairs = _Pairs.none(patterns)
    if by_pairs:
        pairs = _Pairs.of(patterns)
    # Those of one pattern side by side; who is not there has the fold's mean, and no say.
    users_by_pattern = np.argsort(patterns.of_user, kind="stable")
    pattern_of_user = patterns.of_user[users_by_pattern]
    users_in_fold = present.sum(axis=1)[:, None]
    means = np.nansum(values, axis=2, dtype=np.float64, keepdims=True)
    means /= np.maximum(users_in_fold, 1)
    filled = np.take(np.where(present, values, means), users_by_pattern, axis=2)
    within = np.zeros((len(sets), models, models))
    between = np.zeros((len(sets), models, models))
    for a, b in itertools.combinations_with_replacement(range(models), 2):
        products_of_pairs, products_of_folds = _products(
            filled, means, a, b, pattern_of_user, pairs
        )
        sums = []
        for block in patterns.blocks(sets):
            sums.append(_sums_within(block, patterns, pairs, products_of_pairs))
        within[:, a, b] = np.concatenate(sums)
        within[:, b, a] = within[:, a, b]
        between[:, a, b] = sets @ products_of_folds
        between[:, b, a] = between[:, a, b]
    in_two_folds = sets[:, pairs.first] * sets[:, pairs.second] @ pairs.common
    if not by_pairs:
        within, in_two_folds = _about_own_means(values, present, chosen)
    return _ProductSums(within=within, between=between, in_two_folds=in_two_folds)


def _about_own_means(
    values: NDArray[np.floating], present: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The same as by pairs of folds, set by set: pairs of 1,000 folds would take gigabytes.

    Args:
        values: as for `user_moments`.
        present: which fold has which user; shape (folds, users).
        chosen: the folds of each set; shape (sets, folds).

    Returns:
        Sums over all users of products about the user's own means, shape (sets, models, models);
        and how many times a user is in both of two folds, shape (sets,).
    """
    sums = np.zeros((len(chosen), len(values), len(values)))
    in_two_folds = np.zeros(len(chosen))
    for place, folds in enumerate(chosen):
        there = present[folds]
        scores = np.where(there, values[:, folds], 0.0).astype(np.float64)
        folds_of_user = there.sum(axis=0)
        own_means = scores.sum(axis=1, keepdims=True) / np.maximum(folds_of_user, 1)
        distances = np.where(there, scores - own_means, 0.0)
        sums[place] = np.einsum("afu,bfu->ab", distances, distances)
        in_two_folds[place] = (folds_of_user * (folds_of_user - 1) / 2).sum()
    return sums, in_two_folds


def _freedom_within(sets: Floats, patterns: _Patterns) -> Floats:
    """Of each user one less than the folds of the set that have the user; shape (sets,)."""
    folds_of_user = sets @ patterns.in_fold.T
    return np.maximum(folds_of_user - 1, 0) @ patterns.people


def _sums_within(sets: Floats, patterns: _Patterns, pairs: _Pairs, of_pairs: Floats) -> Floats:
    """Sums over all users of products about the user's own means in a set; shape (sets,).

    Args:
        sets: 1 for the folds of each; shape (sets, folds).
        patterns: of the users.
        pairs: of folds.
        of_pairs: products of differences between two folds; shape (pairs, patterns).
    """
    folds_of_user = sets @ patterns.in_fold.T
    of_sets = sets[:, pairs.first] * sets[:, pairs.second] @ of_pairs
    # A user's sum of squares about the mean of n scores is that of all differences / n.
    return (of_sets / np.maximum(folds_of_user, 1)).sum(axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Patterns:
    """Users by the folds that they are in: those of one pattern contribute alike."""

    in_fold: Floats
    """1 where the users of a pattern are in a fold; shape (patterns, folds)."""
    of_user: NDArray[np.int64]
    """The pattern of each user."""
    people: NDArray[np.int64]
    """How many users have each pattern."""

    @classmethod
    def of(cls, present: NDArray[np.bool_]) -> _Patterns:
        """The patterns of some users.

        Args:
            present: which fold has which user; shape (folds, users).
        """
        of_user = np.zeros(present.shape[1], dtype=np.int64)
        for start in range(0, len(present), 31):  # as many as bits left beside a number of users
            part = present[start : start + 31]
            codes = of_user << 31 | part.T @ (1 << np.arange(len(part)))
            _, first, of_user, people = np.unique(
                codes, return_index=True, return_inverse=True, return_counts=True
            )
        return cls(in_fold=present[:, first].T.astype(np.float64), of_user=of_user, people=people)

    def blocks(self, sets: Floats) -> list[Floats]:
        """Sets of folds, as many at once as memory allows to hold with each pattern."""
        rows = max(1, _BLOCK // max(len(self.people), 1))
        return [sets[start : start + rows] for start in range(0, len(sets), rows)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pairs:
    """Every two folds; none where nobody comes twice, as the samples of a table."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    in_both: Floats
    """1 where the users of a pattern are in both; shape (pairs, patterns)."""
    common: Floats
    """How many users are in both; shape (pairs,)."""

    @classmethod
    def of(cls, patterns: _Patterns) -> _Pairs:
        """Of all folds of these patterns."""
        first, second = np.triu_indices(patterns.in_fold.shape[1], 1)
        in_both = (patterns.in_fold[:, first] * patterns.in_fold[:, second]).T
        common = in_both @ patterns.people
        if not common.any():  # nobody is in two folds
            return cls.none(patterns)
        return cls(first=first, second=second, in_both=in_both, common=common)

    @classmethod
    def none(cls, patterns: _Patterns) -> _Pairs:
        """No folds of these patterns."""
        nothing = np.zeros(0, dtype=np.intp)
        in_both = np.zeros((0, len(patterns.people)))
        return cls(first=nothing, second=nothing, in_both=in_both, common=np.zeros(0))


def _products(
    filled: Floats,
    means: Floats,
    a: int,
    b: int,
    pattern_of_user: NDArray[np.int64],
    pairs: _Pairs,
) -> tuple[Floats, Floats]:
    """Sums of products of two models' scores, a block of users that fits the cache at a time.

    Args:
        filled: scores, users of one pattern side by side; shape (models, folds, users).
        means: of the folds; shape (models, folds, 1).
        a: a model.
        b: another, or the same.
        pattern_of_user: ascending.
        pairs: of folds.
    Returns: of differences between two folds, shape (pairs, patterns); and of distances from the
        fold's mean, shape (folds,).
    """
    models, folds, _ = filled.shape
    of_pairs = np.zeros(pairs.in_both.shape)
    of_folds = np.zeros(folds)
    users_at_once = max(1, _CACHED // (models * folds))
    for start in range(0, len(pattern_of_user), users_at_once):
        block = slice(start, start + users_at_once)
        x = filled[a, :, block]
        y = x
        if a != b:
            y = filled[b, :, block]
        of_folds += ((x - means[a]) * (y - means[b])).sum(axis=1)
        if len(pairs.first):
            _add_differences(of_pairs, x, y, pattern_of_user[block])
    of_pairs *= pairs.in_both
    return of_pairs, of_folds


def _add_differences(of_pairs: Floats, x: Floats, y: Floats, pattern: NDArray[np.int64]) -> None:
    """Add, of each two folds and pattern, the products of two models' differences between them.

    Args:
        of_pairs: the sums; shape (pairs, patterns).
        x: scores of a model; shape (folds, users).
        y: of the other, or the same array.
        pattern: of each user, in ascending order without a gap.
    """
    patterns = slice(pattern[0], pattern[-1] + 1)
    first_users = np.flatnonzero(np.diff(pattern, prepend=-1))
    pair = 0  # in the order of `_Pairs`: each fold with all that come after it
    for fold in range(len(x) - 1):
        products = x[fold + 1 :] - x[fold]
        if x is y:
            products *= products
        else:
            products *= y[fold + 1 :] - y[fold]
        sums = np.add.reduceat(products, first_users, axis=1)
        of_pairs[pair : pair + len(products), patterns] += sums
        pair += len(products)


def _not_certain(variance: Floats, freedom: Floats, span: float) -> Floats:
    """Where nobody differs, the variance that there would be if one had, by the span.

    Of what has not been seen in n tries there may be up to 3 in n (rule of three; Hanley and
    Lippman-Hand 1983).
    """
    alike = (variance <= _ALIKE * span**2) & (freedom > 0)
    return np.where(alike, span**2 / np.maximum(freedom, 1), variance)


NEAR_BOUND = 0.9
"""From this mean on, scores that are at most 1 are near their bound."""
_DIGITS = 1e-6
"""Of a score of 1 that is the mean of values of seven digits."""
_UNSEEN = 3
"""Users who differ by the whole scale, of whom none need be among those seen: the rule of three."""


def _unseen(scores: Floats, chosen: NDArray[np.bool_], moments: UserMoments) -> Floats:
    """What users not seen yet, who differ by the whole scale, may add to the variance of users.

    Near a bound hardly anybody differs from it, and those who do differ by much. Folds that
    happen to be without them look calm as well as good, so as many are counted there as may have
    been missed: 3 in n (rule of three; Hanley and Lippman-Hand 1983).

    Args:
        scores: as for `fold_variance`.
        chosen: likewise.
        moments: of these scores.
    Returns: shape (sets,); 0 where no bound is near, and where nobody differs, for that is counted
        as it is (`_not_certain`).
    """
    is_scored = ~np.isnan(scores)
    lows = np.where(is_scored, scores, np.inf).min(axis=1)
    highs = np.where(is_scored, scores, -np.inf).max(axis=1)
    levels = _fold_means(scores)
    lowest = np.where(chosen, lows, np.inf).min(axis=1)
    highest = np.where(chosen, highs, -np.inf).max(axis=1)
    best = np.where(chosen, levels, -np.inf).max(axis=1)
    mean = chosen @ levels / chosen.sum(axis=1)
    # Errors and other scores without a bound at 1 have their farthest users above the mean.
    bounded = (best <= 1 + _DIGITS) & (mean - lowest > highest - mean)
    near = bounded & (mean >= NEAR_BOUND)
    # As many users as may have been missed differ by the whole scale: 3 in n.
    scale = np.maximum(1.0, np.maximum(np.abs(lowest), np.abs(highest)))
    differ = moments.between[:, 0, 0] > _ALIKE * moments.span**2
    freedom = np.maximum(moments.freedom_between, 1)
    unseen = _UNSEEN * scale**2 / (freedom * np.maximum(moments.per_fold, 1))
    return np.where(near & differ, unseen, 0.0)


UNSTABLE = 0.01
"""Fold means that differ so much with at most this probability by users alone are unstable."""
_ROUNDING = 1e-12

SHARED = 0.2
"""How likely it is, before any fold is seen, that users of a fold have something in common."""
_EFFECTS = np.concatenate([[0.0], 2.0 ** np.arange(-1, 11)])
"""r: the variance that folds add, in that of the users' part; 0, or 1/2 to 1024 by octaves."""
_PRIOR = np.concatenate([[1 - SHARED], np.full(len(_EFFECTS) - 1, SHARED / (len(_EFFECTS) - 1))])


def effect_weights(ratio: ArrayLike, folds: ArrayLike) -> Floats:
    """How likely each fold effect r is after some folds: Bayes' theorem, see the module.

    Args:
        ratio: variance of the fold means over what users explain, s2 / u, without a unit; of no
            meaning for one fold.
        folds: how many were seen, at least one; broadcast with `ratio`.
    Returns: shape (..., len(_EFFECTS)); each row sums to 1.
    """
    freedom = np.maximum(np.asarray(folds, dtype=np.float64) - 1, 0)[..., None]
    ratios = np.where(freedom > 0, np.asarray(ratio, dtype=np.float64)[..., None], 0.0)
    # Bayes' theorem, in logarithms: the prior times how likely the fold means are with each effect.
    log_likelihoods = -freedom / 2 * (np.log1p(_EFFECTS) + ratios / (1 + _EFFECTS))
    logs = np.log(_PRIOR) + log_likelihoods
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))  # the largest is 1: no overflow
    return weights / weights.sum(axis=-1, keepdims=True)


def tails(distance: ArrayLike, ratio: ArrayLike, folds: ArrayLike) -> Floats:
    """How likely a mean is farther from these folds' mean than so many of its users' errors.

    Args:
        distance: in standard errors that users alone would give it, at least 0.
        ratio: as for `effect_weights`.
        folds: likewise.
    """
    return _weighted_tails(np.asarray(distance, dtype=np.float64), effect_weights(ratio, folds))


def _weighted_tails(distance: Floats, weights: Floats) -> Floats:
    """How likely a mean is farther than a distance: a mixture of normal distributions.

    With a fold effect r the mean is normal, its standard error sqrt(1 + r) times the users'.

    Args:
        distance: in standard errors that users alone would give; shape (...,).
        weights: how likely each fold effect is; shape (..., len(_EFFECTS)).
    """
    scales = np.sqrt(1 + _EFFECTS)
    both_tails = 2 * scipy.special.ndtr(-distance[..., None] / scales)
    return (weights * both_tails).sum(axis=-1)


def reach(ratio: ArrayLike, folds: ArrayLike, error: ArrayLike) -> Floats:
    """The distance whose `tails` are `error`: what an interval reaches to each side.

    Args:
        ratio: as for `effect_weights`.
        folds: likewise.
        error: how likely the mean may be farther, in (0, 1).
    Returns: in standard errors that users alone would give.
    """
    ratio, folds, error = np.broadcast_arrays(
        np.asarray(ratio, dtype=np.float64), np.asarray(folds), np.asarray(error, dtype=np.float64)
    )
    weights = effect_weights(ratio, folds)
    # The distance is bisected: it lies between the one of a normal distribution without any fold
    # effect and the one with the largest effect, which is sqrt(1 + effect) times as wide.
    low: Floats = -scipy.special.ndtri(error / 2)
    high: Floats = low * np.sqrt(1 + _EFFECTS[-1])
    for _ in range(60):  # halved until no digit is left
        middle = (low + high) / 2
        too_near = _weighted_tails(middle, weights) > error
        low = np.where(too_near, middle, low)
        high = np.where(too_near, high, middle)
    return high


_SIMULATED = {3: 5000, 4: 4871, 5: 3483, 6: 2727, 7: 2246, 8: 1914, 9: 1680, 10: 1495}
"""What 2,000,000 runs gave at 95 %, in 1e-5: folds in all -> level."""


@lru_cache(maxsize=256)
def look_error(k: int, confidence: float) -> float:
    """The error that each look may make, so that no look errs with the probability `confidence`.

    The looks are those after 1 to k - 1 folds, of normal fold means of which users explain all.

    Args:
        k: folds in all.
        confidence: in (0, 1).
    Returns: at most 1 - confidence, so that each look alone holds with it under the whole prior;
        simulated with a fixed seed where it is not known, with a standard error of 2 % of it (more
        for hundreds of folds).
    Source: repeated confidence intervals, Jennison and Turnbull (1989), each look equally deep in
        its tails; the means of the first e of k folds are a finite population's.
    """
    if k <= 2:  # there is one look at most, after the first fold
        return 1 - confidence
    if confidence == 0.95 and k in _SIMULATED:
        return _SIMULATED[k] / 1e5
    # The more folds a run has, the fewer runs are simulated, so that none takes long.
    runs = max(min(50_000, 1_000_000 // k), 10_000)
    simulated = simulated_look_error(k, confidence, runs=runs)
    return min(simulated, 1 - confidence)


def simulated_look_error(k: int, confidence: float, *, runs: int) -> float:
    """`look_error` from so many runs, whatever is known."""
    rng = np.random.default_rng(20240901)
    scores = rng.standard_normal((runs, k))
    k_fold_means = scores.mean(axis=1)
    least_p_values = np.ones(runs)  # of the true k-fold mean, at any look so far
    looks = running_moments(scores.T[:-1])
    for folds, (means, squares) in enumerate(looks, start=1):
        standard_error = np.sqrt(1 / folds - 1 / k)
        distances = np.abs(means - k_fold_means) / standard_error
        variances = squares / max(folds - 1, 1)
        least_p_values = np.minimum(least_p_values, tails(distances, variances, folds))
    return float(np.quantile(least_p_values, 1 - confidence))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldVariance:
    """What some sets of folds tell of the variance of one fold's mean; arrays of shape (sets,)."""

    sizes: NDArray[np.intp]
    """Folds in each set, at least one."""
    users: Floats
    """The part that users explain; NaN where it cannot be known, as with one fold of one user."""
    users_freedom: Floats
    """Degrees of freedom of that part."""
    observed: Floats
    """The variance of the fold means, n-1 in the denominator; NaN for one fold."""
    hits: Floats | None = None
    """Ones among scores that are all 0 or 1, in sets of several folds of which nobody has two; NaN
    for other sets, None where there are none."""
    samples: Floats | None = None
    """How many such scores there are."""

    @property
    def p_values(self) -> Floats:
        """How likely fold means differ as much as observed by users alone; NaN for one fold."""
        degrees = np.maximum(self.sizes - 1.0, 1)
        # The ratio of two variances has an F distribution.
        likely = scipy.special.fdtrc(degrees, self.users_freedom, self.ratios)
        return np.asarray(likely, dtype=np.float64)

    @property
    def ratios(self) -> Floats:
        """Variance of the fold means over what users explain; NaN for one fold, or for 0 / 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.observed / self.users

    def half_widths(self, k: int, confidence: float) -> Floats:
        """How far the mean of each set is from that of all k folds, at every look at once.

        The k folds are a finite population: the distance has the variance v * (1/e - 1/k). Where
        users explain what varies, all looks of a run, after 1 to k - 1 folds, hold together with
        this confidence: one may look, go on, or ask for another tolerance at will.

        Args:
            k: folds in all, at least as many as in any set.
            confidence: in (0, 1).
        Returns: exactly 0 for all k folds; NaN where it cannot be known.
        """
        if k == 1:
            return np.zeros(len(self.sizes))
        error = look_error(k, confidence)
        # How much of the variance of one fold the distance to the mean of all k folds has.
        unseen = np.maximum(1 / self.sizes - 1 / k, 0)
        by_users = self._half_widths_by_users(k, error, unseen)
        degrees = np.maximum(self.sizes - 1, 1)
        student_t = -scipy.special.stdtrit(degrees, error / 2)
        by_folds = student_t * np.sqrt(self.observed * unseen)
        # Beyond the largest effect of the prior only the fold means are left to go by. `fmax`
        # is the larger of both, or the one that is known.
        is_beyond = self.ratios > _EFFECTS[-1]
        half_widths = np.where(is_beyond, np.fmax(by_users, by_folds), by_users)
        half_widths[self.sizes == k] = 0.0
        return half_widths

    def _half_widths_by_users(self, k: int, error: float, unseen: Floats) -> Floats:
        """As far as the scores of users tell, and how likely folds differ by more than users.

        Args:
            k: folds in all.
            error: how likely the mean may be farther.
            unseen: 1/e - 1/k of each set; shape (sets,).
        """
        reaches = reach(np.nan_to_num(self.ratios, posinf=0), self.sizes, error)
        normal_quantile = -scipy.special.ndtri(error / 2)
        t_quantiles = -scipy.special.stdtrit(self.users_freedom, error / 2)
        # A reach is for a normal distribution of the users' part. Few users ask for Student's t, so
        # its quantile takes the place of the normal one. (An error of 1 has a quantile of 0, and
        # a reach of 0 with it.)
        divisor = normal_quantile or 1
        standard_errors = np.sqrt(self.users * unseen)
        half_widths = t_quantiles / divisor * reaches * standard_errors
        if self.hits is None or self.samples is None:
            return np.asarray(half_widths, dtype=np.float64)
        # Shares of hits have an interval of their own, where nobody is in two folds.
        distances = share_distance(self.hits, self.samples, k / self.sizes, normal_quantile)
        half_widths_of_shares = distances / divisor * reaches
        return np.where(np.isnan(distances), half_widths, half_widths_of_shares)


def share_distance(hits: Floats, samples: Floats, times: Floats, errors: float) -> Floats:
    """How far the share of ones among some samples can be from that among all of them.

    A share's own variance is the less certain the fewer zeros, or ones, were seen, and least where
    the share was lucky. So the share of all takes its place: the shares S are sought from which the
    one seen is no farther than so many of their standard errors, S (1 - S) being the variance.

    Args:
        hits: ones seen.
        samples: how many were seen, n.
        times: how many there are in all, N, in those seen; at least 1.
        errors: standard errors to each side.
    Source: score interval, Wilson (1927), with the continuity correction of Blyth and Still (1983)
        and the variance of a finite population (N / n - 1) / (N - 1) (Cochran 1977, section 3.2).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = errors**2 * (times - 1) / (samples * times - 1)
        farthest = np.zeros(len(hits))
        for count in (hits, samples - hits):  # upwards from the ones, then from the zeros
            corrected = np.minimum((count + 0.5) / samples, 1)  # for continuity
            # The upper end of Wilson's interval: the larger root of his quadratic.
            root = np.sqrt(squares**2 + 4 * squares * corrected * (1 - corrected))
            largest = (2 * corrected + squares + root) / (2 * (1 + squares))
            farthest = np.maximum(farthest, largest - count / samples)
    return farthest


def fold_variance(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> FoldVariance:
    """The variance of one fold's mean about the mean of all folds, as each set of folds tells it.

    Args:
        values: a score per fold and user, NaN where the user has nothing held out in the fold; or
            the differences of two models' scores. Shape (folds, users).
        chosen: the folds of each set, at least one; shape (sets, folds).
    """
    scores: Floats = np.asarray(values, dtype=np.float64)
    moments = user_moments(scores[None], chosen)
    users, freedom = moments.variance_of(np.ones((len(chosen), 1)))
    sizes = chosen.sum(axis=1)
    hits = None
    samples = None
    is_scored = ~np.isnan(scores)
    if (~is_scored | (scores == 0) | (scores == 1)).all():
        has_shares = (sizes > 1) & (moments.freedom_within == 0)  # nobody is in two of its folds
        hits = np.where(has_shares, chosen @ np.nansum(scores, axis=1), np.nan)
        samples = np.where(has_shares, chosen @ is_scored.sum(axis=1), np.nan)
    else:
        users = users + _unseen(scores, chosen, moments)
    return FoldVariance(
        sizes=sizes,
        hits=hits,
        samples=samples,
        users=users,
        users_freedom=freedom,
        observed=_variance_of_fold_means(scores, chosen),
    )


def user_variance(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The part of the variance of a fold's mean that its users explain; see `UserMoments`.

    Args: as for `fold_variance`.
    Returns: as `UserMoments.variance_of`.
    """
    return user_moments(np.asarray(values)[None], chosen).variance_of(np.ones((len(chosen), 1)))


def _fold_means(values: Floats) -> Floats:
    """The mean of each fold's scores, shape (folds,); 0 for a fold without any."""
    scored_users = (~np.isnan(values)).sum(axis=1)
    return np.asarray(np.nansum(values, axis=1) / np.maximum(scored_users, 1))


def _variance_of_fold_means(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The variance of the fold means of each set, n-1 in the denominator; NaN for one fold."""
    levels = _fold_means(values)
    digits = _ROUNDING * np.abs(levels).max()
    means: Floats = levels - levels.mean()
    sizes = chosen.sum(axis=1)
    sets = chosen.astype(np.float64)
    middles = sets @ means / sizes
    squares = (sets * (means - middles[:, None]) ** 2).sum(axis=1)
    squares[squares <= digits**2] = 0.0  # equal means that only rounding keeps apart
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sizes > 1, squares / (sizes - 1), np.nan)
