"""Scores of users in the folds that ran -> where the mean score of new users is.

A fold's users are taken as fixed by every other interval of this package: it says what these folds
or all k folds hold. This one says what a score is mostly read as: the mean score of other users,
drawn alike, of a model trained on as many. It needs the score of each user and nothing of the rule,
so it holds wherever a run stops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import counted
from ecv_core.stopping.interval import t_quantile

_ROUNDING = 1e-9
"""A deviation of less, as a share of the largest score, is none: sums of equal scores round."""
USUAL_K = 10
"""Folds of a run, where nobody says how many."""
ONE_FOLD = 0.15
"""What a single fold's own luck adds to the variance that its users show, of which one fold tells
nothing: chosen so that the recorded runs are held after one fold (benchmarks/new_users.py)."""

LEAST_SHARE = 0.25
"""Of the variance of a row's score in one fold, what the mean of its scores in repeated splits is
taken to vary at least: so no repetition makes the interval narrower than 0.8 of a single one."""


@dataclass(frozen=True, kw_only=True)
class NewDataInterval:
    """Where the mean score of new users (rows, clusters) is.

    >>> import ecv_core as ecv
    >>> ecv.NewDataInterval(low=0.25, high=0.75).width
    0.5
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """In the unit of the score."""
        return self.high - self.low

    def within(self, low: float, high: float) -> NewDataInterval:
        """The same interval, cut at the least and the most that the metric can be.

        One that lies outside altogether stays as it is: its scores have another scale.

        >>> import ecv_core as ecv
        >>> ecv.NewDataInterval(low=-0.05, high=0.1).within(0, 1)
        NewDataInterval(low=0.0, high=0.1)
        """
        if self.high < low or high < self.low:
            return self
        return NewDataInterval(low=float(max(self.low, low)), high=float(min(self.high, high)))


def new_data_interval(
    scores: ArrayLike,
    confidence: float = 0.95,
    *,
    k: float = USUAL_K,
    rows: bool = False,
) -> NewDataInterval:
    """Where the mean score of new users is, from the scores of some users in some folds.

    The variance of the mean of the folds' means has three parts: what users explain (of a mean of
    ratios, by linearization), what folds vary beyond their users, and what the training adds that
    all folds share, taken as the share 1/(k-1) of the first, as Nadeau and Bengio have it for
    repeated splits. The interval is that of the score test whose variance grows with the mean as
    the skewness of the users says, so it is Wilson's for users who score 0 or 1; users with many
    zeros and few hits need that.

    Args:
        scores: Shape (folds, users): one fold or several, in any order, and users (or rows of a
            table, or clusters) of any number; NaN where a user has nothing held out in a fold.
        confidence: In (0, 1).
        k: Folds that the run has when none is saved; of repeated splits those of one partition,
            1 + training rows / held-out rows of a fold.
        rows: Whether each is held out in one fold of a partition, as rows of a table are. Then
            Nadeau and Bengio's term for the training that folds share is the variance of a fold's
            mean over k - 1, and splits that are repeated leave it as it is. It is seen where nobody
            is in two folds, and has to be said of repeated splits.

    Returns:
        An interval with `low` and `high`; it holds the mean score of as many new users, drawn as
        these were. It knows of no metric, so its ends may be values that the metric cannot have:
        see `NewDataInterval.within`.

    Raises:
        InputError: For other shapes, fewer than two users with a score, a fold without one, or a
            value that is infinite.

    Source: Wilson (1927); Johnson (1978) for the skewness; Nadeau, Bengio (2003) for the training;
        docs/method.md has what was measured.

    >>> import numpy as np
    >>> import ecv_core as ecv
    >>> scores = np.random.default_rng(0).random((3, 200))
    >>> interval = ecv.new_data_interval(scores)
    >>> bool(interval.low < scores.mean() < interval.high)
    True
    """
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must be between 0 and 1, but is {confidence}")
    if k <= 1:
        raise InputError(f"k must be more than 1, but is {k}")
    table = _checked_scores(scores)
    fold_count, user_count = table.shape
    nobody_is_in_two_folds = np.count_nonzero(~np.isnan(table)) == user_count
    folds_have_own_rows = rows or nobody_is_in_two_folds
    variance_of_row = 0.0
    if folds_have_own_rows:
        # The mean of a row's scores in repeated partitions varies less than its score in one of
        # them, but new rows differ as much as before. So how rows vary within a fold counts below.
        variance_of_row = _variance_within_folds(table)
    spread = _spread_of_users(table, least_variance=LEAST_SHARE * variance_of_row)

    by_users = spread.variance / user_count
    if fold_count > 1:
        by_folds = _variance_beyond_users(table, variance_of_row) / fold_count
    else:
        by_folds = ONE_FOLD * by_users
    # A training set is k - 1 times as large as the test set of its fold, and its luck counts by so
    # much less than that of the test set (Nadeau and Bengio 2003).
    by_test_set = by_users
    if folds_have_own_rows:
        by_test_set = max(spread.variance, variance_of_row) * _mean_of_inverse_sizes(table)
    by_training = by_test_set / (k - 1)

    mean = float(np.nanmean(table, axis=1).mean())
    variance = by_users + by_folds + by_training
    return _score_interval(mean, variance, spread, user_count, confidence)


