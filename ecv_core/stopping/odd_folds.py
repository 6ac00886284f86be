"""Fold scores in running order -> what in them withdraws any promise: a fold far off, or a drift.

Each check asks the two-level variance (`fold_variance`): how likely is a fold so far from the mean
of the others, or so steep a slope, by what users explain and by what the other folds show? So a
model whose folds all differ much raises no alarm for a single one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats
from ecv_core.records.parameters import ordinal, percent_text
from ecv_core.records.run import FoldResult, user_table
from ecv_core.stopping.fold_variance import p_value, user_variance_over_all_folds

FALSE_ALARM = 0.01
"""In at most this share of runs with ten alike folds a fold is called far off; likewise a drift."""
_LOOKS = 10
"""A run of ten folds is looked at so many times, among which the false alarms are shared out."""
_FEWEST_FOLDS = 3
"""Of fewer folds none can be far off the others, and they have no drift."""
_ROUNDING = 1e-9
"""Scores that differ by less, as a share of the largest, are equal: means of equal ones round."""
_NO_GUARANTEE = ". Until this is explained, no statement about the mean of all folds is guaranteed."


def far_fold_p_values(scores: ArrayLike, variance_by_users: ArrayLike) -> Floats:
    """How likely each fold is so far from the mean of the others, were it one of them.

    Args:
        scores: The scores of the folds so far; shape (..., folds), at least three.
        variance_by_users: The variance of one fold's mean that users explain, in the unit of the
            score squared; NaN where it is not known, so that the other folds alone tell. Shape
            (...).

    Returns:
        Shape (..., folds), each times the number of folds (Bonferroni).
    Source: deleted residuals, Cook and Weisberg (1982, section 2.2).
    """
    values = np.asarray(scores, dtype=np.float64)
    n = values.shape[-1]
    mean_of_others = (values.sum(axis=-1, keepdims=True) - values) / (n - 1)
    squares = ((values - values.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1, keepdims=True)
    # Without one fold, the sum of squares falls by that fold's share of it (deleted residuals).
    share_of_fold = (values - mean_of_others) ** 2 * (n - 1) / n
    variance_of_others = np.maximum(squares - share_of_fold, 0) / (n - 2)
    # A fold minus the mean of n - 1 others varies n / (n - 1) times as much as one fold does.
    distance = np.abs(values - mean_of_others) * math.sqrt((n - 1) / n)
    p_values = _p_value_of_effect(
        distance, variance_of_others, variance_by_users, n - 2, _smallest_step(values)
    )
    return n * p_values  # Any of the n folds could have been the odd one (Bonferroni).


def drift_p_value(scores: ArrayLike, variance_by_users: ArrayLike) -> Floats:
    """How likely so steep a line through the fold scores is, were their order without meaning.

    Args:
        scores: In the order in which the folds ran; shape (..., folds), at least three.
        variance_by_users: As for `far_fold_p_values`.

    Returns:
        Shape (...).
    """
    values = np.asarray(scores, dtype=np.float64)
    n = values.shape[-1]
    # A line through each run's scores by least squares, over the places of its folds, whose mean
    # is 0. The last axis stays, with a single slope for each run.
    places = np.arange(n) - (n - 1) / 2
    sum_of_squared_places = places @ places
    slope = (values @ places / sum_of_squared_places)[..., None]
    residuals = values - values.mean(axis=-1, keepdims=True) - slope * places
    # The mean and the slope take one degree of freedom each.
    freedom = n - 2
    variance_about_line = (residuals**2).sum(axis=-1, keepdims=True) / freedom
    # A slope has the variance of one fold's mean divided by the sum of the squared places, so that
    # times the root of that sum it has the variance of one fold's mean.
    scaled_slope = np.abs(slope) * math.sqrt(sum_of_squared_places)
    p_values = _p_value_of_effect(
        scaled_slope, variance_about_line, variance_by_users, freedom, _smallest_step(values)
    )
    return p_values[..., 0]


def _p_value_of_effect(
    effect: Floats,
    variance: Floats,
    variance_by_users: ArrayLike,
    freedom: int,
    smallest_step: Floats,
) -> Floats:
    """How likely an effect is so large by chance.

    Args:
        effect: At least 0, so scaled that its variance is that of one fold's mean; shape (...,
            effects).
        variance: The variance of the fold means without the effect.
        variance_by_users: As for `far_fold_p_values`.
        freedom: Degrees of freedom of `variance`.
        smallest_step: As of `_smallest_step`; shape (..., 1).
    """
    variance_by_users = np.asarray(variance_by_users, dtype=np.float64)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        effect_in_errors = effect / np.sqrt(variance_by_users)
        # `p_value` takes a number of folds, whose variance has one degree of freedom less.
        p_with_users = p_value(effect_in_errors, variance / variance_by_users, freedom + 1)
        # Shares of a few samples come in steps, so folds may be equal or on a line by chance, which
        # does not prove that other folds would be. A score that is rounded to steps has a variance
        # of step^2 / 12, so folds vary by that at least.
        least_error = smallest_step / math.sqrt(12)
        error_of_folds = np.maximum(np.sqrt(variance), least_error)
        p_of_folds_alone = 2 * scipy.special.stdtr(freedom, -effect / error_of_folds)
    # An effect of 0 is never odd, though equal folds make its p-value 0 / 0.
    p_of_folds_alone = np.where(effect > 0, p_of_folds_alone, 1.0)
    # If the variance by users is not known (NaN) or 0, Student's t of the folds alone decides.
    return np.where(variance_by_users > 0, p_with_users, p_of_folds_alone)


def _smallest_step(scores: Floats) -> Floats:
    """The most that a step can be of which scores are multiples; 0 where all scores are equal.

    Args:
        scores: Shape (..., folds).

    Returns:
        Shape (..., 1).
    """
    differences = np.diff(np.sort(scores, axis=-1), axis=-1)
    # Differences of shares of a few samples are multiples of a step, and so is by how much they
    # differ from each other. That is small for other scores, even if they lie nearly on a line.
    further_differences = np.diff(np.sort(differences, axis=-1), axis=-1)
    steps = np.concatenate([differences, further_differences], axis=-1)
    is_rounding = steps <= _ROUNDING * np.abs(scores).max(axis=-1, keepdims=True)
    smallest = np.where(is_rounding, np.inf, steps).min(axis=-1, keepdims=True)
    return np.where(np.isinf(smallest), 0.0, smallest)


def doubt_about_folds(results: Sequence[FoldResult], metric: str) -> str:
    """What makes these folds no base for a promise, in a sentence; empty where nothing does.

    Args:
        results: The folds so far in the order in which they ran.
        metric: The run's, as in UserScores.metrics; without users' scores the folds tell alone.
    """
    if len(results) < _FEWEST_FOLDS:
        return ""
    scores = [result.score for result in results]
    return doubt_about_scores(scores, _variance_by_users(results, metric))


def _variance_by_users(results: Sequence[FoldResult], metric: str) -> float:
    """The variance of one fold's mean that users explain; NaN where a fold came without them."""
    scores = []
    for result in results:
        if result.user_scores is None or metric not in result.user_scores.metrics:
            return math.nan
        scores.append(result.user_scores)
    _, values = user_table(scores, metric)
    return user_variance_over_all_folds(values)


