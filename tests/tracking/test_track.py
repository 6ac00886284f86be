"""`ecv.track`: a loop of one's own, its reports worked out by hand, and however it can end."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.cli.run_command import spec_of
from ecv_core.energy import FakeMeter
from ecv_core.errors import Cancelled, InputError
from ecv_core.records import Energy, RunState
from ecv_core.runner import Queue
from ecv_core.runs.document import command_for, run_document, track_call
from ecv_core.runs.run_file import read_run
from ecv_core.store import open_store

ROOT = Path(__file__).resolve().parents[2]
SECOND = 1 / math.log2(3)
"""nDCG of one held-out item at rank 2."""
HAND = (4 * 1 + 8 * SECOND) / 12
"""Four users have their item at rank 1, eight at rank 2."""


def tracked(name="my model", **settings):
    usual = {"dataset": "tiny", "k": 7, "metric": "ndcg@2", "rule": "never"}
    return ecv.track(name, **usual | settings)


def other_item(fold, user):
    """The candidate of a user that is not held out: of 8 items one has no interaction."""
    own = {*fold.train.item_id[fold.train.user_id == user]}
    held = {*fold.test.item_id[fold.test.user_id == user]}
    (item,) = {*range(101, 109)} - own - held
    return item


def lists(fold, *, extra=()):
    """The held-out item at rank 1 for users 3, 6, 9 and 12, at rank 2 for the others."""
    rows = []
    for user, held in zip(fold.test.user_id, fold.test.item_id, strict=True):
        pair = [held, other_item(fold, user)]
        rows += [(user, item) for item in (pair[::-1] if user % 3 else pair)]
    return pd.DataFrame([*rows, *extra], columns=["user_id", "item_id"])


def loop(cv, report):
    """Over all folds, each reported as the function says."""
    for fold in cv:
        cv.report(report(fold))


def test_each_fold_is_handed_out_with_the_ids_of_the_file():
    cv = tracked()
    seen = []
    for fold in cv:
        assert list(fold.train.columns) == ["user_id", "item_id", "rating", "timestamp"]
        assert (len(fold.train), len(fold.test), len(fold.validation)) == (72, 12, 0)
        seen += [(fold.index, *row) for row in fold.test[["user_id", "item_id"]].to_numpy()]
        first = fold.test.iloc[0]
        assert first.timestamp == 1000 + first.user_id * 10 + first.item_id
        assert first.rating == (first.item_id - 101) % 5 + 1
        cv.report(0.5)
    assert len({row[1:] for row in seen}) == 84  # every interaction is held out once
    assert sorted({row[0] for row in seen}) == list(range(7))


def test_recommendations_are_evaluated_under_full_ranking():
    cv = tracked()
    for fold in cv:
        cv.report(lists(fold))
    assert cv.run.scores == pytest.approx([HAND] * 7)
    assert cv.run.mean == pytest.approx(HAND)
    metrics = cv.run.record.folds[0].metrics
    assert metrics["hit@1"] == pytest.approx(1 / 3)
    assert metrics["recall@2"] == 1
    assert metrics["precision@2"] == 0.5
    assert metrics["mrr@2"] == pytest.approx(2 / 3)
    assert "ndcg@5" not in metrics  # of lists of two nobody knows what comes fifth


@pytest.mark.parametrize("column", ["rank", "score"])
def test_a_rank_or_a_score_orders_the_rows(column):
    cv = tracked()
    for fold in cv:
        table = lists(fold)
        place = table.groupby("user_id").cumcount() + 1
        table[column] = place if column == "rank" else -place
        cv.report(table.sample(frac=1, random_state=3))
    assert cv.run.scores == pytest.approx([HAND] * 7)


def test_the_same_lists_score_what_the_same_model_scores_here():
    """EASE as the algorithm of the project, and as a loop that makes its lists by itself."""
    same = {"k": 5, "n": 10, "rule": "never", "only_folds": (2,)}
    done = ecv.evaluate("synthetic", "ease", **same)
    (here,) = done.record.folds
    regularization = dict(done.spec.params)["regularization"]
    cv = tracked("lists of ease", dataset="synthetic", metric="ndcg", **same)
    for fold in cv:
        train = fold.matrices.train.toarray()
        inverse = np.linalg.inv(train.T @ train + regularization * np.eye(train.shape[1]))
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        scores = np.where(train > 0, -np.inf, train @ weights)
        best = np.argsort(-scores, axis=1)[:, :10]
        users = np.repeat(np.arange(len(best)), 10)
        names = fold.data.user_ids[users], fold.data.item_ids[best.ravel()]
        cv.report(pd.DataFrame({"user_id": names[0], "item_id": names[1]}))
    (told,) = cv.run.record.folds
    assert told.users == here.users
    assert told.score == pytest.approx(here.score, abs=2e-5)  # ours is in single precision
    for name in ("recall@5", "map@10", "coverage@10", "gini@10", "epc@10"):
        assert told.metrics[name] == pytest.approx(here.metrics[name], abs=2e-4)


@pytest.mark.parametrize("form", ["dict", "series", "frame", "text"])
def test_users_scores_are_averaged_and_kept(form):
    cv = tracked()
    for fold in cv:
        scores = {user: user / 100 for user in fold.test.user_id}  # mean of 1..12 is 6.5
        series = pd.Series(scores)
        cv.report(
            {
                "dict": scores,
                "series": series,
                "frame": pd.DataFrame({"user_id": series.index, "score": series.to_numpy()}),
                "text": {str(user): score for user, score in scores.items()},
            }[form]
        )
    assert cv.run.scores == pytest.approx([0.065] * 7)
    kept = open_store().user_scores(cv.run.run_id)[0].of("ndcg@2")
    assert sorted(kept) == pytest.approx([user / 100 for user in range(1, 13)])


def test_the_loop_ends_when_the_rule_says_stop_and_goes_on_to_check_it():
    scores = [0.30, 0.31, 0.305, 0.4, 0.4, 0.4, 0.4]
    cv = tracked(rule=ecv.Fixed(folds=3))
    for fold in cv:
        cv.report(scores[fold.index])
    assert (cv.run.stopped_at, len(cv.run.scores)) == (3, 3)
    assert cv.run.mean == pytest.approx(0.305)
    assert cv.run.record.state is RunState.FINISHED
    run_id = cv.run.run_id
    cv = tracked(rule=ecv.Fixed(folds=3), full=True)
    asked = []
    for fold in cv:
        asked.append(fold.index)
        cv.report(scores[fold.index])
    assert (cv.run.run_id, asked) == (run_id, [3, 4, 5, 6])
    assert cv.run.mean == pytest.approx(0.305)
    assert cv.run.record.k_fold_mean == pytest.approx(2.515 / 7)


class Flat:
    """Stops once two scores are the same."""

    def decide(self, results):
        same = len(results) > 1 and results[-1].score == results[-2].score
        return ecv.Decision(stop=same, reason=f"After {len(results)} folds: {same}: stop.")


def test_a_rule_of_ones_own_stops_it_and_the_run_is_not_kept():
    cv = tracked(rule=Flat())
    for fold in cv:
        cv.report([0.1, 0.2, 0.2, 0.3][fold.index])
    assert cv.run.stopped_at == 3
    assert list(ecv.runs()) == []


def test_the_body_is_metered_and_the_run_is_live_meanwhile(monkeypatch):
    joules = Energy(
        joules=7.0, cpu_joules=5.0, gpu_joules=0.0, ram_joules=2.0, grams_co2e=0.1, source="rapl"
    )
    monkeypatch.setattr("ecv_core.library.track.meter_for", lambda spec: FakeMeter([joules]))
    cv = tracked(only_folds=(4,))
    for fold in cv:
        (active,) = open_store().active()
        assert active.state is RunState.RUNNING
        assert (active.progress.fold, active.progress.phase) == (4, "your code")
        time.sleep(0.2)
        cv.report(0.5)
        time.sleep(0.2)  # after the report: nobody's cost
        assert fold.index == 4
    (result,) = cv.run.record.folds
    assert result.energy == joules
    assert 0.2 <= result.fit_seconds <= result.total_seconds < 0.4
    assert cv.run.record.progress is None


class OneAtATime:
    """A meter that is started only when it has been stopped."""

    going = False

    def start(self):
        assert not self.going
        self.going = True

    def stop(self):
        self.going = False
        return Energy.none()


def test_a_fold_that_was_not_reported_leaves_no_meter_running(monkeypatch):
    meter = OneAtATime()
    monkeypatch.setattr("ecv_core.library.track.meter_for", lambda spec: meter)
    for _ in tracked():
        break
    assert not meter.going
    loop(tracked(), lambda fold: 0.5)


# -- ratings ---------------------------------------------------------------------------------


def rated(name="my ratings", **settings):
    return tracked(name, metric="rmse", split="user-k-fold", **settings)


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
        (lambda t: t.drop(columns="prediction"), "neither a column 'prediction' nor 'score'"),
        (lambda t: t.assign(prediction=math.nan), "row 1 of the table has the prediction 'nan'"),
    ],
    ids=["missing", "column", "nan"],
)
def test_predictions_that_are_not_whole_are_refused(change, said):
    cv = rated()
    with pytest.raises(InputError, match=said):
        loop(cv, lambda fold: change(fold.test.assign(prediction=3.0)))


# -- what cannot be a report -------------------------------------------------------------------


def all_of(fold, score=0.5):
    return dict.fromkeys(fold.test.user_id, score)


REFUSED = {
    "nothing": (lambda f: None, "fold 0 was reported as None; report user -> score"),
    "truth": (lambda f: True, "fold 0 was reported as True"),
    "a list": (lambda f: [0.5], "fold 0 was reported as a list"),
    "nan": (lambda f: math.nan, "the score of fold 0 must be a finite number, but is nan"),
    "percent": (lambda f: 47.1, "the score of fold 0 is 47.1, but nDCG is from 0 to 1"),
    "unknown user": (lambda f: all_of(f) | {99: 0.5}, "there is no user '99' in tiny"),
    "missing user": (
        lambda f: {1: 0.5},
        "user '10' .and 10 more. has held-out items in fold 0 but no score",
    ),
    "no number": (lambda f: all_of(f) | {3: "good"}, "the score of user 3 must be a number"),
    "user's nan": (lambda f: all_of(f, math.nan), "score of user . must be a finite number"),
    "columns": (
        lambda f: pd.DataFrame({"user": [1], "item": [2]}),
        r"the table has no column 'user_id' \(it has: user, item\)",
    ),
    "unknown item": (lambda f: lists(f, extra=[(1, 999)]), "there is no item '999' in tiny"),
    "twice": (
        lambda f: lists(f, extra=[tuple(lists(f).iloc[0])]),
        "item '[0-9]+' for user '[0-9]+' is in the table twice",
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
        ("x", {"negatives": 100}, "leave their number out"),
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


# -- however it ends ---------------------------------------------------------------------------


def test_after_an_error_in_the_body_the_same_call_goes_on():
    cv = tracked()
    with pytest.raises(ZeroDivisionError):
        loop(cv, lambda fold: 0.5 if fold.index < 2 else 1 / 0)
    run = cv.run
    assert (run.record.state, len(run.scores)) == (RunState.INTERRUPTED, 2)
    assert "the loop was left" in run.record.error
    asked = []
    for fold in (again := tracked()):
        asked.append(fold.index)
        again.report(0.5)
    assert (again.run.run_id, asked) == (run.run_id, [2, 3, 4, 5, 6])
    for _ in (third := tracked()):  # it is finished: this is a new one
        third.report(0.5)
    assert third.run.run_id != run.run_id


@pytest.mark.parametrize(
    "other", [{"seed": 7}, {"rule": "e-fold"}, {"params": {"factors": 8}}, {"resume": False}]
)
def test_another_model_or_setting_is_another_run(other):
    for _ in (cv := tracked()):
        cv.report(0.5)
        break
    for _ in (again := tracked(**other)):
        again.report(0.5)
        break
    assert again.run.run_id != cv.run.run_id


def test_a_loop_left_open_in_the_same_process_is_taken_over():
    cv = tracked()
    open_loop = iter(cv)
    next(open_loop)
    cv.report(0.5)
    next(open_loop)
    with pytest.raises(InputError, match="is being looped over already"):
        iter(cv)
    for fold in (again := tracked()):
        assert fold.index == 1
        again.report(0.5)
        break
    with pytest.raises(InputError, match="no fold to report"):
        cv.report(0.5)
    assert again.run.run_id == cv.run.run_id


def test_cancelled_in_the_dashboard_it_keeps_the_fold_and_says_so():
    cv = tracked()
    with pytest.raises(Cancelled, match="the same track goes on there"):
        loop(cv, lambda fold: open_store().request_cancel(cv.run.run_id) or 0.5)
    assert (cv.run.record.state, len(cv.run.scores)) == (RunState.CANCELLED, 1)
    for fold in (again := tracked()):
        assert fold.index == 1
        again.report(0.5)
        break
    assert again.run.run_id == cv.run.run_id


PROGRAM = """
import sys, time
import ecv_core as ecv
cv = ecv.track("my model", dataset="tiny", k=7, metric="ndcg@2", rule="never")
for fold in cv:
    if fold.index == int(sys.argv[1]):
        print("waiting", flush=True)
        time.sleep(60)
    cv.report(0.5)
