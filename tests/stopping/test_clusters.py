"""Users who belong together: clusters take their place wherever users tell what varies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

import ecv_core as ecv
from ecv_core.analysis.comparison.paired_runs import compare_runs
from ecv_core.evaluation.scoring import Scoring
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.records.interactions import Interactions
from ecv_core.records.run import FoldResult, RunRecord, RunState, UserScores, by_cluster, user_table
from ecv_core.records.spec import RunSpec
from ecv_core.selection.evidence import EverySubset, PairedScores
from ecv_core.stopping import Precision
from ecv_core.stopping.adjustment import CheapModels
from ecv_core.stopping.fold_variance import user_variance
from ecv_core.stopping.odd_folds import doubt_about_folds
from ecv_core.store.recorded_users import read_users, users_table, write_users
from ecv_core.store.results import Results, scores_of
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result

METRIC = "ndcg@10"
NAN = np.nan


def results_of(values, clusters=None) -> list[FoldResult]:
    """Folds with these users' scores, shape (folds, users); NaN where a user is not there."""
    found = []
    for fold, row in enumerate(np.asarray(values, np.float32)):
        users = np.flatnonzero(~np.isnan(row)).astype(np.int32)
        whose = None if clusters is None else np.asarray(clusters, np.int32)[users]
        scores = UserScores(users=users, metrics=(METRIC,), values=row[users, None], clusters=whose)
        found.append(
            replace(fold_result(fold, float(row[users].mean(dtype=float))), user_scores=scores)
        )
    return found


def few_with_twins(seed=0, folds=3, people=30):
    """Scores of some people, and the same with everybody there twice, in a cluster of two."""
    rng = np.random.default_rng(seed)
    alone = rng.random((1, people)) * 0.5 + rng.random((folds, people)) * 0.3
    alone[rng.random(alone.shape) < 0.1] = NAN
    return alone, np.tile(alone, 2), np.tile(np.arange(people), 2)


def test_a_clusters_score_is_the_mean_and_its_users_share_of_what_is_off_it():
    # Fold 0: mean .5; cluster 5 has -.3 and +.1, cluster 2 has +.2; times 2 clusters / 3 users.
    # Fold 1 has one user of cluster 2 alone; fold 2 one of each: their own scores.
    values = np.array([[0.2, 0.6, 0.7], [NAN, NAN, 0.4], [0.1, NAN, 0.9]])
    names, told = by_cluster(values, np.array([5, 5, 2], np.int32))
    assert names.tolist() == [2, 5]
    expected = [[0.5 + 0.4 / 3, 0.5 - 0.4 / 3], [0.4, NAN], [0.9, 0.1]]
    np.testing.assert_allclose(told, expected, rtol=1e-12)


def test_means_stay_and_the_variance_is_the_one_robust_to_clusters():
    rng = np.random.default_rng(1)
    scores, clusters = rng.random(60), rng.integers(0, 9, 60).astype(np.int32)
    told = by_cluster(scores[None], clusters)[1]
    assert told.mean() == pytest.approx(scores.mean(), rel=1e-12)
    sums = [(scores[clusters == one] - scores.mean()).sum() for one in range(9)]
    robust = 9 / 8 * np.square(sums).sum() / 60**2  # Liang, Zeger (1986), with C / (C - 1)
    assert user_variance(told, np.ones((1, 1), bool))[0] == pytest.approx(robust)


def test_twins_in_clusters_of_two_tell_as_much_as_one_of_them():
    alone, both, whose = few_with_twins()
    rule = Precision(0.03)
    first, of_both = (rule.interval(results_of(one)[:1]).width for one in (alone, both))
    assert of_both == pytest.approx(first / np.sqrt(2), rel=0.06)  # as if they were twice as many
    named, single = (rule.interval(one) for one in (results_of(both, whose), results_of(alone)))
    assert (named.low, named.high) == pytest.approx((single.low, single.high), rel=1e-6)


def test_selections_and_doubts_go_by_clusters_too():
    alone, both, whose = few_with_twins()
    other = np.where(np.isnan(alone), NAN, np.random.default_rng(2).random(alone.shape))
    spec = RunSpec(dataset="d", algorithm="a", k=3)
    for way in (PairedScores, EverySubset):
        told = [
            way([scores_of(spec, results_of(one, of)) for one in pair])
            .between(0, 1, 0b111)
            .user_variance
            for pair, of in (
                ((alone, other), None),
                ((both, np.tile(other, 2)), whose),
                ((both, np.tile(other, 2)), None),
            )
        ]
        assert told[1] == pytest.approx(told[0], rel=1e-6)
        assert told[2] < 0.6 * told[0]
    # Of 200 who score alike a fold 10 % lower is far off; of two clusters it says little.
    rng = np.random.default_rng(3)
    values = 0.5 + rng.normal(0, 0.01, (6, 200))
    values[4] -= 0.05
    assert "The 5th fold scores 10 % below" in doubt_about_folds(results_of(values), METRIC)
    values += rng.normal(0, 0.1, (6, 2)).repeat(100, axis=1)
    assert doubt_about_folds(results_of(values, np.arange(2).repeat(100)), METRIC) == ""


def test_cheap_models_meet_a_dear_one_on_clusters():
    alone, both, whose = few_with_twins()
    folds = {
        name: {one.fold: one.user_scores for one in results_of(*given)}
        for name, given in {"alone": (alone,), "named": (both, whose)}.items()
    }
    single, named = (CheapModels({"cheap": folds[name]}, METRIC) for name in ("alone", "named"))
    np.testing.assert_allclose(named.values, single.values, rtol=1e-6)
    np.testing.assert_allclose(named.covariances, single.covariances, rtol=1e-5)