def _score_interval(
    mean: float, variance: float, spread: _UserSpread, user_count: int, confidence: float
) -> NewDataInterval:
    """The means from which the one seen is no farther than Student's t of their own errors."""
    t = t_quantile(user_count - 1, confidence)
    # If the mean of all users is m, their variance is larger than the one seen by slope times
    # (m - mean): hits, for example, vary by m (1 - m). So the ends m of the interval solve
    #     (m - mean)^2 = t^2 (variance + slope (m - mean) / users),
    # which is quadratic in m - mean. Below and above the mean the slope can differ.
    squared_distance = t**2 * variance
    shift_below = t**2 * spread.slope_below / (2 * user_count)
    shift_above = t**2 * spread.slope_above / (2 * user_count)
    return NewDataInterval(
        low=mean + shift_below - math.sqrt(shift_below**2 + squared_distance),
        high=mean + shift_above + math.sqrt(shift_above**2 + squared_distance),
    )


class _UserSpread(NamedTuple):
    """How much users differ, and by how much more where the mean is higher."""

    variance: float
    """Of the influence of one user, in the unit of the score squared."""
    slope_below: float
    """By how much the variance grows with the mean, towards the lower end of the interval."""
    slope_above: float
    """The same towards the upper end."""


def _spread_of_users(table: Floats, least_variance: float) -> _UserSpread:
    """How much users differ; where they all score alike, how much they still may.

    Args:
        table: Shape (folds, users).
        least_variance: The variance is at least this.
    """
    influence = _influence(table)
    variance = influence.var(ddof=1)
    # The slope says how much the variance of users grows with their mean.
    slope = _skewness_slope(influence, variance)
    variance = max(variance, least_variance)
    largest_score = float(np.nanmax(np.abs(table)))
    if variance > (_ROUNDING * largest_score) ** 2:
        return _UserSpread(variance, slope_below=slope, slope_above=slope)
    # The scores differ by rounding alone, and do not show how users vary.
    return _spread_of_equal_users(scale=max(1.0, largest_score), user_count=table.shape[1])


def _spread_of_equal_users(scale: float, user_count: int) -> _UserSpread:
    """How much users may still differ who all score alike.

    They do not show that none differs: one of them might have, by the whole scale and in either
    direction (the rule of three, Hanley and Lippman-Hand 1983). One in n who differs by the scale
    s has the variance s^2 / n. The variance grows with the distance d from the mean, as it does for
    hits, by s d, whichever way it goes.
    """
    return _UserSpread(scale**2 / user_count, slope_below=-scale, slope_above=scale)


