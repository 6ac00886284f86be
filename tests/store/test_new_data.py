"""A run's document says where the mean of new users is, as the function does of the same scores."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.figures.words import winner_new_data_line
from ecv_core.records.run import UserScores
from ecv_core.store.document import run_document
from ecv_core.store.recorded import recorded_run, recorded_user_scores
from ecv_core.store.results import scores_of


def test_a_run_says_what_the_function_says_of_the_folds_that_it_used(tmp_path):
    target = tmp_path / "run.json"
    words = ["run", "synthetic", "popular", "-k", "5", "--no-energy", "--json", str(target)]
    assert cli.main(words) == 0
    document = json.loads(target.read_text())
    (run,) = ecv.runs()
    users = run.record.folds[0].users
    assert document["new_data"]["of"] == "users"
    low, high = document["new_data"]["interval"]
    assert low < document["mean"] < high
    assert run.new_data_interval == (low, high)
    assert users > 100


def test_recorded_scores_give_the_functions_interval_at_the_stop():
    run = recorded_run("ml-100k--item-knn")
    scores = recorded_user_scores(run)
    table = np.full((run.folds_used, 943), np.nan)
    for row, result in enumerate(run.folds[: run.folds_used]):
        of_fold = scores[result.fold]
        table[row, of_fold.users] = of_fold.of("ndcg@10")
    interval = ecv.new_data_interval(table[:, ~np.isnan(table).all(axis=0)])
    new_data = run_document(run, scores)["new_data"]
    assert new_data == {
        "interval": (pytest.approx(interval.low), pytest.approx(interval.high)),
        "of": "users",
    }


def test_it_is_nothing_where_a_folds_users_are_not_known():
    run = recorded_run("ml-100k--item-knn")
    scores = recorded_user_scores(run)
    assert run_document(run)["new_data"] is None
    del scores[run.folds[1].fold]
    assert run_document(run, scores)["new_data"] is None


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_share_of_which_all_users_have_the_least_or_the_most_ends_there(score):
    run = recorded_run("ml-100k--item-knn")
    alike = {}
    for fold, scores in recorded_user_scores(run).items():
        alike[fold] = replace(scores, values=np.full_like(scores.values, score))
    # One of the users might differ by 1. Of 943 users of whom nobody does, with 10 folds in all and
    # t(942) = 1.96249, the distance d solves d^2 = t^2 (10/9 / 943^2 + d / 943): 0.0050391.
    low, high = run_document(run, alike)["new_data"]["interval"]
    assert low == pytest.approx(max(0, score - 0.0050391), abs=1e-7)
    assert high == pytest.approx(min(1, score + 0.0050391), abs=1e-7)


def test_scores_of_a_run_know_the_range_of_its_metric():
    run = recorded_run("ml-100k--item-knn")
    assert scores_of(run.spec, run.folds).metric_range == (0, 1)


def test_clusters_and_rows_are_called_so():
    run = recorded_run("ml-100k--item-knn")
    clustered = {}
    for fold, scores in recorded_user_scores(run).items():
        clustered[fold] = UserScores(
            users=scores.users,
            metrics=scores.metrics,
            values=scores.values,
            clusters=scores.users // 10,
        )
    assert run_document(run, clustered)["new_data"]["of"] == "clusters"
    named = []
    for fold in run.folds:
        named.append(replace(fold, user_scores=clustered[fold.fold]))
    winner = scores_of(run.spec, named)
    interval = ecv.new_data_interval(winner.users)
    about = {"contender_count": 2, "specs": [run.spec]}
    line = winner_new_data_line(interval, 0.95, winner=winner, **about)
    assert line.startswith("95 % interval for new clusters: ")
    line = winner_new_data_line(interval, 0.95, winner=replace(winner, results=None), **about)
    assert line.startswith("95 % interval for new users: ")
    words = ["run", "iris", "naive-bayes", "-k", "5", "--no-energy"]
    assert cli.main(words) == 0
    (of_table,) = ecv.runs(dataset="iris")
    assert of_table.document()["new_data"]["of"] == "rows"