def test_runs_are_compared_over_clusters():
    alone, both, whose = few_with_twins()
    spec = RunSpec(dataset="d", algorithm="a", k=3, rule="never")

    def tested(values, clusters=None):
        made = []
        for name, more in (("one", 0.0), ("other", np.random.default_rng(4).random(30) / 9)):
            folds = results_of(values + np.resize(more, values.shape[1]), clusters)
            record = RunRecord(
                run_id=name,
                spec=spec,
                state=RunState.FINISHED,
                folds=tuple(folds),
                created_at=datetime(2026, 1, 1, tzinfo=UTC),
            )
            made.append(record)
        return compare_runs(made)[0][0].test

    named, single = tested(both, whose), tested(alone)
    assert (named.over, named.pairs) == ("clusters of users", 30)
    assert (single.over, single.pairs) == ("users", 30)
    assert named.p == pytest.approx(single.p, rel=1e-3)


def test_samples_of_a_group_are_one_in_the_same_way():
    y, groups = np.arange(40) % 3 == 0, np.random.default_rng(5).integers(0, 6, 40)
    estimator = DummyClassifier(strategy="constant", constant=False).fit(y[:, None], y)
    scoring = Scoring(estimator, "accuracy")
    scoring.units = groups
    scoring.scorer(estimator, y[:, None], y)
    right = (~y).astype(float)
    np.testing.assert_allclose(scoring.samples.values, by_cluster(right[None], groups)[1][0])


def interactions(clusters):
    return Interactions(
        dataset="d",
        users=np.array([0, 0, 1, 2], np.int32),
        items=np.array([0, 1, 0, 1], np.int32),
        user_ids=np.array(["a", "b", "c"]),
        item_ids=np.array(["x", "y"]),
        clusters=None if clusters is None else np.array(clusters, np.int32),
    )


def test_where_everybody_is_a_cluster_or_none_is_named_there_are_none():
    assert interactions([7, 7, 7, 3]).cluster_of.tolist() == [7, 7, 3]
    assert interactions([7, 7, 5, 3]).cluster_of is None
    assert interactions(None).cluster_of is None
    values = np.random.default_rng(6).random((2, 5)).astype(np.float32)
    plain = [one.user_scores for one in results_of(values)]
    assert user_table(plain, METRIC)[1].dtype == np.float32
    np.testing.assert_array_equal(user_table(plain, METRIC)[1], values)


def test_clusters_come_back_from_a_file(tmp_path):
    _, both, whose = few_with_twins()
    kept = {one.fold: one.user_scores for one in results_of(both, whose)}
    path = tmp_path / "users.parquet"
    write_users(tmp_path / "none", "d--a", users_table("d--a", kept, [METRIC]), path)
    found = read_users(path, "d--a", METRIC)
    assert found[2].metrics == (METRIC,)
    for fold, one in kept.items():
        assert found[fold].clusters.tolist() == one.clusters.tolist()


@pytest.fixture
def table() -> pd.DataFrame:
    data = ecv.load("synthetic")
    users, items = data.user_ids[data.users], data.item_ids[data.items]
    class_of = np.char.add("class ", (data.users % 4).astype(str))
    return pd.DataFrame({"user": users, "item": items, "school": class_of})


def halves(run) -> list[float]:
    return [one.interval.width for one in run.record.moments if one.interval]


def test_a_run_that_is_read_back_goes_by_the_clusters_that_it_was_decided_by(table):
    rule = ecv.Precision(0.3)
    plain = ecv.evaluate(table, "popular", rule=rule, keep=False)
    named = ecv.evaluate(ecv.Data.from_frame(table, cluster="school"), "popular", rule=rule)
    assert named.scores[: len(plain.scores)] == plain.scores[: len(named.scores)]
    assert halves(named) != halves(plain)
    store = open_store()
    record = store.run(named.record.run_id)
    back = Results(store).with_user_scores(record)
    again = Precision(0.3, k=10)
    assert [again.interval(back.folds[: n + 1]).width for n in range(len(back.folds))] == halves(
        named
    )
    assert Results(store).scores(record).users.shape == (10, 4)


def test_everybody_a_cluster_is_the_same_run_to_the_last_bit(table):
    runs = [
        ecv.evaluate(data, "popular", rule=ecv.Precision(0.3), keep=False)
        for data in (table, ecv.Data.from_frame(table, cluster="user"))
    ]
    assert halves(runs[0]) == halves(runs[1])


@pytest.mark.parametrize(
    ("school", "said"),
    [
        (
            ["a", "a", "a", "a"],
            "every user is in the cluster 'a', and a single cluster cannot show how",
        ),
        (["a", "b", "a", "c"], "user '1' is in two clusters, 'a' and 'b', but can be in only one"),
        (["a", "a", "b", None], r"1 of its 4 rows has no cluster \(row 4: "),
    ],
)
def test_clusters_that_cannot_be_are_one_sentence(school, said):
    frame = pd.DataFrame({"user": [1, 1, 2, 3], "item": list("xyxx"), "school": school})
    with pytest.raises(DatasetError, match=said):
        ecv.load(ecv.Data.from_frame(frame, cluster="school"))
    with pytest.raises(InputError, match="no column 'house'"):
        ecv.Data.from_frame(frame, cluster="house")