def _checked_scores(scores: ArrayLike) -> Floats:
    """The scores of those users who have one; shape (folds, users)."""
    try:
        table = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers, one for each fold and user: {error}") from None
    if table.ndim != 2 or not table.shape[0]:
        raise InputError(
            f"scores must have the shape (folds, users), but have {table.shape}; give one row "
            "for each fold"
        )
    if np.isinf(table).any():
        raise InputError("a score is infinite; give finite scores, or NaN where a score is missing")
    is_scored = ~np.isnan(table)
    table = table[:, is_scored.any(axis=0)]
    if table.shape[1] < 2:
        raise InputError(
            f"an interval for new users needs at least two users with a score, but there is "
            f"{counted(table.shape[1], 'user')}"
        )
    empty_folds = np.flatnonzero(~is_scored.any(axis=1))
    if len(empty_folds):
        raise InputError(
            f"fold {empty_folds[0]} (a row) has no score of any user; leave the row out"
        )
    return table


def _influence(table: Floats) -> Floats:
    """How much each user moves the mean of the folds' means, times the number of users: (users,).

    A fold's mean is a ratio, for users with nothing held out in a fold are not in it; so a user
    counts by the deviation from the mean of each fold, over the share of users that the fold has.
    """
    is_scored = ~np.isnan(table)
    share_of_users = is_scored.mean(axis=1, keepdims=True)
    # In a fold with few users each of them counts for more. The mean is over the folds.
    return (_deviations(table) / share_of_users).mean(axis=0)


def _deviations(table: Floats) -> Floats:
    """Of each score, how far it is from the mean of its fold; 0 where a score is missing."""
    fold_means = np.nanmean(table, axis=1, keepdims=True)
    return np.nan_to_num(table - fold_means)


def _skewness_slope(influence: Floats, variance: float) -> float:
    """By how much the variance of a user's score grows with the mean: third moment over second.

    That is 1 - 2p for users who score 0 or 1 with the mean p.
    """
    if variance == 0:
        return 0.0
    count = len(influence)
    if count < 3:  # fewer users show no skewness
        return 0.0
    third_moment = ((influence - influence.mean()) ** 3).mean()
    # Without bias, as n - 1 is for variances.
    third_moment *= count**2 / ((count - 1) * (count - 2))
    # The covariance of a sample's mean and variance is the third moment / n, and the variance of
    # its mean is the variance / n: their quotient is the slope of the variance on the mean.
    return float(third_moment / variance)


def _mean_of_inverse_sizes(table: Floats) -> float:
    """The mean over the folds of 1 / n, where n is how many users a fold has.

    The mean score of n users varies 1 / n as much as the score of one of them.
    """
    users_of_folds = np.count_nonzero(~np.isnan(table), axis=1)
    return float((1 / users_of_folds).mean())


def _variance_within_folds(table: Floats) -> float:
    """The variance of the scores about the mean of their fold, pooled over the folds."""
    freedom = np.count_nonzero(~np.isnan(table)) - len(table)
    if freedom == 0:
        return 0.0
    return float((_deviations(table) ** 2).sum() / freedom)


def _variance_beyond_users(table: Floats, variance_of_row: float) -> float:
    """The variance of the folds' means beyond what the users within them explain; at least 0.

    Args:
        table: Shape (folds, users).
        variance_of_row: The variance of a row's score, where folds hold out rows of their
            own, which then explain as much; else 0.

    What a user's scores vary from fold to fold, pooled over users with several, is what users
    explain of a fold's mean; what is left is the luck of the fold and of its training.
    """
    is_scored = ~np.isnan(table)
    folds_of_users = is_scored.sum(axis=0)
    is_in_several_folds = folds_of_users > 1
    if not is_in_several_folds.any():
        return 0.0
    # Without the mean of its fold, a user's score still varies about the user's own mean.
    deviations = _deviations(table)
    user_means = deviations.sum(axis=0) / folds_of_users
    within_users = np.where(is_scored, deviations - user_means, 0.0)[:, is_in_several_folds]
    freedom = (folds_of_users[is_in_several_folds] - 1).sum()
    variance_of_user = (within_users**2).sum() / freedom
    # Where folds have rows of their own, other rows explain at least as much as what rows vary
    # within a fold.
    by_users = max(variance_of_user, variance_of_row) * _mean_of_inverse_sizes(table)
    variance_of_fold_means = np.nanmean(table, axis=1).var(ddof=1)
    return max(0.0, float(variance_of_fold_means - by_users))
