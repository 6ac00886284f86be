"""Runs on the same folds -> a paired test of every fair pair, and why others are not tested."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from ecv_core.analysis.comparison.fairness import dataset_and_metric, fair_key, why_unfair
from ecv_core.analysis.significance import (
    PairedTest,
    corrected_t_test_over_folds,
    differ_alike,
    holm,
    t_tests_over_users,
)
from ecv_core.evaluation import metric_of
from ecv_core.records.arrays import Floats
from ecv_core.records.frames import with_columns
from ecv_core.records.run import RunRecord, UserScores, user_table
from ecv_core.splits import of_k_parts

SIGNIFICANCE = 0.05
"""A test shows a difference where the corrected p is at most this."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs on the same folds, the one with the better mean first.

    Where lower is better, differences are turned round, so that better is always above 0.
    """

    first: str
    """A run's id, or what it is called."""
    second: str
    dataset: str
    metric: str
    """As in RunSpec.metric_name, or as shown."""
    folds: tuple[int, ...]
    """The folds that both have."""
    test: PairedTest
    p_holm: float
    """Corrected for all comparisons that were made together."""
    test_of_fitted_models: PairedTest | None = None
    """On a table, where `test` is of the learners: the test of the models as they were trained, by
    the scores of single samples; None where these are not known."""
    p_holm_of_fitted_models: float | None = None
    """Of `test_of_fitted_models`, corrected for all such tests."""

    @property
    def shows_difference(self) -> bool:
        """Whether the runs differ by more than chance explains."""
        return self.p_holm <= SIGNIFICANCE


@dataclass(frozen=True, kw_only=True)
class Untested:
    """Two runs of which no test would be fair, and why."""

    first: str
    second: str
    reason: str
    on_other_data: bool
    """Whether it goes without saying: they have another dataset or another metric."""


def user_means(scores: Mapping[int, UserScores], folds: Sequence[int], metric: str) -> pd.Series:
    """Work out each user's, or cluster's, mean over those of the folds in which there is a score.

    A user has no mean where nothing is held out, or where the metric is not defined (NaN).

    Returns:
        By the codes of the users, ascending.
    """
    users, values = user_table([scores[fold] for fold in folds], metric)
    has_score = np.isfinite(values)  # It has the shape (folds, users).
    counts = has_score.sum(axis=0)
    sums = np.where(has_score, values, 0).sum(axis=0, dtype=np.float64)
    is_scored = counts > 0
    return pd.Series(sums[is_scored] / counts[is_scored], index=users[is_scored])


class ScoredRun:
    """A run's scores, turned round where lower is better, so that higher is always better."""

    def __init__(self, run: RunRecord) -> None:
        self.run_id = run.run_id
        self.spec = run.spec
        self._sign = 1.0 if metric_of(run.spec).higher_is_better else -1.0
        self._score_by_fold = {fold.fold: fold.score for fold in run.folds}
        self.users_by_fold = run.user_scores
        self._means_by_folds: dict[tuple[int, ...], pd.Series] = {}

    @property
    def folds(self) -> set[int]:
        """The folds that ran."""
        return set(self._score_by_fold)

    def signed_fold_scores(self, folds: Sequence[int]) -> Floats:
        """The scores of these folds, higher is better; shape (folds,)."""
        return self._sign * np.array([self._score_by_fold[fold] for fold in folds])

    def has_users(self, folds: Sequence[int]) -> bool:
        """Whether every user's score is there for all these folds."""
        for fold in folds:
            scores = self.users_by_fold.get(fold)
            if scores is None or self.spec.metric_name not in scores.metrics:
                return False
        return True

    def signed_user_means(self, folds: tuple[int, ...]) -> pd.Series:
        """Each user's mean over these folds, kept for the other pairs that the run is in."""
        if folds not in self._means_by_folds:
            means = user_means(self.users_by_fold, folds, self.spec.metric_name)
            self._means_by_folds[folds] = self._sign * means
        return self._means_by_folds[folds]