"""


def test_killed_it_is_interrupted_and_the_same_call_goes_on():
    command = [sys.executable, "-c", PROGRAM, "2"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        (active,) = open_store().active()
        assert len(active.folds) == 2
        with pytest.raises(InputError, match="is going on in another program"):
            next(iter(tracked()))
        os.kill(process.pid, signal.SIGKILL)
    asked = []
    for fold in (cv := tracked()):
        asked.append(fold.index)
        cv.report(0.5)
    assert (cv.run.run_id, asked) == (active.run_id, [2, 3, 4, 5, 6])


# -- among other runs --------------------------------------------------------------------------


def select(*names, **settings):
    return ecv.select("wide", names, k=7, metric="ndcg", n=2, **settings)


def test_a_tracked_run_can_be_selected_among_once_its_folds_are_there():
    loop(tracked(dataset="wide"), lambda fold: all_of(fold, 1.0))
    found = select("popular", "my model")
    assert found.winner == "my model"
    with pytest.raises(InputError, match="no fold of 'my model' is there with these settings"):
        select("popular", "my model", seed=1)
    with pytest.raises(InputError, match="no algorithm is called 'your model'"):
        select("popular", "your model")


def test_a_selection_says_which_fold_of_a_tracked_run_it_lacks():
    loop(tracked(dataset="wide", rule=ecv.Fixed(folds=1)), lambda fold: all_of(fold, 0.01))
    said = r"fold 1 of it is needed next; it has 1 of 7: track the others.*full=True"
    with pytest.raises(InputError, match=said):
        select("popular", "my model", confidence=0.9999)
    loop(tracked("numbers", dataset="wide"), lambda fold: 0.5)
    with pytest.raises(InputError, match="'numbers' was reported as one number per fold"):
        select("popular", "numbers")


def test_what_is_printed_to_go_on_asks_for_the_very_same_run():
    rule = ecv.Precision(tolerance=0.03, min_folds=2)
    spec = tracked(rule=rule, params={"factors": 50, "kind": "als"}, full=True).spec
    assert eval(track_call(spec), {"ecv": ecv}).spec == spec
    words = shlex.split(command_for(spec))
    assert words[3:6] == ["track", "my model", "tiny"]
    assert spec_of(cli.parse(words[3:])) == spec


def test_it_is_exported_and_imported_like_any_other():
    for fold in (cv := tracked()):
        cv.report(lists(fold))
    document = run_document(cv.run.record)
    assert document["spec"]["tracked"] is True
    found = read_run(json.dumps(document).encode(), "run.json").run
    assert (found.spec, found.folds[0].score) == (cv.spec, pytest.approx(HAND))


def test_nothing_here_computes_a_tracked_run():
    for _ in (cv := tracked()):
        cv.report(0.5)
        break
    with pytest.raises(InputError, match="'my model' is tracked: its folds are computed by your"):
        Queue(open_store()).resume(cv.run.run_id)
    with pytest.raises(InputError, match="is tracked"):
        ecv.evaluate("tiny", "my model", tracked=True, k=7, n=2)
