"""Discriminative power: how well a metric tells configurations apart, by paired t tests over users.

Source: Anelli, Di Noia, Di Sciascio, Pomo, Ragone (2019), On the discriminative power of
hyper-parameters in cross-validation and how to choose them, sections 3 to 5; after Sakai (2006) and
Valcarce, Bellogín, Parapar, Castells (2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom, stdtr

from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import counted
from ecv_core.store.configurations import Configuration

DRAWN = 25
"""Pairs of configurations that the paper draws."""
_NEAR = 1e-9
"""A variance below this share of the two rows' own is worked out again from their differences."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PValueCurve:
    """A metric's p-value curve: p values by rank, largest first, averaged over folds."""

    p_values: Floats
    """Mean over folds at each rank; shape (pairs drawn,)."""
    deviations: Floats
    """Standard deviation over folds at each rank, n - 1 in the denominator; likewise."""

    @property
    def dp(self) -> float:
        """Discriminative power: the sum of the curve. Less tells configurations apart better."""
        return float(self.p_values.sum())

    @property
    def dp_plus_sd(self) -> float:
        """The same of the curve with a standard deviation added at each rank."""
        return float((self.p_values + self.deviations).sum())


def paired_p_values(user_scores: NDArray[np.floating]) -> Floats:
    """Two-sided p of a paired t test over users, for every pair of configurations in every fold.

    The variances of all differences follow from one product of the scores with themselves. Two
    configurations that give every user the same score have p = 1.

    Args:
        user_scores: Shape (configurations, folds, users); NaN where a user has no score in a fold,
            the same for all configurations.

    Returns:
        Shape (folds, pairs), pairs in the order of `numpy.triu_indices(configurations, 1)`.

    Raises:
        InputError: For fewer than two configurations, or two users in a fold, or users that
            some configurations have a score of and others not.
    """
    configurations, folds, _ = user_scores.shape
    if configurations < 2:
        raise InputError(
            f"discriminative power needs at least 2 configurations, but got {configurations}; "
            "tune with more values"
        )
    p_values = []
    for fold in range(folds):
        scores = user_scores[:, fold]
        # A user without a score in this fold has to be so for every configuration.
        missing = np.isnan(scores)
        if (missing != missing[0]).any():
            raise InputError(
                f"in fold {fold}, the configurations have scores for different users; compare "
                "runs on the same folds"
            )
        scored = scores[:, ~missing[0]].astype(np.float64)
        users = scored.shape[1]
        if users < 2:
            raise InputError(
                f"fold {fold} has {counted(users, 'user')} with a score, but a t test needs 2"
            )
        p_values.append(_p_values_of_fold(scored))
    return np.array(p_values)


def _p_values_of_fold(scores: Floats) -> Floats:
    """`paired_p_values` of one fold.

    Args:
        scores: Shape (configurations, users), finite; changed in place.
    """
    first, second = np.triu_indices(len(scores), 1)
    # The scores are changed in place, for the caller's copy is not needed any more. Every user's
    # mean is taken off, which changes no difference of two configurations but keeps more digits;
    # then every configuration's mean, so that each row holds deviations from it.
    scores -= scores.mean(axis=0)
    means = scores.mean(axis=1)
    scores -= means[:, None]
    # The squared distance of two rows, |a - b|^2 = |a|^2 + |b|^2 - 2 ab, for all pairs at once.
    products = scores @ scores.T
    squares = products.diagonal()
    squares_of_both = squares[first] + squares[second]
    squared_distances = squares_of_both - 2 * products[first, second]
    # Digits cancel where a pair differs for few users or none: its distance is taken directly.
    cancelled = np.flatnonzero(squared_distances <= _NEAR * squares_of_both)
    for pair in cancelled:
        squared_distances[pair] = np.square(scores[first[pair]] - scores[second[pair]]).sum()
    return _t_test_p(means[first] - means[second], squared_distances, scores.shape[1])


def _t_test_p(mean_differences: Floats, squared_deviations: Floats, users: int) -> Floats:
    """Two-sided p values of paired t tests; shape (pairs,) as of both arrays.

    Args:
        mean_differences: Over users.
        squared_deviations: The squared deviations of the users' differences from their mean, summed
            over users.
        users: How many there are.
    """
    errors = np.sqrt(np.maximum(squared_deviations, 0) / (users - 1) / users)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(mean_differences) / errors
    t[np.isnan(t)] = 0.0
    p_values: Floats = np.minimum(1.0, 2 * stdtr(users - 1, -t))
    # Two configurations that give every user the same score differ by rounding at most, and have
    # no t.
    rounding = 4 * np.finfo(np.float64).eps
    is_same = (np.abs(mean_differences) <= rounding) & (errors <= rounding)
    p_values[is_same] = 1.0
    return p_values