def folds_tell(first: ScoredRun, second: ScoredRun, folds: Sequence[int]) -> bool:
    """Whether the scores of these folds tell how much two runs differ from fold to fold."""
    if len(folds) < 2:
        return False
    return not differ_alike(first.signed_fold_scores(folds) - second.signed_fold_scores(folds))


class _Pair(NamedTuple):
    """Two runs and the folds that both have, ascending."""

    first: ScoredRun
    second: ScoredRun
    folds: tuple[int, ...]

    @property
    def has_users(self) -> bool:
        return self.first.has_users(self.folds) and self.second.has_users(self.folds)

    @property
    def compares_learners(self) -> bool:
        """Whether the learners of a table can be compared: by several folds of k-fold, which do
        not all differ by the same."""
        spec = self.first.spec
        return (
            spec.task.of_table
            and of_k_parts(spec.split)
            and folds_tell(self.first, self.second, self.folds)
        )

    def reversed(self) -> _Pair:
        """The same with the second run first."""
        return _Pair(self.second, self.first, self.folds)


class _TestedPair(NamedTuple):
    """Two runs, the better first, and what the tests of them say."""

    pair: _Pair
    test: PairedTest
    test_of_fitted: PairedTest | None = None
    """See `Comparison.test_of_fitted_models`."""


def comparisons_with_best(best: RunRecord, runs: Sequence[RunRecord]) -> dict[str, Comparison]:
    """The tests of `compare_runs` of which one run is the best.

    Returns:
        The other run's id -> its test; one that cannot be tested fairly is missing.
    """
    tests = {}
    comparisons, _untested = compare_runs(runs)
    for test in comparisons:
        if test.first == best.run_id:
            tests[test.second] = test
        elif test.second == best.run_id:
            tests[test.first] = test
    return tests


def compare_runs(runs: Sequence[RunRecord]) -> tuple[list[Comparison], list[Untested]]:
    """Test every pair that can be tested fairly, and say of the others why not.

    Where every user's score is known for both, users are paired: each one's mean over the folds
    that both runs have. Otherwise folds are paired, with a correction for their dependence. On a
    table folds are paired wherever they are those of k-fold, for the test is then of the learners;
    the test over samples, which is of the fitted models, stands beside it.

    Args:
        runs: At least two, each with an id of its own; their folds carry users' scores, as far as
            they were kept.

    Returns:
        The tested pairs, in the order of the runs; and the others.
    """
    untested = []
    tested = []
    # Pairs whose users are the same in the same folds are tested together.
    pairs_with_users: defaultdict[Hashable, list[_Pair]] = defaultdict(list)
    for first, second in combinations([ScoredRun(run) for run in runs], 2):
        pair = _Pair(first, second, tuple(sorted(first.folds & second.folds)))
        reason = why_unfair(first.spec, second.spec) or _why_not_testable(pair)
        if reason:
            untested.append(untested_pair(first, second, reason))
        elif pair.has_users:
            pairs_with_users[fair_key(first.spec), pair.folds].append(pair)
        else:
            tested.append(_test_over_folds(pair))
    for pairs in pairs_with_users.values():
        for tested_over_users in _test_over_users(pairs):
            # Users, or samples, judge two fitted models; folds can judge what fitted them, too.
            if tested_over_users.pair.compares_learners:
                tested.append(_test_learners(tested_over_users))
            else:
                tested.append(tested_over_users)
    pairs_with_p, pairs_without_p = _pairs_with_and_without_p(tested)
    untested += map(_untested_without_p, pairs_without_p)
    places = {run.run_id: place for place, run in enumerate(runs)}

    def order(tested_pair: _TestedPair) -> list[int]:
        """The order of the runs that were given, whichever of a pair is better."""
        pair = tested_pair.pair
        return sorted((places[pair.first.run_id], places[pair.second.run_id]))

    return _corrected_comparisons(sorted(pairs_with_p, key=order)), untested


def _pairs_with_and_without_p(
    tested: Sequence[_TestedPair],
) -> tuple[list[_TestedPair], list[_TestedPair]]:
    """Those whose test has a p value, and the others."""
    with_p = []
    without_p = []
    for tested_pair in tested:
        if math.isnan(tested_pair.test.p):
            without_p.append(tested_pair)
        else:
            with_p.append(tested_pair)
    return with_p, without_p