def doubt_about_scores(scores: Sequence[float], variance_by_users: float) -> str:
    """`doubt_about_folds`, of the scores of folds.

    Args:
        scores: In the order in which the folds ran.
        variance_by_users: As for `far_fold_p_values`.
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < _FEWEST_FOLDS:
        return ""
    # Folds of a single sample score 1 or 0, right or wrong, which no normal distribution fits.
    if np.isin(values, (0, 1)).all():
        return ""
    level = FALSE_ALARM / _LOOKS  # a run is looked at after each of its folds (Bonferroni)
    p_values = far_fold_p_values(values, variance_by_users)
    oddest = int(p_values.argmin())
    if p_values[oddest] < level:
        distance = _distance_words(values, oddest)
        fold = ordinal(oddest + 1)
        return f"The {fold} fold scores {distance} the others: find out why{_NO_GUARANTEE}"
    if drift_p_value(values, variance_by_users) < level:
        slope, _ = np.polyfit(range(len(values)), values, 1)
        verb = "rise"
        if slope < 0:
            verb = "fall"
        return (
            f"Scores {verb} from fold to fold, in the order in which the folds ran: find out "
            f"what changes between them{_NO_GUARANTEE}"
        )
    return ""


def _distance_words(scores: Floats, fold: int) -> str:
    """How far a fold's score is from the mean of the others: '12 % below'."""
    mean_of_others = float(np.delete(scores, fold).mean())
    distance = float(scores[fold]) - mean_of_others
    size = f"{abs(distance):.4g}"
    if mean_of_others != 0:
        size = percent_text(abs(distance / mean_of_others), ".0f")
    if distance < 0:
        return f"{size} below"
    return f"{size} above"
