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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike, NDArray

from ecv_core.records.arrays import AnyFloats, Counts, Floats, Indices, Mask
from ecv_core.stopping.interval import running_moments

FoldsOfSets = Mask
"""Which folds each set holds, at least one; shape (sets, folds)."""

_MOST_CELLS = 2**22  # cells of sets and patterns in memory at once: 32 MB
_CACHED_SCORES = 2**17  # scores that the cache of a processor holds at once: 1 MB
_MOST_FOLDS_IN_PAIRS = 64
"""Up to so many folds a single set of them is worked out by pairs of folds, as many sets are."""
_LARGEST_ROUNDING = 1e-15
"""A variance of at most this share of the squared span is due to rounding."""
_FREEDOM_OF_NORMAL = 1e9
"""Degrees of freedom at which Student's t is the normal distribution."""


class VarianceByUsers(NamedTuple):
    """The part of the variance of one fold's mean that its users explain, in each set of folds."""

    variance: Floats
    """Shape (sets,); NaN where it cannot be known, as with one fold of a single user."""
    freedom: Floats
    """Its degrees of freedom, at least 1; shape (sets,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
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
    share_within: Floats
    """p / n; shape (sets,); 0 where no user has two of the folds."""
    share_between: Floats
    """(1 - p) / n; shape (sets,)."""
    users_per_fold: Floats
    """n; shape (sets,)."""
    freedom_within: Floats
    freedom_between: Floats
    span: float
    """How far one score can be from another: 1 where all are from -1 to 1, as those of the usual
    metrics and their differences are; else the largest size seen."""

    @property
    def covariances(self) -> Floats:
        """Of the fold means; shape (sets, models, models); NaN where they cannot be known."""
        within = self.share_within[:, None, None] * self.within
        between = self.share_between[:, None, None] * self.between
        return within + between

    def variance_of(self, weights: Floats) -> VarianceByUsers:
        """The variance of a fold's mean of a weighted sum of the models' scores.

        Args:
            weights: The weights of each model in each set; shape (sets, models).
        Source: Satterthwaite (1946) for the degrees of freedom of a sum of two variances.
        """
        # The variance of a weighted sum is weights' C weights, in each set (s) of folds, with the
        # covariances C within users and between users.
        within = np.einsum("si,sij,sj->s", weights, self.within, weights)
        between = np.einsum("si,sij,sj->s", weights, self.between, weights)
        within = _at_least_one_user_differs(within, self.freedom_within, self.span)
        between = _at_least_one_user_differs(between, self.freedom_between, self.span)
        # The variance within users counts for the users whom two folds share, and the variance
        # between users counts for the others.
        within *= self.share_within
        between *= self.share_between
        variance = within + between
        with np.errstate(invalid="ignore", divide="ignore"):
            # A sum of two variances has about so many degrees of freedom (Satterthwaite).
            divisor = within**2 / self.freedom_within + between**2 / self.freedom_between
            freedom_of_sum = variance**2 / divisor
        has_both = (self.freedom_within > 0) & (variance > 0)
        freedom = np.where(has_both, freedom_of_sum, self.freedom_between)
        return VarianceByUsers(variance, np.clip(freedom, 1, _FREEDOM_OF_NORMAL))


def user_moments(values: AnyFloats, sets: FoldsOfSets) -> UserMoments:
    """What the users of each set of folds tell of one or more models.

    Args:
        values: A score per model, fold and user; NaN where the user has nothing held out in the
            fold, the same of every model. Shape (models, folds, users).
        sets: At least one fold in each; shape (sets, folds).
    """
    # For each set of folds the moments give the covariances of models' fold means, as users tell:
    #     (overlap * within + (1 - overlap) * between) / users per fold
    # `overlap` is the share of a fold's users that another fold of the set has too.
    is_scored = ~np.isnan(values[0])  # every model scores the same users; shape (folds, users)
    users_in_fold = is_scored.sum(axis=1).astype(np.float64)
    sizes = sets.sum(axis=1)
    # A row is a set, with 1 for a fold in it: times numbers of folds it gives their sums over sets.
    in_set = sets.astype(np.float64)
    users_per_fold = in_set @ users_in_fold / sizes
    freedom_between = in_set @ np.maximum(users_in_fold - 1, 0)
    patterns = _Patterns.of(is_scored)
    freedom_within = patterns.freedom_within(sets)
    # Sums over the users of each set of products of two models' deviations: within users from a
    # user's own mean over the folds of the set, between users from the mean of a fold.
    scores = _ScoresByPattern.of(values, is_scored, patterns)
    between_sums = _sums_between_users(scores, in_set)
    # Pairs of folds serve all sets at once; of many folds they take gigabytes, so that a few sets
    # are better gone through one by one.
    if len(is_scored) <= _MOST_FOLDS_IN_PAIRS or len(sets) >= len(is_scored):
        within_sums, users_in_two_folds = _sums_within_by_pairs(scores, sets, patterns)
    else:
        within_sums, users_in_two_folds = _sums_within_set_by_set(values, is_scored, sets)
    fold_pairs = sizes * (sizes - 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        # The users that two folds share on average, as a share of the users of a fold.
        overlap = users_in_two_folds / fold_pairs / users_per_fold
        overlap = np.where(freedom_within > 0, overlap, 0.0)
        # Transposed, the sums of each set can be divided by that set's degrees of freedom.
        within = np.where(freedom_within > 0, within_sums.T / freedom_within, 0.0).T
        between = (between_sums.T / freedom_between).T
    # The variance within users counts for the users whom two folds share, and the variance between
    # users counts for the others.
    return UserMoments(
        within=within,
        between=between,
        share_within=overlap / users_per_fold,
        share_between=(1 - overlap) / users_per_fold,
        users_per_fold=users_per_fold,
        freedom_within=freedom_within,
        freedom_between=freedom_between,
        span=float(np.nanmax(np.abs(values[0]), initial=1.0)),
    )


def _sums_between_users(scores: _ScoresByPattern, in_set: Floats) -> Floats:
    """How scores of two models vary together between users: sums over the folds of each set.

    In a fold, a user's distance from the fold's mean under one model is multiplied by the user's
    distance under the other, and the products of all users are added up.

    Args:
        scores: The scores of every model.
        in_set: 1 for a fold in a set, else 0; shape (sets, folds).

    Returns:
        Shape (sets, models, models).
    """
    models = len(scores.values)
    sums = np.zeros((len(in_set), models, models))
    for model, other in itertools.combinations_with_replacement(range(models), 2):
        sums_of_folds = scores.products_about_fold_means(model, other)
        # If these are 2, 5 and 1, the set of the first and last fold, (1, 0, 1), has the sum 3.
        sums_of_sets = in_set @ sums_of_folds
        sums[:, model, other] = sums_of_sets
        sums[:, other, model] = sums_of_sets
    return sums


def _sums_within_by_pairs(
    scores: _ScoresByPattern, sets: FoldsOfSets, patterns: _Patterns
) -> tuple[Floats, Floats]:
    """Sums of products of deviations from users' own means, and the users that folds share.

    Args:
        scores: Those of the models.
        sets: As for `user_moments`.
        patterns: The patterns of the users.

    Returns:
        The sums of every two models, shape (sets, models, models); and how many users two folds
        have in common, added up over the pairs of folds of each set, shape (sets,).
    """
    # The entry within[s, a, b] is, of the set s of folds and the models a and b, the sum over all
    # users and folds of the set of
    #     (score by a - the user's own mean by a) * (score by b - the user's own mean by b).
    # It is worked out from differences between two folds, a pair, which serve every set that holds
    # both. Users who are in the same folds have one pattern, and are added up in advance.
    models = len(scores.values)
    pairs = _Pairs.of(patterns)
    within = np.zeros((len(sets), models, models))
    if pairs.common_users.any():  # Otherwise nobody is in two folds, and all sums are 0.
        for a, b in itertools.combinations_with_replacement(range(models), 2):
            products = scores.products_of_differences(a, b, pairs)
            within[:, a, b] = _sums_about_own_means(sets, patterns, pairs, products)
            within[:, b, a] = within[:, a, b]
    # The matrix says which pairs of folds each set holds; its shape is (sets, pairs).
    users_in_two_folds = pairs.in_sets(sets.astype(np.float64)) @ pairs.common_users
    return within, users_in_two_folds


def _sums_within_set_by_set(
    values: AnyFloats, is_scored: Mask, sets: FoldsOfSets
) -> tuple[Floats, Floats]:
    """As `_sums_within_by_pairs`, set by set.

    Args:
        values: As for `user_moments`.
        is_scored: Which fold has which user; shape (folds, users).
        sets: As for `user_moments`.
    """
    within = np.zeros((len(sets), len(values), len(values)))
    users_in_two_folds = np.zeros(len(sets))
    for row, folds in enumerate(sets):
        is_scored_in_set = is_scored[folds]
        scores = np.where(is_scored_in_set, values[:, folds], 0.0).astype(np.float64)
        folds_of_user = is_scored_in_set.sum(axis=0)
        own_means = scores.sum(axis=1, keepdims=True) / np.maximum(folds_of_user, 1)
        deviations = np.where(is_scored_in_set, scores - own_means, 0.0)
        # For two models a and b, this sums over the folds f and the users u of the set.
        within[row] = np.einsum("afu,bfu->ab", deviations, deviations)
        # A user in n folds is in n (n - 1) / 2 pairs of them.
        users_in_two_folds[row] = (folds_of_user * (folds_of_user - 1) / 2).sum()
    return within, users_in_two_folds


def _sums_about_own_means(
    sets: FoldsOfSets, patterns: _Patterns, pairs: _Pairs, products: Floats
) -> Floats:
    """Sums over all users of products about the user's own means in a set; shape (sets,).

    Args:
        sets: As for `user_moments`.
        patterns: The patterns of the users.
        pairs: The pairs of folds.
        products: The products of differences between the two folds of a pair; shape (pairs,
            patterns).
    """
    sums = []
    for block in patterns.blocks(sets):
        folds_of_user = block @ patterns.in_fold.T
        products_in_set = pairs.in_sets(block) @ products
        # A user's sum of squares about the mean of n scores is that of all differences / n.
        sums.append((products_in_set / np.maximum(folds_of_user, 1)).sum(axis=1))
    return np.concatenate(sums)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Patterns:
    """Users by the folds that they are in: those of one pattern contribute alike."""

    in_fold: Floats
    """1 where the users of a pattern are in a fold; shape (patterns, folds)."""
    of_user: NDArray[np.int64]
    """The pattern of each user."""
    user_counts: NDArray[np.int64]
    """How many users have each pattern."""

    @classmethod
    def of(cls, is_scored: Mask) -> _Patterns:
        """The patterns of some users.

        Args:
            is_scored: Which fold has which user; shape (folds, users).
        """
        # The folds that a user is in are the bits of a number, so that equal numbers are equal
        # patterns. Where there are many folds they are taken 31 at a time: 31 bits fit into 64
        # beside the number of the pattern that the user has in all earlier folds.
        of_user = np.zeros(is_scored.shape[1], dtype=np.int64)
        for start in range(0, len(is_scored), 31):
            next_folds = is_scored[start : start + 31]
            bits_of_next_folds = next_folds.T @ (1 << np.arange(len(next_folds)))
            bits_of_folds_so_far = (of_user << 31) | bits_of_next_folds
            # The patterns are numbered in the order of these bits.
            _, first_users, of_user, user_counts = np.unique(
                bits_of_folds_so_far,
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
        # All users of a pattern are in the same folds as its first one.
        in_fold = is_scored[:, first_users].T.astype(np.float64)
        return cls(in_fold=in_fold, of_user=of_user, user_counts=user_counts)

    def blocks(self, sets: FoldsOfSets) -> list[Floats]:
        """Sets of folds as 1 and 0, as many at once as memory allows to hold with each pattern."""
        rows = max(1, _MOST_CELLS // max(len(self.user_counts), 1))
        starts = range(0, len(sets), rows)
        return [sets[start : start + rows].astype(np.float64) for start in starts]

    def freedom_within(self, sets: FoldsOfSets) -> Floats:
        """Of each user one less than the folds of the set that have the user; shape (sets,)."""
        freedom = []
        for block in self.blocks(sets):
            folds_of_user = block @ self.in_fold.T
            freedom.append(np.maximum(folds_of_user - 1, 0) @ self.user_counts)
        return np.concatenate(freedom)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Every two folds: each with all that come after it."""

    first: Indices
    second: Indices
    in_both: Floats
    """1 where the users of a pattern are in both; shape (pairs, patterns)."""
    common_users: Floats
    """How many users are in both; shape (pairs,)."""

    @classmethod
    def of(cls, patterns: _Patterns) -> _Pairs:
        """Of all folds of these patterns."""
        # A pattern says which folds a user is in, and so of each pair whether it holds both folds.
        first, second = np.triu_indices(patterns.in_fold.shape[1], 1)
        in_both = (patterns.in_fold[:, first] * patterns.in_fold[:, second]).T
        common_users = in_both @ patterns.user_counts
        return cls(first=first, second=second, in_both=in_both, common_users=common_users)

    def in_sets(self, sets: Floats) -> Floats:
        """1 where a set holds both folds; shape (sets, pairs).

        Args:
            sets: 1 for the folds of each; shape (sets, folds).
        """
        return sets[:, self.first] * sets[:, self.second]


