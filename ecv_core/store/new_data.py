"""A run and its users' scores -> where the mean score of new users, rows or clusters is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation import metric_of
from ecv_core.records.run import RunRecord, UserScores, user_table
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import confidence_after_stop
from ecv_core.stopping.interval import half_width, mean_and_deviation
from ecv_core.stopping.new_data import NewDataInterval, new_data_interval


@dataclass(frozen=True, kw_only=True)
class MeanOnNewData:
    """What the folds of a run say of the mean of new data."""

    interval: NewDataInterval
    of: str
    """Its units: 'users', 'rows' of a table, or 'clusters' of users where the data name them. The
    name is public: docs/estimators.md has `new_data.of`."""


def mean_on_new_data(run: RunRecord, user_scores: Mapping[int, UserScores]) -> MeanOnNewData | None:
    """Where the mean score of new users is, by the folds that a run used up to its stop.

    Args:
        run: With its folds.
        user_scores: Fold -> its users' scores.

    Returns:
        None where the users' scores are not known for every fold, or tell nothing of others; of a
        table its fold scores serve then, if there are two that differ. None too where the folds of
        a table come in the order of time, for new rows are not drawn alike. No end is outside the
        range of the run's metric.
    """
    if run.spec.in_time:
        # Later data are not drawn from the same distribution as earlier data.
        return None
    interval = _interval_by_user_scores(run, user_scores)
    if interval is None and run.spec.task.of_table:
        interval = _interval_by_fold_scores(run)
    if interval is None:
        return None
    # An interval knows of no metric, so that an end may lie where the metric cannot be.
    interval_of_mean = interval.within(*metric_of(run.spec).range)
    return MeanOnNewData(interval=interval_of_mean, of=_units_of_new_data(run, user_scores))


def usual_units_of_new_data(spec: RunSpec) -> str:
    """As `MeanOnNewData.of` of runs like this, where the data do not name users' clusters."""
    if spec.clustered:
        return "clusters"
    if spec.task.of_table:
        return "rows"
    return "users"


def _units_of_new_data(run: RunRecord, user_scores: Mapping[int, UserScores]) -> str:
    """As `MeanOnNewData.of` of a run; where it is of users, all its folds used have scores."""
    units = usual_units_of_new_data(run.spec)
    if units != "users":
        return units
    # An interval for users was made of the users' scores of all these folds, so none is missing.
    for result in run.folds[: run.folds_used]:
        if user_scores[result.fold].clusters is None:
            return "users"
    return "clusters"


def _interval_by_user_scores(
    run: RunRecord, user_scores: Mapping[int, UserScores]
) -> NewDataInterval | None:
    """`new_data_interval` of the folds used; None where their users' scores do not tell."""
    metric = run.spec.metric_name
    scores_of_folds = []
    for result in run.folds[: run.folds_used]:
        scores = user_scores.get(result.fold)
        if scores is None or metric not in scores.metrics:
            return None
        scores_of_folds.append(scores)
    if not scores_of_folds:
        return None
    # The table has a row for each fold and a column for each user, NaN where a user has no score.
    _, table = user_table(scores_of_folds, metric)
    user_count = table.shape[1]
    is_fold_empty = np.isnan(table).all(axis=1)
    if user_count < 2 or is_fold_empty.any():
        return None
    # `overlap` is above 0 where splits are repeated, so that several folds hold out the same rows.
    # The interval then needs the scores of the same row in these folds. Of some metrics, however,
    # only blocks of rows have scores (a jackknife), and every fold has blocks of its own.
    parts = run.spec.folds_of_a_partition
    if run.spec.overlap and not _repeats_share_rows(table, parts):
        return None
    # The 'users' of a table are its rows.
    return new_data_interval(table, run.spec.confidence, k=parts, rows=run.spec.task.of_table)


def _repeats_share_rows(table: NDArray[np.floating], folds_of_a_partition: float) -> bool:
    """Whether the same rows meet again in repeated splits, and not other blocks of a jackknife,
    of which repeated splits have more than one partition has."""
    rows_or_blocks = table.shape[1]
    mean_in_a_fold = float((~np.isnan(table)).sum(axis=1).mean())
    # Parts differ a little in size, so a partition may have somewhat more.
    return rows_or_blocks <= 1.1 * mean_in_a_fold * folds_of_a_partition


def _interval_by_fold_scores(run: RunRecord) -> NewDataInterval | None:
    """The corrected resampled t interval of the folds used; None where they do not tell.

    It allows for how the rule came to stop there.

    Folds beyond one partition hold out the same rows again: they make the mean and the spread
    sharper, but count as no data of their own.
    """
    scores = [result.score for result in run.folds[: run.folds_used]]
    if len(scores) < 2:
        return None
    mean, deviation = mean_and_deviation(scores)
    if deviation == 0:
        return None
    # The corrected resampled t interval of Nadeau and Bengio (2003), whose variance grows by the
    # ratio of test rows to training rows: a fold tests one part of the data and trains on the
    # others. Of a split that draws a share of the rows, the number of parts is 1 / share.
    parts = run.spec.folds_of_a_partition
    test_to_training = 1 / (parts - 1)
    # More folds than parts hold out the same rows again, and are no more data.
    independent_folds = min(len(scores), max(2, round(parts)))
    confidence = run.spec.confidence
    if len(scores) < run.spec.max_folds:  # a rule that looks at scores stops at folds that agree
        confidence = confidence_after_stop(run.spec)
    margin = half_width(deviation, independent_folds, confidence, overlap=test_to_training)
    return NewDataInterval(low=mean - margin, high=mean + margin)
