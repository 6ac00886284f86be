"""A run and its users' scores -> where the mean score of new users, rows or clusters is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation import metric_of
from ecv_core.records.run import RunRecord, UserScores, user_table
from ecv_core.records.spec import RunSpec
from ecv_core.stopping.interval import half_width, mean_and_deviation
from ecv_core.stopping.new_data import NewDataInterval, new_data_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class NewData:
    """What the folds of a run say of the mean of new data."""

    interval: NewDataInterval
    kind: str
    """'users', 'rows' of a table, or 'clusters' of users where the data name them."""


def new_data_of(run: RunRecord, users: Mapping[int, UserScores]) -> NewData | None:
    """Where the mean score of new users is, by the folds that a run used up to its stop.

    Args:
        run: With its folds.
        users: Fold -> its users' scores.

    Returns:
        None where the users' scores are not known for every fold, or tell nothing of others; of a
        table its fold scores serve then, if there are two that differ. None too where the folds of
        a table come in the order of time, for new rows are not drawn alike. No end is outside the
        range of the run's metric.
    """
    if run.spec.in_time:  # later data are not drawn as earlier ones are
        return None
    interval = _interval_by_user_scores(run, users)
    if interval is None and run.spec.task.of_table:
        interval = _interval_by_fold_scores(run)
    if interval is None:
        return None
    within_range = interval.within(*metric_of(run.spec).range)
    return NewData(interval=within_range, kind=_new_data_name(run, users))


def usual_new_data(spec: RunSpec) -> str:
    """What new data are of runs like this, where nobody says that users belong to clusters."""
    if spec.clustered:
        return "clusters"
    if spec.task.of_table:
        return "rows"
    return "users"


def _new_data_name(run: RunRecord, users: Mapping[int, UserScores]) -> str:
    """What new data are of a run: as `NewData.kind`."""
    usual = usual_new_data(run.spec)
    if usual != "users":
        return usual
    for result in run.folds[: run.folds_used]:
        if users[result.fold].clusters is None:
            return usual
    return "clusters"


def _interval_by_user_scores(
    run: RunRecord, users: Mapping[int, UserScores]
) -> NewDataInterval | None:
    """`new_data_interval` of the folds used; None where their users' scores do not tell."""
    metric = run.spec.metric_name
    scores_of_folds = []
    for result in run.folds[: run.folds_used]:
        scores = users.get(result.fold)
        if scores is None or metric not in scores.metrics:
            return None
        scores_of_folds.append(scores)
    if not scores_of_folds:
        return None
    _, table = user_table(scores_of_folds, metric)
    # The table has a row per fold and a column per user. A fold without anybody says nothing, and a
    # single user nothing of others.
    if table.shape[1] < 2 or np.isnan(table).all(axis=1).any():
        return None
    # Where splits are repeated, the variance is that of rows which come again; blocks of a
    # jackknife are other ones each time.
    if run.spec.overlap and not _repeats_share_rows(table, run.spec.folds_of_a_partition):
        return None
    return new_data_interval(
        table,
        run.spec.confidence,
        k=run.spec.folds_of_a_partition,
        rows=run.spec.task.of_table,
    )


def _repeats_share_rows(table: NDArray[np.floating], folds_of_a_partition: float) -> bool:
    """Whether the same rows meet again in repeated splits, and not other blocks of a jackknife,
    of which repeated splits have more than one partition has."""
    columns = table.shape[1]
    in_a_fold = float((~np.isnan(table)).sum(axis=1).mean())
    return columns <= 1.1 * in_a_fold * folds_of_a_partition


def _interval_by_fold_scores(run: RunRecord) -> NewDataInterval | None:
    """The corrected resampled t interval of the folds used; None where they do not tell.

    Folds beyond one partition hold out the same rows again: they make the mean and the spread
    sharper, but count as no data of their own.
    """
    scores = [result.score for result in run.folds[: run.folds_used]]
    if len(scores) < 2:
        return None
    mean, deviation = mean_and_deviation(scores)
    if deviation == 0:
        return None
    # The corrected resampled t interval of Nadeau and Bengio (2003): a fold tests one part of the
    # data and learns from the others.
    parts = run.spec.folds_of_a_partition
    tested_to_learnt = 1 / (parts - 1)
    # Beyond one partition, folds hold out the same rows again, and add no data.
    n = min(len(scores), max(2, round(parts)))
    half = half_width(deviation, n, run.spec.confidence, overlap=tested_to_learnt)
    return NewDataInterval(low=mean - half, high=mean + half)