@dataclass(frozen=True, kw_only=True, eq=False)
class _ScoresByPattern:
    """The scores of some models, the users of one pattern side by side."""

    values: Floats
    """The fold's mean where a user is not in a fold; shape (models, folds, users)."""
    fold_means: Floats
    """Shape (models, folds, 1)."""
    pattern_of_user: NDArray[np.int64]
    """Ascending; shape (users,)."""

    @classmethod
    def of(cls, values: AnyFloats, is_scored: Mask, patterns: _Patterns) -> _ScoresByPattern:
        """Of `values` as for `user_moments`."""
        # A pattern is which folds a user is in; those of one pattern come to stand side by side.
        users_by_pattern = np.argsort(patterns.of_user, kind="stable")
        users_in_fold = is_scored.sum(axis=1)[:, None]
        fold_means = np.nansum(values, axis=2, dtype=np.float64, keepdims=True)
        fold_means /= np.maximum(users_in_fold, 1)
        # A missing score is set to the mean of its fold: it deviates by 0, and adds to no sum.
        filled_values = np.where(is_scored, values, fold_means)
        return cls(
            values=np.take(filled_values, users_by_pattern, axis=2),
            fold_means=fold_means,
            pattern_of_user=patterns.of_user[users_by_pattern],
        )

    def _blocks(self) -> Iterator[slice]:
        """Users, as many at once as the cache of a processor holds the scores of."""
        models, folds, users = self.values.shape
        users_at_once = max(1, _CACHED_SCORES // (models * folds))
        for start in range(0, users, users_at_once):
            yield slice(start, start + users_at_once)

    def products_about_fold_means(self, a: int, b: int) -> Floats:
        """Sums over users of the products of two models' distances from the means of each fold.

        Args:
            a: A model.
            b: Another, or the same.

        Returns:
            Shape (folds,).
        """
        sums = np.zeros(self.values.shape[1])
        for block in self._blocks():
            distances = self.values[a, :, block] - self.fold_means[a]
            other_distances = self.values[b, :, block] - self.fold_means[b]
            sums += (distances * other_distances).sum(axis=1)
        return sums

    def products_of_differences(self, a: int, b: int, pairs: _Pairs) -> Floats:
        """Sums over the users of a pattern of products of two models' differences between folds.

        Args:
            a: A model.
            b: Another, or the same.
            pairs: The pairs of the folds that differ.

        Returns:
            Shape (pairs, patterns); 0 for users who are not in both folds.
        """
        sums = np.zeros(pairs.in_both.shape)
        for block in self._blocks():
            scores = self.values[a, :, block]
            other_scores = self.values[b, :, block]
            # The users of a pattern stand side by side, so that their products can be added up from
            # the pattern's first user on.
            pattern_of_user = self.pattern_of_user[block]
            patterns_of_block = slice(pattern_of_user[0], pattern_of_user[-1] + 1)
            first_users = np.flatnonzero(np.diff(pattern_of_user, prepend=-1))
            # In `_Pairs` the pairs of a fold with each later fold lie together. This is the place
            # of the first of them.
            first_pair = 0
            for fold in range(len(scores) - 1):
                products = scores[fold + 1 :] - scores[fold]
                if a == b:
                    products *= products
                else:
                    products *= other_scores[fold + 1 :] - other_scores[fold]
                after_last_pair = first_pair + len(products)
                sums_of_patterns = np.add.reduceat(products, first_users, axis=1)
                sums[first_pair:after_last_pair, patterns_of_block] += sums_of_patterns
                first_pair = after_last_pair
        return sums * pairs.in_both


def _at_least_one_user_differs(variance: Floats, freedom: Floats, span: float) -> Floats:
    """The variance; where nobody differs, the one that there would be if one had, by the span.

    Of what has not been seen in n tries there may be up to 3 in n (rule of three; Hanley and
    Lippman-Hand 1983).
    """
    nobody_differs = (variance <= _LARGEST_ROUNDING * span**2) & (freedom > 0)
    return np.where(nobody_differs, span**2 / np.maximum(freedom, 1), variance)


NEAR_BOUND = 0.9
"""From this mean on, scores that are at most 1 are near their bound."""
_ROUNDING_OF_SCORES = 1e-6
"""So far may a mean be above 1 by rounding, where scores have seven digits."""
_RULE_OF_THREE = 3
"""Users who differ by the whole scale, of whom none need be among those seen: the rule of three."""


def _variance_of_unseen_users(scores: Floats, sets: FoldsOfSets, moments: UserMoments) -> Floats:
    """What users not seen yet, who differ by the whole scale, may add to the variance of users.

    Near a bound hardly anybody differs from it, and those who do differ by much. Folds that
    happen to be without them look calm as well as good, so as many are counted there as may have
    been missed: 3 in n (rule of three; Hanley and Lippman-Hand 1983).

    Args:
        scores: As for `fold_variance`.
        sets: Likewise.
        moments: The moments of these scores.

    Returns:
        Shape (sets,); 0 where no bound is near, and where nobody differs, for that is counted as it
        is (`_at_least_one_user_differs`).
    """
    is_scored = ~np.isnan(scores)
    lowest_of_fold = np.where(is_scored, scores, np.inf).min(axis=1)
    highest_of_fold = np.where(is_scored, scores, -np.inf).max(axis=1)
    fold_means = _fold_means(scores)
    lowest = np.where(sets, lowest_of_fold, np.inf).min(axis=1)
    highest = np.where(sets, highest_of_fold, -np.inf).max(axis=1)
    best_fold_mean = np.where(sets, fold_means, -np.inf).max(axis=1)
    mean = sets @ fold_means / sets.sum(axis=1)
    # Only near a bound, here 1, do so few users differ that the folds may have missed them. These
    # few differ by much. Scores without that bound, such as errors, have their farthest users above
    # the mean.
    is_bounded = (best_fold_mean <= 1 + _ROUNDING_OF_SCORES) & (mean - lowest > highest - mean)
    is_near_bound = is_bounded & (mean >= NEAR_BOUND)
    scale = np.maximum(1.0, np.maximum(np.abs(lowest), np.abs(highest)))
    users_differ = moments.between[:, 0, 0] > _LARGEST_ROUNDING * moments.span**2
    freedom = np.maximum(moments.freedom_between, 1)
    # By the rule of three, 3 in n users may differ by the whole scale though none was seen to. So
    # a user has a variance of 3 / n of the squared scale, and a mean of users its part of that.
    users_per_fold = np.maximum(moments.users_per_fold, 1)
    variance = _RULE_OF_THREE * scale**2 / (freedom * users_per_fold)
    return np.where(is_near_bound & users_differ, variance, 0.0)


UNSTABLE = 0.01
"""Fold means that differ so much with at most this probability by users alone are unstable."""
_ROUNDING = 1e-12

SHARED = 0.2
"""How likely it is, before any fold is seen, that users of a fold have something in common."""
_EFFECTS = np.concatenate([[0.0], 2.0 ** np.arange(-1, 11)])
"""r: the variance that folds add, in that of the users' part; 0, or 1/2 to 1024 by octaves."""
_PRIOR = np.concatenate([[1 - SHARED], np.full(len(_EFFECTS) - 1, SHARED / (len(_EFFECTS) - 1))])


def effect_weights(variance_ratio: ArrayLike, folds: ArrayLike) -> Floats:
    """How likely each fold effect r is after some folds: Bayes' theorem, see the module.

    Args:
        variance_ratio: Variance of the fold means over what users explain, s2 / u, without a
            unit; of no meaning for one fold.
        folds: How many were seen, at least one; broadcast with `variance_ratio`.

    Returns:
        Shape (..., len(_EFFECTS)); each row sums to 1.
    """
    # The last axis is that of the effects, so the arguments get a last axis of length 1.
    freedom = np.maximum(np.asarray(folds, dtype=np.float64) - 1, 0)[..., None]
    # One fold has no variance of fold means, and leaves the prior as it is.
    ratios = np.where(freedom > 0, np.asarray(variance_ratio, dtype=np.float64)[..., None], 0.0)
    # With the effect r fold means have 1 + r times the variance that their users explain.
    # Bayes' theorem, in logarithms: the prior times how likely the fold means are with each effect.
    log_likelihoods = -freedom / 2 * (np.log1p(_EFFECTS) + ratios / (1 + _EFFECTS))
    logs = np.log(_PRIOR) + log_likelihoods
    # The largest becomes 1, so that none overflows.
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def p_value(distance: ArrayLike, variance_ratio: ArrayLike, folds: ArrayLike) -> Floats:
    """How likely a mean is farther from these folds' mean than so many of its users' errors.

    Args:
        distance: In standard errors that users alone would give it, at least 0.
        variance_ratio: As for `effect_weights`.
        folds: Likewise.
    """
    weights = effect_weights(variance_ratio, folds)
    return _mixture_p_value(np.asarray(distance, dtype=np.float64), weights)


def _mixture_p_value(distance: Floats, weights: Floats) -> Floats:
    """How likely a mean is farther than a distance: a mixture of normal distributions.

    With a fold effect r the mean is normal, its standard error sqrt(1 + r) times the users'.

    Args:
        distance: In standard errors that users alone would give; shape (...,).
        weights: How likely each fold effect is; shape (..., len(_EFFECTS)).
    """
    standard_errors = np.sqrt(1 + _EFFECTS)
    both_tails = 2 * scipy.special.ndtr(-distance[..., None] / standard_errors)
    return (weights * both_tails).sum(axis=-1)


_BISECTIONS = 60
"""After so many halvings low and high are the same in all 52 bits of a float's fraction."""


def distance_of_p_value(variance_ratio: ArrayLike, folds: ArrayLike, error: float) -> Floats:
    """The distance whose `p_value` is `error`: what an interval reaches to each side.

    Args:
        variance_ratio: As for `effect_weights`.
        folds: Likewise.
        error: How likely the mean may be farther, in (0, 1).

    Returns:
        In standard errors that users alone would give.
    """
    weights = effect_weights(variance_ratio, folds)
    # The p value has no inverse in closed form, so the distance is found by bisection. It lies
    # between the quantile of the mixture's narrowest normal distribution, without a fold effect,
    # and that of its widest one, with the largest effect.
    narrowest_quantile = -scipy.special.ndtri(error / 2)
    widest_quantile = narrowest_quantile * np.sqrt(1 + _EFFECTS[-1])
    low: Floats = np.asarray(narrowest_quantile)
    high: Floats = np.asarray(widest_quantile)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_too_near = _mixture_p_value(middle, weights) > error
        low = np.where(is_too_near, middle, low)
        high = np.where(is_too_near, high, middle)
    return high


_SIMULATED = {3: 5000, 4: 4871, 5: 3483, 6: 2727, 7: 2246, 8: 1914, 9: 1680, 10: 1495}
"""What 2,000,000 runs gave at 95 %, in 1e-5: folds in all -> level."""


@lru_cache(maxsize=256)
def look_error(k: int, confidence: float) -> float:
    """The error that each look may make, so that no look errs with the probability `confidence`.

    The looks are those after 1 to k - 1 folds, of normal fold means of which users explain all.

    Args:
        k: Folds in all.
        confidence: In (0, 1).

    Returns:
        At most 1 - confidence, so that each look alone holds with it under the whole prior;
        simulated with a fixed seed where it is not known, with a standard error of 2 % of it (more
        for hundreds of folds).
    Source: repeated confidence intervals, Jennison and Turnbull (1989), each look equally deep in
        its tails; the means of the first e of k folds are a finite population's.
    """
    # After each fold except the last, a run looks at the interval of its mean, to decide whether to
    # stop. Each look may err less often than all looks of the run together.
    if k <= 2:  # there is one look at most, after the first fold
        return 1 - confidence
    if confidence == 0.95 and k in _SIMULATED:
        return _SIMULATED[k] / 1e5  # the table is in hundred-thousandths
    # The more folds a run has, the fewer runs are simulated, so that none takes long.
    runs = max(min(50_000, 1_000_000 // k), 10_000)
    # No look may err more often than the only look of a run would.
    return min(simulated_look_error(k, confidence, runs=runs), 1 - confidence)


def simulated_look_error(k: int, confidence: float, *, runs: int) -> float:
    """`look_error` from so many runs, whatever is known."""
    rng = np.random.default_rng(20240901)
    scores = rng.standard_normal((runs, k))
    k_fold_means = scores.mean(axis=1)
    # A run looks at its mean after each fold but the last. `squares` are the sums of the squared
    # distances to that mean.
    moments_at_looks = running_moments(scores.T[:-1])
    p_values_at_looks = []
    for folds, (means, squares) in enumerate(moments_at_looks, start=1):
        # These folds are drawn from a finite population, the k folds, of which each has the
        # variance 1.
        standard_error = np.sqrt(1 / folds - 1 / k)
        distances = np.abs(means - k_fold_means) / standard_error
        variances = squares / max(folds - 1, 1)
        # `p_value` takes the ratio of this variance to the one that users explain. In the
        # simulation users explain all, which is 1, so the ratio is the variance.
        p_values_at_looks.append(p_value(distances, variances, folds))
    # The interval of a look misses the k-fold mean where its p value is below the error of the
    # look. A run errs if any look misses it, that is if its smallest p value is below. The error is
    # chosen so that the share 1 - confidence of the runs errs.
    smallest_p_values = np.min(p_values_at_looks, axis=0)
    return float(np.quantile(smallest_p_values, 1 - confidence))


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldVariance:
    """What some sets of folds tell of the variance of one fold's mean; arrays of shape (sets,)."""

    sizes: Counts
    """Folds in each set, at least one."""
    by_users: Floats
    """The part that users explain; NaN where it cannot be known, as with one fold of one user."""
    users_freedom: Floats
    """Degrees of freedom of that part."""
    of_fold_means: Floats
    """The variance of the fold means as seen, n-1 in the denominator; NaN for one fold."""
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
            return self.of_fold_means / self.by_users

    def half_widths(self, k: int, confidence: float) -> Floats:
        """How far the mean of each set is from that of all k folds, at every look at once.

        The k folds are a finite population: the distance has the variance v * (1/e - 1/k). Where
        users explain what varies, all looks of a run, after 1 to k - 1 folds, hold together with
        this confidence: one may look, go on, or ask for another tolerance at will.

        Args:
            k: Folds in all, at least as many as in any set.
            confidence: In (0, 1).

        Returns:
            Exactly 0 for all k folds; NaN where it cannot be known.
        """
        if k == 1:
            return np.zeros(len(self.sizes))
        # Smaller than 1 - confidence, so that the intervals of all looks of a run hold at once.
        error = look_error(k, confidence)
        # By the finite population correction the distance of a set's mean to that of all k folds
        # has this share of the variance of one fold's mean.
        share_of_variance = np.maximum(1 / self.sizes - 1 / k, 0)
        half_widths_by_users = self._half_widths_by_users(k, error, share_of_variance)
        degrees = np.maximum(self.sizes - 1, 1)
        student_t = -scipy.special.stdtrit(degrees, error / 2)
        half_widths_by_folds = student_t * np.sqrt(self.of_fold_means * share_of_variance)
        # The half width by users allows for effects of folds up to the largest of the prior. Folds
        # that differ by more have the half width by folds if it is larger. `fmax` is the larger of
        # both, or the one that is known.
        is_beyond_prior = self.ratios > _EFFECTS[-1]
        larger = np.fmax(half_widths_by_users, half_widths_by_folds)
        half_widths = np.where(is_beyond_prior, larger, half_widths_by_users)
        half_widths[self.sizes == k] = 0.0
        return half_widths

    def _half_widths_by_users(self, k: int, error: float, share_of_variance: Floats) -> Floats:
        """As far as the scores of users tell, and how likely folds differ by more than users.

        Args:
            k: Folds in all.
            error: How likely the mean may be farther.
            share_of_variance: 1/e - 1/k of each set; shape (sets,).
        """
        # A single fold has no ratio, and `effect_weights` ignores whatever stands there. Where
        # users explain no variance the ratio is infinite. There it does not matter either, because
        # the standard error below is 0.
        ratios = np.nan_to_num(self.ratios, posinf=0)
        # A Bayesian interval, which allows for folds that differ by more than their users, reaches
        # to each side by so many standard errors. It supposes a normal distribution.
        bayes_quantiles = distance_of_p_value(ratios, self.sizes, error)
        normal_quantile = -scipy.special.ndtri(error / 2)
        # With few users Student's t takes the place of the normal distribution: the half width is
        # multiplied by the quotient of their quantiles.
        t_quantiles = -scipy.special.stdtrit(self.users_freedom, error / 2)
        divisor = normal_quantile or 1  # an error of 1 has quantiles of 0, and so a half width of 0
        standard_errors = np.sqrt(self.by_users * share_of_variance)
        half_widths: Floats = t_quantiles / divisor * bayes_quantiles * standard_errors
        if self.hits is None or self.samples is None:
            return half_widths
        # Shares of hits have Wilson's interval instead. It reaches as many standard errors as a
        # normal distribution asks for, and is then widened as the Bayesian interval is. It is NaN
        # where somebody is in two folds.
        wilson_half_widths = wilson_half_width(
            self.hits,
            self.samples,
            population_ratio=k / self.sizes,
            standard_errors=normal_quantile,
        )
        half_widths_of_shares = wilson_half_widths / divisor * bayes_quantiles
        return np.where(np.isnan(wilson_half_widths), half_widths, half_widths_of_shares)


def wilson_half_width(
    hits: Floats, samples: Floats, population_ratio: Floats, standard_errors: float
) -> Floats:
    """How far the share of ones among some samples can be from that among all of them.

    A share's own variance is the less certain the fewer zeros, or ones, were seen, and least where
    the share was lucky. So the share of all takes its place: the shares S are sought from which the
    one seen is no farther than so many of their standard errors, S (1 - S) being the variance.

    Args:
        hits: Ones seen.
        samples: How many were seen, n.
        population_ratio: How many samples there are in all, N, for each one seen; at least 1.
        standard_errors: How many of them to each side.
    Source: score interval, Wilson (1927), with the continuity correction of Blyth and Still (1983)
        and the variance of a finite population (N / n - 1) / (N - 1) (Cochran 1977, section 3.2).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        population = samples * population_ratio
        # Squared standard errors over n, in a finite population: z^2 / n * (N - n) / (N - 1).
        squared_errors = standard_errors**2 * (population_ratio - 1) / (population - 1)
        farthest = np.zeros(len(hits))
        # The bound is taken upwards from the ones, then from the zeros.
        for count in (hits, samples - hits):
            # A discrete share gets a correction for continuity, of half a sample.
            corrected = np.minimum((count + 0.5) / samples, 1)
            # The upper end of Wilson's interval: the larger root of his quadratic.
            root = np.sqrt(squared_errors**2 + 4 * squared_errors * corrected * (1 - corrected))
            upper_end = (2 * corrected + squared_errors + root) / (2 * (1 + squared_errors))
            farthest = np.maximum(farthest, upper_end - count / samples)
    return farthest


def fold_variance(values: AnyFloats, sets: FoldsOfSets) -> FoldVariance:
    """The variance of one fold's mean about the mean of all folds, as each set of folds tells it.

    Args:
        values: A score per fold and user, NaN where the user has nothing held out in the fold; or
            the differences of two models' scores. Shape (folds, users).
        sets: At least one fold in each; shape (sets, folds).
    """
    scores: Floats = np.asarray(values, dtype=np.float64)
    sizes = sets.sum(axis=1)
    moments = user_moments(scores[None], sets)
    by_users = moments.variance_of(_weight_of_only_model(sets))
    fold_variance = FoldVariance(
        sizes=sizes,
        by_users=by_users.variance,
        users_freedom=by_users.freedom,
        of_fold_means=_variance_of_fold_means(scores, sets),
    )
    is_scored = ~np.isnan(scores)
    if np.isin(scores[is_scored], (0, 1)).all():
        # A share of hits needs samples that are independent: nobody is in two folds.
        has_share = (sizes > 1) & (moments.freedom_within == 0)
        return replace(
            fold_variance,
            hits=np.where(has_share, sets @ np.nansum(scores, axis=1), np.nan),
            samples=np.where(has_share, sets @ is_scored.sum(axis=1), np.nan),
        )
    unseen_users = _variance_of_unseen_users(scores, sets, moments)
    return replace(fold_variance, by_users=by_users.variance + unseen_users)


def _weight_of_only_model(sets: FoldsOfSets) -> Floats:
    """The weights that `UserMoments.variance_of` takes, where there is one model."""
    return np.ones((len(sets), 1))


def user_variance(values: AnyFloats, sets: FoldsOfSets) -> VarianceByUsers:
    """The part of the variance of a fold's mean that its users explain; see `UserMoments`.

    Args:
        as for `fold_variance`.
    """
    return user_moments(values[None], sets).variance_of(_weight_of_only_model(sets))


def user_variance_over_all_folds(values: AnyFloats) -> float:
    """`user_variance` of the set of all folds of `values`; NaN where it cannot be known."""
    set_of_all_folds = np.ones((1, len(values)), dtype=np.bool_)
    return float(user_variance(values, set_of_all_folds).variance[0])


def _fold_means(values: Floats) -> Floats:
    """The mean of each fold's scores, shape (folds,); 0 for a fold without any."""
    scored_users = (~np.isnan(values)).sum(axis=1)
    return np.nansum(values, axis=1) / np.maximum(scored_users, 1)


def _variance_of_fold_means(values: Floats, sets: FoldsOfSets) -> Floats:
    """The variance of the fold means of each set, n-1 in the denominator; NaN for one fold."""
    fold_means = _fold_means(values)
    # Distances from the mean of all folds are small numbers, whose squares keep their digits.
    centred_means = fold_means - fold_means.mean()
    sizes = sets.sum(axis=1)
    set_means = sets.astype(np.float64) @ centred_means / sizes
    # Every fold has a distance from the mean of every set; the shape is (sets, folds). Only the
    # folds in a set, for which `sets` is True, count for it.
    deviations = centred_means - set_means[:, None]
    squared_deviations = (sets * deviations**2).sum(axis=1)
    # Equal means differ by rounding, a tiny part of the largest, which is no variance.
    return variance_of_squared_deviations(
        squared_deviations, sizes, size_of_means=np.abs(fold_means).max()
    )


def variance_of_squared_deviations(
    squared_deviations: Floats, sizes: Counts, size_of_means: Floats
) -> Floats:
    """The variance of the fold means of each set, n-1 in the denominator; NaN for one fold.

    Args:
        squared_deviations: Sums of squares about the mean of each set; shape (sets,).
        sizes: Folds in each set.
        size_of_means: How large the means are; by rounding, equal ones differ by a tiny part of it.
    """
    is_rounding = squared_deviations <= (_ROUNDING * size_of_means) ** 2
    squared_deviations = np.where(is_rounding, 0.0, squared_deviations)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sizes > 1, squared_deviations / (sizes - 1), np.nan)
