"""`track`, `ask` and `tell`: folds for programs that come and go."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.energy.meter import country
from ecv_core.jobs.owner import recover
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunState
from ecv_core.store.ownership import owner_of
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import open_store
from tests.jobs.tracking.conftest import no_meter, tiny  # noqa: F401  fixtures

ROOT = Path(__file__).resolve().parents[3]
TRACK = ("track", "my model", "tiny", "-k", "7", "--metric", "ndcg@2", "--rule", "never")


@pytest.fixture
def ecv_command(capsys):
    """A command -> its exit code, stdout and stderr."""

    def run(*words):
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out.strip(), said.err.strip()

    return run


@pytest.fixture
def run_id(ecv_command):
    code, out, _ = ecv_command(*TRACK)
    assert code == 0
    return out


@pytest.fixture
def asked(ecv_command, run_id):
    """What `ask RUN --json` says now."""

    def ask():
        code, out, _ = ecv_command("ask", run_id, "--json")
        assert code == 0
        return json.loads(out)

    return ask


def scores_file(folder, test, score=0.25):
    table = pd.read_csv(test)
    path = folder / "users.csv"
    pd.DataFrame({"user_id": table.user_id, "score": score}).to_csv(path, index=False)
    return path


def test_a_run_is_asked_and_told_to_its_end(ecv_command, run_id, asked, tmp_path):
    for index in range(7):
        fold = asked()
        assert set(fold) == {"fold", "train", "test"}
        assert fold["fold"] == index
        train, test = pd.read_csv(fold["train"]), pd.read_csv(fold["test"])
        assert list(train.columns) == ["user_id", "item_id", "rating", "timestamp"]
        assert (len(train), len(test)) == (72, 12)
        path = scores_file(tmp_path, fold["test"], score=index / 10)
        code, out, err = ecv_command("tell", run_id, index, "--scores", path, "--seconds", 3)
        assert (code, err) == (0, "")
        assert out.startswith(f"fold {index}: ndcg@2 {index / 10:.4f}. After {index + 1} fold")
        assert not Path(fold["train"]).exists()  # what was told is not kept twice
    assert asked() == {"stop": True, "reason": "all 7 folds are in."}
    run = open_store().run(run_id)
    assert (run.state, run.moments[-1].mean) == (RunState.FINISHED, pytest.approx(0.3))
    assert [fold.fit_seconds for fold in run.folds] == [3.0] * 7
    assert run.folds[0].energy.source == "none"


def test_the_rule_says_stop_and_why(ecv_command):
    _, run_id, _ = ecv_command(*TRACK[:-1], "fixed", "--min-folds", 2)
    for index in range(2):
        ecv_command("ask", run_id)
        ecv_command("tell", run_id, index, "--score", 0.5)
    code, out, _ = ecv_command("ask", run_id, "--json")
    assert code == 0
    assert json.loads(out)["stop"] is True
    assert json.loads(out)["reason"].endswith(": stop.")
    code, _, err = ecv_command("tell", run_id, 2, "--score", 0.5)
    assert code == 2
    assert "is finished after 2 of 7 folds" in err


def test_recommendations_are_evaluated_and_joules_are_told(ecv_command, run_id, asked, tmp_path):
    test = pd.read_csv(asked()["test"])
    path = tmp_path / "lists.csv"
    test[["user_id", "item_id"]].assign(score=1.0).to_csv(path, index=False)
    # Each list holds the one held-out item: found at rank 1, so 1, though it could be longer.
    code, _, err = ecv_command("tell", run_id, 0, "--recommendations", path)
    assert code == 2
    assert "the longest list has 1 items, but ndcg@2 looks at 2" in err
    train = pd.read_csv(asked()["train"])
    rows = [
        (user, item)
        for user, held in zip(test.user_id, test.item_id, strict=True)
        for item in [held, *({*range(101, 109)} - {held, *train.item_id[train.user_id == user]})]
    ]
    pd.DataFrame(rows, columns=["user_id", "item_id"]).to_csv(path, index=False)
    code, out, _ = ecv_command(
        "tell", run_id, 0, "--recommendations", path, "--joules", 3.6e6, "--seconds", 60
    )
    assert code == 0
    assert out.startswith("fold 0: ndcg@2 1.0000.")
    energy = open_store().run(run_id).folds[0].energy
    assert (energy.joules, energy.source, energy.measured) == (3.6e6, "told", False)
    assert energy.grams_co2e == country("DEU").grams_co2e_per_kwh  # of one kWh


def test_between_ask_and_tell_nobody_takes_the_run_for_dead(run_id, asked):
    assert asked()["fold"] == 0
    store = open_store()
    assert owner_of(store, run_id) == OUTSIDE
    assert recover(store, serves=True) is False
    (active,) = store.active()
    assert (active.run_id, active.state, active.outside) == (run_id, RunState.RUNNING, True)
    assert (active.progress.fold, active.progress.phase) == (0, "asked for, not told yet")


def test_asking_again_gives_the_same_fold_and_a_new_clock(run_id, asked):
    first = asked()
    since = open_store().run(run_id).progress.started_at
    assert asked() == first
    assert open_store().run(run_id).progress.started_at > since


def test_seconds_are_counted_from_the_last_ask(ecv_command, run_id, asked):
    asked()
    ecv_command("tell", run_id, 0, "--score", 0.5)
    (fold,) = open_store().run(run_id).folds
    assert 0 < fold.fit_seconds < 30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((0, "--score", "nan"), "the score of fold 0 must be a finite number"),
        ((1, "--score", 0.5), "fold 1 of run .* was not asked for: fold 0 comes next"),
        ((0, "--score", 0.5, "--seconds", -1), "the seconds of a fold must be at least 0"),
        ((0, "--score", 0.5, "--joules", "inf"), "the joules of a fold must be at least 0"),
        ((0, "--scores", "none.csv"), "none.csv cannot be read as a CSV table: No such file"),
        ((0, "--scores", "empty.csv"), "empty.csv cannot be read as a CSV table"),
        ((0, "--scores", "wrong.csv"), r"no column 'user_id' \(it has: a, b\)"),
        ((0, "--predictions", "wrong.csv"), "no column 'user_id'"),
        ((0,), "one of the arguments --scores --score"),
        ((0, "--score", 0.5, "--scores", "x"), "not allowed with argument"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_exit_code_2(
    ecv_command, run_id, asked, words, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    Path("wrong.csv").write_text("a,b\n1,2\n")
    asked()
    code, _, err = ecv_command("tell", run_id, *words)
    assert code == 2
    assert err.count("\n") == 0
    assert re.search(said, err)
    assert open_store().run(run_id).folds == ()


def test_a_fold_is_told_once(ecv_command, run_id, asked):
    asked()
    ecv_command("tell", run_id, 0, "--score", 0.5)
    code, _, err = ecv_command("tell", run_id, 0, "--score", 0.9)
    assert code == 2
    assert "was told before; its scores are kept" in err
    assert open_store().run(run_id).folds[0].score == 0.5


def test_track_goes_on_with_the_run_that_waits_and_new_starts_another(ecv_command, run_id, asked):
    asked()
    ecv_command("tell", run_id, 0, "--score", 0.5)
    code, out, err = ecv_command(*TRACK)
    assert (code, out) == (0, run_id)
    assert "goes on with 1 of 7 folds" in err
    assert asked()["fold"] == 1
    assert ecv_command(*TRACK, "--new")[1] != run_id
    with pytest.raises(InputError, match=r"another program \(ask and tell\)"):
        next(iter(ecv.track("my model", dataset="tiny", k=7, metric="ndcg@2", rule="never")))


def test_cancelled_at_once_what_is_told_after_that_is_kept(ecv_command, run_id, asked):
    asked()
    open_store().request_cancel(run_id)
    assert open_store().run(run_id).state is RunState.CANCELLED
    assert asked()["stop"] is True
    code, out, _ = ecv_command("tell", run_id, 0, "--score", 0.5)
    assert code == 0
    assert "The fold is kept, but the run was cancelled" in out
    assert ecv_command(*TRACK)[1] == run_id
    assert asked()["fold"] == 1
    assert open_store().run(run_id).folds[0].score == 0.5


def test_a_stop_that_was_told_after_the_cancel_holds(ecv_command):
    words = (*TRACK[:-1], "fixed", "--min-folds", 1)
    _, run_id, _ = ecv_command(*words)
    ecv_command("ask", run_id)
    open_store().request_cancel(run_id)
    ecv_command("tell", run_id, 0, "--score", 0.5)
    assert ecv_command(*words)[1] == run_id
    assert json.loads(ecv_command("ask", run_id, "--json")[1])["stop"] is True
    run = open_store().run(run_id)
    assert (run.state, run.stopped_at, len(run.folds)) == (RunState.FINISHED, 1, 1)


def test_only_tracked_runs_are_asked(ecv_command):
    run = ecv.evaluate("synthetic", "popular", k=2, rule="never")
    code, _, err = ecv_command("ask", run.run_id)
    assert code == 2
    assert "is computed by e-fold itself (popular)" in err
    assert ecv_command("ask", "nothing")[0] == 2


LOOP = """
import sys, time
import ecv_core as ecv
cv = ecv.track("my model", dataset="tiny", k=7, metric="ndcg@2", rule="never")
for fold in cv:
    if fold.index == 1:
        print(cv.run.run_id, flush=True)
        time.sleep(3600)
    cv.report(0.5)
"""


@pytest.mark.slow
def test_a_loop_that_was_killed_goes_on_with_commands(ecv_command):
    with subprocess.Popen(
        [sys.executable, "-c", LOOP], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        run_id = process.stdout.readline().strip()
        code, _, err = ecv_command("ask", run_id)
        assert code == 2
        assert "is going on in a Python program" in err
        os.kill(process.pid, signal.SIGKILL)
    recover(open_store())
    code, _, err = ecv_command("ask", run_id)
    assert code == 2
    assert "was cut off (interrupted); the command track" in err
    assert ecv_command(*TRACK)[1] == run_id
    assert json.loads(ecv_command("ask", run_id, "--json")[1])["fold"] == 1