def _untested_without_p(tested_pair: _TestedPair) -> Untested:
    """A pair whose test has no p, as one that was not tested."""
    test = tested_pair.test
    reason = (
        f"in all {test.pairs:,} {test.over} they differ by the same, which does not tell by how "
        "much they would in others"
    )
    return untested_pair(tested_pair.pair.first, tested_pair.pair.second, reason)


def untested_pair(
    first: ScoredRun | RunRecord, second: ScoredRun | RunRecord, reason: str
) -> Untested:
    """Two runs of which no test would be fair, for this reason."""
    return Untested(
        first=first.run_id,
        second=second.run_id,
        reason=reason,
        on_other_data=dataset_and_metric(first.spec) != dataset_and_metric(second.spec),
    )


def _why_not_testable(pair: _Pair) -> str:
    """Say why two runs have too little in common for a test; empty where they have enough."""
    unit = pair.first.spec.task.unit
    folds = pair.folds
    if not folds:
        return "no fold in common"
    if pair.has_users:
        for fold in folds:
            users = pair.first.users_by_fold[fold].users
            other_users = pair.second.users_by_fold[fold].users
            if not np.array_equal(np.sort(users), np.sort(other_users)):
                return f"different {unit}s held out: the dataset was not the same for both"
        means = pair.first.signed_user_means(folds)
        other_means = pair.second.signed_user_means(folds)
        if len(means.index.intersection(other_means.index)) < 2:
            return f"fewer than two {unit}s in common"
        return ""
    if len(folds) < 2:
        return f"only one fold in common, and no scores of individual {unit}s"
    # The corrected t test assumes that a fold tests on 1/k of the data and trains on the rest.
    if not of_k_parts(pair.first.spec.split):
        return f"no scores of individual {unit}s, and the folds are not those of a k-fold split"
    return ""


def _test_over_folds(pair: _Pair) -> _TestedPair:
    """Test a pair by the scores of its folds."""
    # Signed scores are the higher the better, whatever the metric.
    first = pair.first.signed_fold_scores(pair.folds)
    second = pair.second.signed_fold_scores(pair.folds)
    if first.mean() < second.mean():
        return _test_over_folds(pair.reversed())  # the better run comes first
    # If a split is repeated, its folds are more than the parts of which one is held out.
    parts = pair.first.spec.folds_of_a_partition
    return _TestedPair(pair, corrected_t_test_over_folds(first, second, k=parts))


def _test_learners(tested_over_samples: _TestedPair) -> _TestedPair:
    """Test the learners over folds, and keep the test of their fitted models beside it.

    Args:
        tested_over_samples: A pair on a table: its test is of the models as they were fitted.
    """
    # A learner fits a model in each fold. Its folds show how its models vary with the training
    # data, while the samples judge only the models that it has fitted here.
    tested_over_folds = _test_over_folds(tested_over_samples.pair)
    test_of_fitted_models = tested_over_samples.test
    if math.isnan(test_of_fitted_models.p):  # all samples differ by the same
        return tested_over_folds
    # Each test has the better run first. Where folds differ in size, one run can have the better
    # mean of folds and the other that of samples, so that this test has to be turned round.
    if tested_over_folds.pair.first is not tested_over_samples.pair.first:
        test_of_fitted_models = test_of_fitted_models.reversed()
    return tested_over_folds._replace(test_of_fitted=test_of_fitted_models)


