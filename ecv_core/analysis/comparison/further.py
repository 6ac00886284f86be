"""Compared runs -> further tests of each pair, and of learners over several datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ecv_core.analysis.comparison.fairness import why_unfair
from ecv_core.analysis.comparison.paired_runs import Comparison, ScoredRun, folds_tell
from ecv_core.analysis.further_tests import (
    Chances,
    RankTest,
    correlated_bayes,
    friedman,
    randomization_p,
    signed_rank_p,
)
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.splits import of_k_parts

MARGIN = 0.01
"""The margin of practical equivalence, as a share of the better mean, where none is given."""
_ROUNDING = 5e-7
"""Of the larger score of a pair: users' scores are kept in 32 bits."""


@dataclass(frozen=True, kw_only=True)
class FurtherTests:
    """What other tests say of the two runs of a comparison, in its order."""

    first: str
    second: str
    margin: float
    """Differences up to it do not matter in practice; in the unit of the score."""
    chances: Chances | None
    """Of the learners, by the common folds; None where these do not tell: there is a single one, or
    all differ by the same."""
    signed_rank_p: float | None
    """Wilcoxon's, over users or samples; None where their scores are not known."""
    randomization_p: float | None
    """Likewise."""
    pairs: int
    """Users, or samples, that these two are over."""


def further_tests(
    comparisons: Sequence[Comparison], runs: Sequence[RunRecord], margin: float | None = None
) -> list[FurtherTests]:
    """Test each compared pair in other ways.

    Args:
        comparisons: As `compare_runs` gave them.
        runs: Those that were compared, with the scores of their users.
        margin: The margin of practical equivalence, in the unit of the score; by default MARGIN.

    Raises:
        InputError: For a margin that is not a finite number of at least 0.
    """
    if margin is not None and not 0 <= margin < np.inf:
        raise InputError(f"the margin of practical equivalence is at least 0, but is {margin}")
    scored = {run.run_id: ScoredRun(run) for run in runs}
    outcomes = []
    for comparison in comparisons:
        first = scored[comparison.first]
        second = scored[comparison.second]
        outcomes.append(_further_tests(comparison, first, second, margin))
    return outcomes


def _further_tests(
    comparison: Comparison, first: ScoredRun, second: ScoredRun, margin: float | None
) -> FurtherTests:
    """Test one pair; arguments as of `further_tests`."""
    folds = comparison.folds
    fold_scores = first.signed_fold_scores(folds)
    if margin is None:
        margin = MARGIN * abs(float(fold_scores.mean()))
    chances = None
    # As the corrected t test, it assumes that each fold tests on one of k parts of the data.
    if of_k_parts(first.spec.split) and folds_tell(first, second, folds):
        differences = fold_scores - second.signed_fold_scores(folds)
        parts = first.spec.folds_of_a_partition
        chances = correlated_bayes(differences, k=parts, margin=margin)
    user_count = 0
    ranks_p = None
    signs_p = None
    if first.has_users(folds) and second.has_users(folds):
        means = _means_of_common_users(first, second, folds)
        user_count = means.shape[1]
    if user_count:
        user_differences = means[0] - means[1]
        larger_scores = np.abs(means).max(axis=0)
        ranks_p = signed_rank_p(user_differences, rounding=_ROUNDING * larger_scores)
        signs_p = randomization_p(user_differences)
    return FurtherTests(
        first=comparison.first,
        second=comparison.second,
        margin=margin,
        chances=chances,
        signed_rank_p=ranks_p,
        randomization_p=signs_p,
        pairs=user_count,
    )


def _means_of_common_users(first: ScoredRun, second: ScoredRun, folds: tuple[int, ...]) -> Floats:
    """The means in both runs of each user who has one in both; shape (2, users)."""
    means_of_runs = [first.signed_user_means(folds), second.signed_user_means(folds)]
    return pd.concat(means_of_runs, axis=1, join="inner").to_numpy().T


class DatasetRanks(NamedTuple):
    """Learners ranked on several datasets by one metric."""

    metric: str
    learners: tuple[str, ...]
    datasets: tuple[str, ...]
    test: RankTest
    left_out: tuple[str, ...]
    """Runs that are in no rank, and why."""


