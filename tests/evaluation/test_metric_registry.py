from contextlib import suppress
from math import inf
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core.evaluation import (
    METRICS,
    Kind,
    Metric,
    check_metric,
    column_title,
    evaluate_lists,
    sampled,
)
from ecv_core.evaluation.formulas import GAINS, HIT_METRICS, NOVELTY_METRICS, POPULARITY_METRICS
from ecv_core.evaluation.full import LIST_METRICS, RANK_METRICS
from ecv_core.evaluation.pairs import PAIR_METRICS
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.tasks import WITHOUT_CUTOFF, Task


def test_keys_are_the_metrics_own_ids():
    assert {key: metric.id for key, metric in METRICS.items()} == {key: key for key in METRICS}


@pytest.mark.parametrize(
    ("kind", "kernels"),
    [
        (Kind.HITS, HIT_METRICS),
        (Kind.NOVELTY, NOVELTY_METRICS),
        (Kind.LISTS, LIST_METRICS),
        (Kind.GAINS, GAINS),
        (Kind.POPULARITY, POPULARITY_METRICS),
        (Kind.RANKS, RANK_METRICS),
        (Kind.RANKS, sampled.RANK_METRICS),
        (Kind.PAIRS, PAIR_METRICS),
        (Kind.PROBABILITIES, {"log-loss"}),
        (Kind.RATINGS, {"mae", "rmse"}),
        (Kind.CLASSES, Task.CLASSES.metrics),
        (Kind.NUMBERS, Task.NUMBERS.metrics),
    ],
)
def test_every_metric_has_its_kernel_and_every_kernel_its_metric(kind, kernels):
    with_kernel = set()
    for name, metric in METRICS.items():
        if metric.kind is kind and metric.compute is None:  # others bring a function of their own
            with_kernel.add(name)
    assert with_kernel == set(kernels)


def test_only_metrics_of_the_top_n_are_named_with_n():
    of_the_top = (Kind.HITS, Kind.GAINS, Kind.NOVELTY, Kind.POPULARITY, Kind.LISTS)
    assert {n for n, metric in METRICS.items() if metric.kind not in of_the_top} == WITHOUT_CUTOFF


def test_every_metric_but_those_of_all_lists_has_a_value_per_user():
    assert {n for n, metric in METRICS.items() if not metric.per_user} == {"coverage", "gini"}


def test_errors_and_inequality_are_the_ones_where_lower_is_better():
    lower = {name for name, metric in METRICS.items() if not metric.higher_is_better}
    errors = {"mean-absolute-error", "root-mean-squared-error", "cross-entropy"}
    losses = {"log-loss", "calibrated-log-loss", "mae", "rmse"}
    assert lower == losses | {"gini", "average-popularity"} | errors


def test_average_popularity_alone_says_nothing_of_better_and_worse():
    descriptive = {name for name, metric in METRICS.items() if metric.descriptive}
    assert descriptive == {"average-popularity"}
    with pytest.raises(InputError, match="no run is scored by it"):
        make_spec(dataset="synthetic", algorithm="popular", metric="average-popularity")


@pytest.mark.parametrize(
    ("name", "title"),
    [("ndcg@10", "nDCG@10"), ("auc", "AUC"), ("coverage@5", "Item coverage@5"), ("new", "new")],
)
def test_columns_are_titled_as_papers_write_them(name, title):
    assert column_title(name) == title


OF_LISTS = {"epc", "efd", "average-popularity", "tail-share", "coverage", "gini"}
"""Metrics of the lists that users would get."""
OF_PAIRS = {"pooled-auc", "calibrated-log-loss"}
NOT_OF_RANKS = {"mae", "rmse"} | Task.CLASSES.metrics | Task.NUMBERS.metrics


@pytest.mark.parametrize(
    ("sampled", "log_odds", "refused"),
    [
        (False, False, NOT_OF_RANKS | OF_PAIRS | {"log-loss"}),
        (False, True, NOT_OF_RANKS | OF_PAIRS),
        (True, False, NOT_OF_RANKS | {"log-loss"} | OF_LISTS),
        (True, True, NOT_OF_RANKS | OF_LISTS),
    ],
)
def test_metric_that_applies_is_let_through(sampled, log_odds, refused):
    applies = set()
    for name in METRICS:
        with suppress(InputError):
            check_metric(name, sampled=sampled, log_odds=log_odds)
            applies.add(name)
    assert applies == set(METRICS) - refused


def test_the_range_of_a_metric_is_said_where_it_has_one():
    shares = {name for name, metric in METRICS.items() if (metric.low, metric.high) == (0, 1)}
    assert {"ndcg", "recall", "precision", "mrr", "hit", "map", "auc", "epc"} < shares
    assert METRICS["efd"].high == METRICS["rmse"].high == inf
    assert METRICS["r2"].low == -inf


def test_losses_of_any_size_have_no_bound_and_clipped_ratings_have_one():
    unbounded = {metric.id for metric in METRICS.values() if not metric.has_worst_score}
    losses = {"log-loss", "calibrated-log-loss", "cross-entropy"}
    losses |= {"mean-absolute-error", "root-mean-squared-error"}
    assert unbounded == losses | {"r2", "average-popularity"}


@pytest.mark.usefixtures("registries_as_they_were")
def test_of_two_packages_with_a_metric_of_one_name_the_first_is_computed(monkeypatch):
    def ones(hits, held_out):
        return np.ones(len(hits))

    def zeros(hits, held_out):
        return np.zeros(len(hits))

    points = []
    for function in (ones, zeros):
        point = Mock(load=Mock(return_value=Metric("twice", function)))
        point.name = "twice"
        points.append(point)
    monkeypatch.setattr("ecv_core.records.plugins.entry_points", lambda group: points)
    monkeypatch.setattr(METRICS, "added", {})
    monkeypatch.setattr(METRICS, "_is_loaded", False)
    matrix = csr_array(np.eye(2))
    evaluation = evaluate_lists(
        np.array([[0], [1]]), matrix, matrix, [1], train=matrix, extra_metrics=["twice"]
    )
    assert evaluation.means["twice@1"] == 1
