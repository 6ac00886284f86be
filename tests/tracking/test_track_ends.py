"""However a tracked loop ends, it goes on; a tracked run among other runs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.cli.run_command import spec_of
from ecv_core.errors import Cancelled, InputError
from ecv_core.records import RunState
from ecv_core.runner import Queue
from ecv_core.runs.document import command_for, run_document, track_call
from ecv_core.runs.run_file import read_run
from ecv_core.store import open_store
from tests.tracking.loops import HAND, ROOT, all_of, lists, loop, tracked

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