def _test_over_users(pairs: Sequence[_Pair]) -> list[_TestedPair]:
    """Test pairs by the means of their users.

    Args:
        pairs: All with the same folds and the same held out. Users count who have a mean in every
            run.
    """
    folds = pairs[0].folds
    # Each run is a row of scores, whichever pairs it is in.
    row_of_run: dict[ScoredRun, int] = {}
    for pair in pairs:
        for run in (pair.first, pair.second):
            row_of_run.setdefault(run, len(row_of_run))
    means_of_runs = [run.signed_user_means(folds) for run in row_of_run]
    by_common_user = pd.concat(means_of_runs, axis=1, join="inner")
    scores = np.ascontiguousarray(by_common_user.to_numpy().T)
    run_means = scores.mean(axis=1)
    pairs_better_first = []
    rows_of_pairs = []
    for pair in pairs:
        first = row_of_run[pair.first]
        second = row_of_run[pair.second]
        # Signed scores are the higher the better, whatever the metric.
        if run_means[first] < run_means[second]:
            pairs_better_first.append(pair.reversed())
            rows_of_pairs.append((second, first))
        else:
            pairs_better_first.append(pair)
            rows_of_pairs.append((first, second))
    unit = f"{pairs[0].first.spec.task.unit}s"
    if all(map(_has_clusters, row_of_run)):
        unit = "clusters of users"
    tests = t_tests_over_users(scores, rows_of_pairs, unit=unit)
    return list(map(_TestedPair, pairs_better_first, tests))


def _has_clusters(run: ScoredRun) -> bool:
    """Whether the data name clusters of users in every fold: these take the place of users."""
    return all(scores.clusters is not None for scores in run.users_by_fold.values())


def _corrected_comparisons(tested: Sequence[_TestedPair]) -> list[Comparison]:
    """Correct the tests for being several."""
    p_values = holm([tested_pair.test.p for tested_pair in tested]).tolist()
    # Tests of the fitted models answer another question than those of the learners, so they are
    # corrected among themselves.
    p_of_fitted = {}
    for pair, _, test_of_fitted in tested:
        if test_of_fitted is not None:
            p_of_fitted[pair] = test_of_fitted.p
    corrected_of_fitted = holm(list(p_of_fitted.values())).tolist()
    p_holm_of_fitted = dict(zip(p_of_fitted, corrected_of_fitted, strict=True))
    comparisons = []
    for (pair, test, test_of_fitted), p_holm in zip(tested, p_values, strict=True):
        dataset, metric = dataset_and_metric(pair.first.spec)
        # Student's t knows of no metric: of a few pairs it may reach further than any two scores.
        lowest, highest = metric_of(pair.first.spec).range
        largest_difference = highest - lowest
        if test_of_fitted is not None:
            test_of_fitted = test_of_fitted.within(largest_difference)
        comparison = Comparison(
            first=pair.first.run_id,
            second=pair.second.run_id,
            dataset=dataset,
            metric=metric,
            folds=pair.folds,
            test=test.within(largest_difference),
            p_holm=p_holm,
            test_of_fitted_models=test_of_fitted,
            p_holm_of_fitted_models=p_holm_of_fitted.get(pair),
        )
        comparisons.append(comparison)
    return comparisons


FRAME_COLUMNS = {
    "dataset": "what both ran on",
    "metric": "their metric",
    "better": "the run with the better mean",
    "worse": "the run that it is compared with",
    "difference": "by how much it is better, mean over the pairs",
    "low": "lower end of the difference's interval, for this comparison alone",
    "high": "upper end",
    "p": "two-sided p of the t test, not corrected",
    "p_holm": "corrected for all comparisons of the table",
    "effect": "Cohen's d of the differences: mean / standard deviation",
    "over": "what is paired: users, samples or folds",
    "speaks_of": "of what a difference is shown: learners or fitted models",
    "pairs": "how many",
    "folds": "the folds that both have",
}
"""The frame's columns and what they mean."""


@with_columns(FRAME_COLUMNS)
def comparison_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row for each comparison with the FRAME_COLUMNS."""
    rows = []
    for comparison in comparisons:
        row = asdict(comparison.test)  # Its fields are columns too, under the same names.
        row["dataset"] = comparison.dataset
        row["metric"] = comparison.metric
        row["better"] = comparison.first
        row["worse"] = comparison.second
        row["p_holm"] = comparison.p_holm
        row["speaks_of"] = comparison.test.speaks_of
        row["folds"] = " ".join(map(str, comparison.folds))
        rows.append(row)
    frame = pd.DataFrame(rows, columns=list(FRAME_COLUMNS))
    return frame.astype({"effect": "float64"})
