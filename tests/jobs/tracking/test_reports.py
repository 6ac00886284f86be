"""What a tracked loop may report, ratings among it, and what cannot be a report."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core.jobs.reported_tables import finite_column, reported_table
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunState
from tests.jobs.tracking.loops import SECOND, all_of, lists, loop, rated, tracked


def test_predicted_ratings_are_evaluated_here_and_lower_is_better():
    cv = rated()
    for fold in cv:
        table = fold.test.copy()
        # Off by one, towards the middle of the scale of 1 to 5.
        table["prediction"] = table.rating + np.where(table.rating < 3, 1, -1)
        cv.report(table.sample(frac=1, random_state=1))
    assert cv.run.scores == pytest.approx([1.0] * 7)
    assert cv.run.record.folds[0].metrics["mae"] == pytest.approx(1.0)


def test_users_own_errors_are_pooled_over_all_ratings():
    cv = rated()
    for fold in cv:
        cv.report({user: 1 + user % 2 for user in fold.test.user_id})
    # Each user has one rating: half of them are off by 1, half by 2.
    assert cv.run.scores == pytest.approx([math.sqrt((1 + 4) / 2)] * 7)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.iloc[1:], "1 of 12 held-out ratings of fold 0 have no prediction"),
        (lambda t: t.drop(columns="prediction"), "no column 'prediction' or 'score'"),
        (lambda t: t.assign(prediction=math.nan), "row 1 of the table has the prediction 'nan'"),
    ],
    ids=["missing", "column", "nan"],
)
def test_predictions_that_are_not_whole_are_refused(change, said):
    cv = rated()
    with pytest.raises(InputError, match=said):
        loop(cv, lambda fold: change(fold.test.assign(prediction=3.0)))


REFUSED = {
    "nothing": (lambda f: None, "fold 0 was reported as None; report user -> score"),
    "truth": (lambda f: True, "fold 0 was reported as True"),
    "a list": (lambda f: [0.5], "fold 0 was reported as a list"),
    "nan": (lambda f: math.nan, "the score of fold 0 must be a finite number, but is nan"),
    "percent": (lambda f: 47.1, "the score of fold 0 is 47.1, but nDCG is at most 1"),
    "unknown user": (lambda f: all_of(f) | {99: 0.5}, "there is no user '99' in tiny"),
    "missing user": (
        lambda f: {1: 0.5},
        "user '10' .and 10 more. has held-out items in fold 0 but no score",
    ),
    "no number": (lambda f: all_of(f) | {3: "good"}, "the score of user 3 must be a number"),
    "too large": (lambda f: 2e30, r"the score of fold 0 is 2e\+30, but no score is further"),
    "user's nan": (lambda f: all_of(f, math.nan), "score of user . must be a finite number"),
    "columns": (
        lambda f: pd.DataFrame({"user": [1], "item": [2]}),
        r"the table has no column 'user_id' \(it has: user, item\)",
    ),
    "unknown item": (lambda f: lists(f, extra=[(1, 999)]), "there is no item '999' in tiny"),
    "twice": (
        lambda f: lists(f, extra=[tuple(lists(f).iloc[0])]),
        "item '[0-9]+' for user '[0-9]+' is listed twice in the table",
    ),
    "in training": (
        lambda f: lists(f, extra=[(1, f.train.item_id[f.train.user_id == 1].iloc[0])]),
        "1 of 25 recommendations are of items that the user has in training",
    ),
    "short": (
        lambda f: lists(f).groupby("user_id").head(1),
        "the longest list has 1 items, but ndcg@2 looks at 2",
    ),
    "empty": (lambda f: lists(f).iloc[:0], "the table of fold 0 has no rows"),
    "rank": (lambda f: lists(f).assign(rank=1), "two items of user '1.?' have the same rank"),
    "another name": (
        lambda f: lists(f).assign(Rank=range(len(lists(f)), 0, -1)),
        "has neither 'rank' nor 'score', but numbers in 'Rank'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_a_report_is_one_sentence_and_the_run_goes_on(case):
    make, said = REFUSED[case]
    cv = tracked()
    with pytest.raises(InputError, match=said):
        loop(cv, make)
    assert cv.run.record.state is RunState.INTERRUPTED
    assert cv.run.scores == ()
    for _ in (again := tracked()):
        again.report(0.5)
    assert again.run.run_id == cv.run.run_id
    assert again.run.record.state is RunState.FINISHED


def test_a_report_that_is_refused_can_be_made_again_in_the_same_body():
    cv = tracked(only_folds=(0,))
    for _fold in cv:
        with pytest.raises(InputError):
            cv.report("0.5")
        cv.report(0.5)
    assert cv.run.scores == (0.5,)


def test_reporting_twice_never_or_outside_is_refused():
    cv = tracked()
    with pytest.raises(InputError, match="no fold to report; call report in the body"):
        cv.report(0.5)
    with pytest.raises(InputError, match="fold 0 has been reported already"):
        loop(cv, lambda fold: cv.report(0.5) or 0.6)
    assert cv.run.scores == (0.5,)
    with pytest.raises(InputError, match="fold 1 was not reported: call report once"):
        for _ in cv:
            pass
    with pytest.raises(InputError, match="fold 1 was not reported"):
        for _ in cv:
            pass


def test_one_number_is_not_enough_for_a_rule_that_compares_users():
    cv = tracked(rule=ecv.Precision(tolerance=0.05))
    with pytest.raises(InputError, match="the rule 'precision' compares every user's score"):
        loop(cv, lambda fold: 0.5)


def test_who_has_no_list_counts_with_no_hit_and_it_is_said(caplog):
    cv = tracked(only_folds=(0,))
    for fold in cv:
        table = lists(fold)
        cv.report(table[table.user_id % 2 == 1])
    # Users 3 and 9 at rank 1, 1, 5, 7 and 11 at rank 2; the other six have nothing.
    assert cv.run.mean == pytest.approx((2 + 4 * SECOND) / 12)
    assert "6 of 12 users with held-out items have no list in fold 0" in caplog.text


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("ease", {}, "'ease' is an algorithm of e-fold"),
        ("EASE", {}, "'EASE' is an algorithm of e-fold"),
        (" x", {}, "cannot be the name of a tracked model"),
        ("a:b", {}, "no ':'"),
        ("x" * 61, {}, "at most 60 characters"),
        ("x", {"negatives": 100}, "'negatives' is for folds that e-fold computes"),
        ("x", {"metric": "ndgc"}, "no metric is called 'ndgc'; did you mean 'ndcg'"),
        ("x", {"metric": "rmse@10"}, "'rmse@10' is no metric with its list length"),
        ("x", {"n": 3}, "the metric ndcg@2 and n = 3 differ"),
        ("x", {"dataset": "none"}, "no dataset is called 'none'"),
        ("x", {"k": 1}, "k must be"),
        ("x", {"params": {"a": []}}, "what is said of x is name=value"),
    ],
)
def test_what_cannot_be_tracked_is_said_before_anything_runs(name, settings, said):
    with pytest.raises(InputError, match=said):
        tracked(name, **settings)
    assert list(ecv.runs()) == []


def test_ids_that_pandas_takes_for_nothing_are_texts(tmp_path):
    path = tmp_path / "told.csv"
    path.write_text("user_id,item_id,score\nNA,None,0.5\nnull,007,1\n")
    table = reported_table(path)
    assert table[["user_id", "item_id"]].to_numpy().tolist() == [["NA", "None"], ["null", "007"]]
    assert finite_column(table, "score").tolist() == [0.5, 1.0]