def draw_pairs(pairs: int, *, seed: int = 0) -> Indices:
    """Places of the pairs of one draw without replacement; all of them where there are fewer."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.permutation(pairs)[:DRAWN])


def expected_curve(p_values: Floats, *, drawn: int = DRAWN) -> PValueCurve:
    """The expectation of the curve over all draws of so many pairs, exactly.

    Of no more pairs than are drawn it is their own curve, as in the paper.

    In a draw of m of N pairs without replacement the r-th largest is the i-th largest of all with
    probability C(i-1, r-1) C(N-i, m-r) / C(N, m). `dp` is the expectation of the drawn DP, m times
    the mean p value. `deviations` are over folds of the expected p values: what folds differ by
    when no draw does, so `dp_plus_sd` is at most the expectation of the drawn one.

    Args:
        p_values: Shape (folds, pairs).
        drawn: m; all pairs where there are fewer.
    """
    pairs = p_values.shape[1]
    m = min(drawn, pairs)
    rank_in_draw = np.arange(1, m + 1)[:, None]
    rank_of_all = np.arange(1, pairs + 1)
    # The i-th largest of all is the r-th of a draw where r - 1 of those above it are drawn too, and
    # m - r of those below.
    ways_above = binom(rank_of_all - 1, rank_in_draw - 1)
    ways_below = binom(pairs - rank_of_all, m - rank_in_draw)
    probability = ways_above * ways_below / binom(pairs, m)
    largest_first = -np.sort(-p_values, axis=1)  # Each fold is sorted by itself.
    # A row of `probability` is a rank in a draw, a column a rank among all pairs. So `by_rank` has
    # for each fold and rank the p value that a draw is expected to have there.
    by_rank = largest_first @ probability.T
    deviations = np.zeros(m)
    if len(by_rank) > 1:
        deviations = by_rank.std(axis=0, ddof=1)
    return PValueCurve(p_values=by_rank.mean(axis=0), deviations=deviations)


def dominance(
    p_values: Floats, configurations: Sequence[Configuration]
) -> dict[str, dict[str, float]]:
    """Parameter -> value -> expected DP of pairs that share the value and differ elsewhere.

    The parameter with the lowest DP is dominant: once it is set, the others still change the
    scores, so that pairs are told apart. Section 5 of the paper.

    Args:
        p_values: Shape (folds, pairs), as `paired_p_values` gives them.
        configurations: Each with the same parameters.

    Returns:
        Of draws of DRAWN pairs, where a value has fewer that many times their mean p value;
        nothing for a single parameter; values with no pair are left out.
    """
    names = list(configurations[0])
    if len(names) < 2:
        return {}
    # These are the two indices of each pair of configurations, in the order of the columns.
    first, second = np.triu_indices(len(configurations), 1)
    mean_p_of_pairs = p_values.mean(axis=0)  # The mean is over folds.
    dp_by_parameter: dict[str, dict[str, float]] = {}
    for name in names:
        values = [configuration[name] for configuration in configurations]
        dp_by_parameter[name] = {}
        for value in dict.fromkeys(values):
            has_value = np.array([configuration[name] == value for configuration in configurations])
            both_have_value = has_value[first] & has_value[second]
            if both_have_value.any():
                # Discriminative power (DP) is the sum of the p values of DRAWN pairs, drawn by
                # chance: the smaller it is, the better the metric tells pairs apart. So what it is
                # expected to be is the mean p value times the number of pairs drawn.
                mean_p = float(mean_p_of_pairs[both_have_value].mean())
                dp_by_parameter[name][str(value)] = DRAWN * mean_p
    return dp_by_parameter


def dominant_parameter(dp_by_parameter: Mapping[str, Mapping[str, float]]) -> str | None:
    """The parameter with the lowest DP at its best value; None without several.

    Args:
        dp_by_parameter: As of `dominance`.
    """
    best = {name: min(values.values()) for name, values in dp_by_parameter.items() if values}
    if len(best) < 2:
        return None
    return min(best, key=best.__getitem__)
