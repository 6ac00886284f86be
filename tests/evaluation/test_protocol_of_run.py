"""The evaluation part of a run: its spec, its command, and what its folds hold."""

import numpy as np
import pytest

from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.evaluation import METRICS, Kind
from ecv_core.figures.words import metric_label
from ecv_core.fold.computing import protocol_of, run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import command_for


def spec(**given):
    return make_spec(**dict(dataset="synthetic", algorithm="popular", k=5) | given)


SAMPLED = dict(negatives=50, negative_sampling="popularity", candidates="train")


def test_default_is_full_ranking_of_all_items():
    protocol = protocol_of(spec(), 0)
    assert not protocol.sampled
    assert protocol.candidates == "all"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(candidates="some"), "no candidate set is called 'some'"),
        (dict(negatives=0), "must be at least 1, but is 0; leave it out"),
        (dict(negatives=50, negative_sampling="popular"), "did you mean 'popularity'"),
        (dict(negatives=9), "every held-out item is a hit; ask for at least 10"),
        (dict(negatives=1360), "synthetic has 1,360 items, so 1,360 negatives"),
        (dict(negatives=50, metric="efd"), "EFD looks at the lists"),
        (dict(metric="ndgc"), "no metric is called 'ndgc'; did you mean 'ndcg'"),
        (dict(metric="mae"), "MAE is of predicted ratings"),
        (dict(metric="log-loss"), "which only neu-mf predicts"),
        (dict(metric="gini", rule="precision", tolerance=0.03), "one value per fold and none per"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(given, message):
    with pytest.raises(InputError, match=message):
        spec(**given)


def test_log_loss_can_be_the_score_of_a_model_of_probabilities():
    assert spec(algorithm="neu-mf", metric="log-loss").metric_name == "log-loss"


def test_protocol_survives_json_and_old_json_has_the_default():
    chosen = spec(**SAMPLED)
    assert RunSpec.from_json(chosen.to_json()) == chosen
    old = RunSpec.from_json('{"dataset": "synthetic", "algorithm": "popular"}')
    assert (old.candidates, old.negatives, old.negative_sampling) == ("all", None, "uniform")


@pytest.mark.parametrize("given", [{}, SAMPLED, dict(metric="auc"), dict(metric="gini", n=5)])
def test_command_repeats_the_run(given):
    chosen = spec(**given)
    words = command_for(chosen).split()
    assert words[:4] == ["python", "-m", "ecv_core", "run"]
    assert spec_of(parse(words[3:])) == chosen


def test_every_algorithm_meets_the_same_protocol_and_every_fold_another_seed():
    one, other = spec(**SAMPLED), spec(algorithm="item-knn", **SAMPLED)
    assert protocol_of(one, 2) == protocol_of(other, 2)
    assert protocol_of(one, 2).seed != protocol_of(one, 3).seed
    assert protocol_of(one, 2).seed != protocol_of(spec(seed=7, **SAMPLED), 2).seed


def test_same_sampled_run_gives_the_same_scores():
    first, again = (run_fold(spec(**SAMPLED), 1) for _ in range(2))
    assert first.metrics == again.metrics
    np.testing.assert_array_equal(first.user_scores.values, again.user_scores.values)
    assert first.score == first.metrics["ndcg@10"]


def test_users_scores_are_kept_of_every_metric_that_has_them():
    result = run_fold(spec(n=7), 0)
    kinds = (Kind.HITS, Kind.NOVELTY, Kind.POPULARITY)
    of_lists = [name for name, one in METRICS.items() if one.kind in kinds]
    kept = [name for name in of_lists if METRICS[name].per_user]
    assert result.user_scores.metrics == tuple(f"{name}@7" for name in kept)
    assert {"coverage@7", "gini@1"} < result.metrics.keys()


@pytest.mark.parametrize("metric", ["auc", "gini", "coverage", "epc"])
def test_any_metric_can_be_the_score(metric):
    chosen = spec(metric=metric)
    result = run_fold(chosen, 0)
    assert result.score == result.metrics[chosen.metric_name]
    assert np.isfinite(result.score)
    assert (chosen.metric_name in result.user_scores.metrics) == METRICS[metric].per_user


def test_popular_recommends_few_items_and_item_knn_more():
    popular, neighbours = (
        run_fold(spec(algorithm=name), 0).metrics for name in ("popular", "item-knn")
    )
    assert popular["coverage@10"] < neighbours["coverage@10"]
    assert popular["gini@10"] > neighbours["gini@10"]


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "nDCG@10"),
        (dict(metric="gini"), "Gini index@10 (lower is better)"),
        (dict(metric="auc", negatives=100), "AUC (100 sampled negatives)"),
    ],
)
def test_label_says_what_else_decides_the_value(given, label):
    assert metric_label(spec(**given)) == label