def rank_over_datasets(
    runs: Sequence[RunRecord], title: Callable[[str], str] = str
) -> list[DatasetRanks]:
    """Rank the learners that ran on all of several datasets: Friedman's test and Nemenyi's.

    A learner's score on a dataset is its mean over the folds that all of them have there.

    Args:
        runs: Any; each metric is tested by itself.
        title: The title of an algorithm's id, by which learners are named.

    Returns:
        A test for each metric of which there are two datasets and three learners on all of them.
    """
    runs_by_metric: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if run.folds:
            runs_by_metric[run.spec.metric_name].append(run)
    ranks_by_metric = []
    for metric, runs_of_metric in runs_by_metric.items():
        ranks = _ranks_by_metric(metric, runs_of_metric, title)
        if ranks is not None:
            ranks_by_metric.append(ranks)
    return ranks_by_metric


def _ranks_by_metric(
    metric: str, runs_of_metric: Sequence[RunRecord], title: Callable[[str], str]
) -> DatasetRanks | None:
    """The test of one metric; None where too few learners ran on all its datasets."""
    # It is fair to rank the runs of a dataset that have the same folds, one run of each learner.
    fair_runs = _fair_runs(runs_of_metric, title)
    left_out = list(fair_runs.left_out)
    learners = _learners_on_every_dataset(fair_runs.by_dataset)
    for dataset, runs_by_learner in fair_runs.by_dataset.items():
        for learner in runs_by_learner:
            if learner not in learners:
                left_out.append(
                    f"{learner} on {dataset}: this learner did not run on every dataset"
                )
    # Friedman's test needs three learners, and two datasets that have scores of all of them.
    if len(learners) < 3:
        return None
    scores = {}
    for dataset, runs_by_learner in fair_runs.by_dataset.items():
        means = _means_over_common_folds([runs_by_learner[learner] for learner in learners])
        if means is None:
            left_out.append(f"{dataset}: its runs have no fold in common")
        else:
            scores[dataset] = means
    if len(scores) < 2:
        return None
    return DatasetRanks(
        metric=metric,
        learners=tuple(learners),
        datasets=tuple(scores),
        test=friedman(list(scores.values())),
        left_out=tuple(left_out),
    )


def _learners_on_every_dataset(by_dataset: Mapping[str, Mapping[str, RunRecord]]) -> list[str]:
    """The learners that ran on all datasets, in the order of the first."""
    first_dataset, *other_datasets = by_dataset.values()
    learners = []
    for learner in first_dataset:
        if all(learner in runs_by_learner for runs_by_learner in other_datasets):
            learners.append(learner)
    return learners


class _FairRuns(NamedTuple):
    """Runs that may be ranked on each dataset."""

    by_dataset: Mapping[str, Mapping[str, RunRecord]]
    """Dataset -> learner -> its run; all runs of a dataset share their folds with its first."""
    left_out: list[str]
    """The other runs in words, each with the reason."""


def _fair_runs(runs: Sequence[RunRecord], title: Callable[[str], str]) -> _FairRuns:
    """Sort runs by dataset and learner, one of each.

    Args:
        runs: By one metric.
        title: The title of an algorithm's id.
    """
    left_out = []
    by_dataset: defaultdict[str, dict[str, RunRecord]] = defaultdict(dict)
    for run in runs:
        runs_by_learner = by_dataset[run.spec.dataset]
        learner = _learner(run, title)
        reason = ""
        if runs_by_learner:
            first = next(iter(runs_by_learner.values()))
            reason = why_unfair(first.spec, run.spec)
        if learner in runs_by_learner:
            reason = "another run of the same learner is ranked instead"
        if reason:
            left_out.append(f"{learner} on {run.spec.dataset} ({run.run_id[:6]}): {reason}")
        else:
            runs_by_learner[learner] = run
    return _FairRuns(by_dataset, left_out)


def _means_over_common_folds(runs: Sequence[RunRecord]) -> list[float] | None:
    """The mean of each run over the folds that all have; None where there is no such fold."""
    scored_runs = [ScoredRun(run) for run in runs]
    folds = set.intersection(*[run.folds for run in scored_runs])
    if not folds:
        return None
    return [float(run.signed_fold_scores(sorted(folds)).mean()) for run in scored_runs]


def _learner(run: RunRecord, title: Callable[[str], str]) -> str:
    """An algorithm with its parameters, the same on every dataset."""
    parts = [title(run.spec.algorithm)]
    for name, value in run.spec.params:
        parts.append(f"{name} {value}")
    return ", ".join(parts)
