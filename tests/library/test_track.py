"""`ecv.track`: a loop of one's own, its reports worked out by hand, and however it can end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.cli.run_command import spec_of
from ecv_core.jobs.manager import Queue
from ecv_core.records.errors import Cancelled, InputError
from ecv_core.records.run import Energy, RunState
from ecv_core.store.document import command_for, run_document
from ecv_core.store.imports import read_run
from ecv_core.store.store import open_store
from tests.fake_folds import FakeMeter
from tests.jobs.tracking.conftest import no_meter, tiny  # noqa: F401  fixtures
from tests.jobs.tracking.loops import HAND, ROOT, all_of, lists, loop, tracked


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
    begin = time.perf_counter()
    for fold in cv:
        (active,) = open_store().active()
        assert active.state is RunState.RUNNING
        assert (active.progress.fold, active.progress.phase) == (4, "your code")
        time.sleep(0.1)
        cv.report(0.5)
        reported = time.perf_counter()
        time.sleep(0.2)  # after the report: nobody's cost
        assert fold.index == 4
    (result,) = cv.run.record.folds
    assert result.energy == joules
    assert 0.1 <= result.fit_seconds <= result.total_seconds <= reported - begin
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
        time.sleep(3600)
    cv.report(0.5)
"""


@pytest.mark.slow
def test_killed_it_is_interrupted_and_the_same_call_goes_on():
    command = [sys.executable, "-c", PROGRAM, "2"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        (active,) = open_store().active()
        assert len(active.folds) == 2
        with pytest.raises(InputError, match="in another program"):
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
    with pytest.raises(InputError, match="with these settings it has 0 of 7"):
        select("popular", "my model", seed=1)
    with pytest.raises(InputError, match="no algorithm is called 'your model'"):
        select("popular", "your model")


def test_a_selection_says_which_fold_of_a_tracked_run_it_lacks():
    loop(tracked(dataset="wide", rule=ecv.Fixed(folds=1)), lambda fold: all_of(fold, 0.01))
    said = (
        r"fold 1 of it is needed next; with these settings it has 1 of 7: track the others.*--full"
    )
    with pytest.raises(InputError, match=said):
        select("popular", "my model", confidence=0.9999)
    loop(tracked("numbers", dataset="wide"), lambda fold: 0.5)
    with pytest.raises(InputError, match="'numbers' was reported as one number per fold"):
        select("popular", "numbers")


def test_what_is_printed_to_go_on_asks_for_the_very_same_run():
    rule = ecv.Precision(tolerance=0.03, min_folds=2)
    spec = tracked(rule=rule, params={"factors": 50, "kind": "als"}, full=True).spec
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
