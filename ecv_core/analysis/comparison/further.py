"""Compared runs -> further tests of each pair, and of learners over several datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ecv_core.analysis.comparison.fairness import why_unfair
from ecv_core.analysis.comparison.paired_runs import Comparison, ScoredRun
from ecv_core.analysis.further_tests import (
    Chances,
    RankTest,
    correlated_bayes,
    friedman,
    randomization_p,
    signed_rank_p,
)
from ecv_core.analysis.orders.outcomes import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord

MARGIN = 0.01
"""The margin of practical equivalence, as a share of the better mean, where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherTests:
    """What other tests say of the two runs of a comparison, in its order."""

    first: str
    second: str
    margin: float
    """Differences up to it do not matter in practice; in the unit of the score."""
    chances: Chances | None
    """Of the learners, by the common folds; None where there is a single one."""
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
        comparisons: as `compare_runs` gave them.
        runs: those that were compared, with the scores of their users.
        margin: of practical equivalence, in the unit of the score; by default MARGIN.

    Raises:
        InputError: for a margin that is not a finite number of at least 0.
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
    fold_scores = first.fold_scores(folds)
    if margin is None:
        margin = MARGIN * abs(float(fold_scores.mean()))
    chances = None
    if len(folds) > 1:
        differences = fold_scores - second.fold_scores(folds)
        chances = correlated_bayes(differences, k=first.spec.k, margin=margin)
    of_users = np.empty(0)
    if first.has_users(folds) and second.has_users(folds):
        of_users = _user_differences(first, second, folds)
    ranks_p = None
    signs_p = None
    if len(of_users):
        ranks_p = signed_rank_p(of_users)
        signs_p = randomization_p(of_users)
    return FurtherTests(
        first=comparison.first,
        second=comparison.second,
        margin=margin,
        chances=chances,
        signed_rank_p=ranks_p,
        randomization_p=signs_p,
        pairs=len(of_users),
    )


def _user_differences(first: ScoredRun, second: ScoredRun, folds: tuple[int, ...]) -> Floats:
    """First minus second, of each user who has a mean in both; shape (users,)."""
    users, means = first.user_means(folds)
    other_users, other_means = second.user_means(folds)
    _, places, other_places = np.intersect1d(
        users, other_users, assume_unique=True, return_indices=True
    )
    return means[places] - other_means[other_places]


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
        runs: any; each metric is tested by itself.
        title: of an algorithm's id, by which learners are named.

    Returns:
        A test for each metric of which there are two datasets and three learners on all of them.
    """
    by_metric: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if run.folds:
            by_metric[run.spec.metric_name].append(run)
    tests = []
    for metric, of_metric in by_metric.items():
        ranks = _ranks_by(metric, of_metric, title)
        if ranks is not None:
            tests.append(ranks)
    return tests


def _ranks_by(
    metric: str, runs: Sequence[RunRecord], title: Callable[[str], str]
) -> DatasetRanks | None:
    """The test of one metric; None where too few learners ran on all its datasets."""
    tables, left_out = _by_dataset(runs, title)
    learners = _on_all(tables)
    for dataset, of_dataset in tables.items():
        for learner in of_dataset:
            if learner not in learners:
                left_out.append(
                    f"{learner} on {dataset}: this learner did not run on every dataset"
                )
    scores = {}
    for dataset, of_dataset in tables.items():
        means = _means_of(of_dataset, learners)
        if means is None:
            left_out.append(f"{dataset}: its runs have no fold in common")
        else:
            scores[dataset] = means
    if len(scores) < 2 or len(learners) < 3:
        return None
    return DatasetRanks(
        metric=metric,
        learners=learners,
        datasets=tuple(scores),
        test=friedman(list(scores.values())),
        left_out=tuple(left_out),
    )


def _by_dataset(
    runs: Sequence[RunRecord], title: Callable[[str], str]
) -> tuple[dict[str, dict[str, RunRecord]], list[str]]:
    """Dataset -> learner -> its run; all runs of a dataset share their folds with its first.

    Args:
        runs: by one metric.
        title: of an algorithm's id.
    Returns: also the other runs in words, each with the reason why it is left out.
    """
    left_out = []
    tables: defaultdict[str, dict[str, RunRecord]] = defaultdict(dict)
    for run in runs:
        of_dataset = tables[run.spec.dataset]
        learner = _learner(run, title)
        reason = ""
        if of_dataset:
            first = next(iter(of_dataset.values()))
            reason = why_unfair(first.spec, run.spec)
        if learner in of_dataset:
            reason = "another run of the same learner is ranked instead"
        if reason:
            left_out.append(f"{learner} on {run.spec.dataset} ({run.run_id[:6]}): {reason}")
        else:
            of_dataset[learner] = run
    return tables, left_out


def _means_of(of_dataset: Mapping[str, RunRecord], learners: Sequence[str]) -> list[float] | None:
    """Each learner's mean over the folds that all have; None where there is none, or no learner."""
    scored = [ScoredRun(of_dataset[learner]) for learner in learners]
    if not scored:
        return None
    folds = scored[0].folds
    for run in scored[1:]:
        folds = folds & run.folds
    if not folds:
        return None
    return [float(run.fold_scores(sorted(folds)).mean()) for run in scored]


def _on_all(tables: Mapping[str, Mapping[str, RunRecord]]) -> tuple[str, ...]:
    """The learners that ran on every dataset, in the order of the first."""
    learners = []
    for learner in next(iter(tables.values())):
        if all(learner in of_dataset for of_dataset in tables.values()):
            learners.append(learner)
    return tuple(learners)


def _learner(run: RunRecord, title: Callable[[str], str]) -> str:
    """An algorithm with its parameters, the same on every dataset."""
    parts = [title(run.spec.algorithm)]
    for name, value in run.spec.params:
        parts.append(f"{name} {value}")
    return ", ".join(parts)
