"""`track`, `ask` and `tell`: folds for programs that come and go."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.energy.meter import country
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
from ecv_core.jobs.plans import track
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunState
from ecv_core.store.ownership import owner_of
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.schema import fold_leases
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result
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


@pytest.mark.usefixtures("registries_as_they_were")
def test_a_broken_fold_is_named_as_it_is_told_by_a_metric_of_ones_own(ecv_command):
    named = ("--own-metric", "clicks", "--unit", "EUR")
    words = ("track", "my model", "tiny", "-k", "7", "-n", "2", *named, "--rule", "never")
    code, run_id, err = ecv_command(*words)
    assert (code, err) == (0, "")
    told = []
    for index, score in enumerate((0.300, 0.302, 0.299, 0.301, 0.210)):
        ecv_command("ask", run_id, "--json")
        told.append(ecv_command("tell", run_id, index, "--score", score))
    assert [err for _, _, err in told[:4]] == [""] * 4
    assert told[4][1].startswith("fold 4: clicks 0.2100.")
    assert "The 5th fold scores 30 % below the others" in told[4][2]


def test_a_run_is_asked_and_told_to_its_end(ecv_command, run_id, asked, tmp_path):
    for index in range(7):
        fold = asked()
        assert set(fold) == {"fold", "train", "test", "until"}
        assert fold["fold"] == index
        train, test = pd.read_csv(fold["train"]), pd.read_csv(fold["test"])
        assert list(train.columns) == ["user_id", "item_id", "rating", "timestamp"]
        assert (len(train), len(test)) == (72, 12)
        path = scores_file(tmp_path, fold["test"], score=index / 10)
        code, out, err = ecv_command("tell", run_id, index, "--scores", path, "--seconds", 3)
        assert code == 0
        assert err == "" or (index > 1 and err.startswith("Scores rise from fold to fold"))
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
    fold = asked()
    test = pd.read_csv(fold["test"])
    path = tmp_path / "lists.csv"
    test[["user_id", "item_id"]].assign(score=1.0).to_csv(path, index=False)
    # Each list holds the one held-out item: found at rank 1, so 1, though it could be longer.
    code, _, err = ecv_command("tell", run_id, 0, "--recommendations", path)
    assert code == 2
    assert "the longest list has 1 items, but ndcg@2 looks at 2" in err
    train = pd.read_csv(fold["train"])
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
    interrupt_abandoned_runs(store, takes_over_queues=True)
    (active,) = store.active()
    assert (active.run_id, active.state, active.outside) == (run_id, RunState.RUNNING, True)
    assert (active.progress.fold, active.progress.phase) == (0, "asked for, not told yet")


def test_each_who_asks_gets_a_fold_of_their_own_until_its_time_is_over(ecv_command, run_id):
    def ask(*more):
        code, out, _ = ecv_command("ask", run_id, "--json", *more)
        assert code == 0
        return json.loads(out)

    assert [ask()["fold"] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert ask("--lease", "0.001s")["fold"] == 5
    assert ask()["fold"] == 5  # its time was over
    assert ask("--lease", "2d")["fold"] == 6
    none = ask()
    assert set(none) == {"wait", "until", "reason"}
    assert none["reason"].startswith("every fold that is missing (0, 1, 2, 3, 4, 5, 6) was asked")
    left = datetime.fromisoformat(none["until"]) - datetime.now(UTC)
    assert timedelta(hours=5.9) < left < timedelta(hours=6)
    assert ask("--fold", "3")["fold"] == 3  # though somebody has it


def test_what_is_told_late_or_out_of_order_is_kept_and_the_rule_sees_the_order(ecv_command):
    _, run_id, _ = ecv_command(*TRACK[:-1], "fixed", "--min-folds", 2)
    ecv_command("ask", run_id, "--lease", "0.01s")  # fold 0, whose time is over at once
    for _ in range(4):
        ecv_command("ask", run_id)
    code, out, _ = ecv_command("tell", run_id, 2, "--score", 0.5)
    assert code == 0
    assert out.endswith(
        "The fold is saved; the rule looks at it once the folds before it are reported."
    )
    run = open_store().run(run_id)
    assert (run.folds, [fold.fold for fold in run.ahead]) == ((), [2])
    ecv_command("tell", run_id, 0, "--score", 0.5)
    ecv_command("tell", run_id, 1, "--score", 0.5)
    run = open_store().run(run_id)
    assert (run.state, run.stopped_at) == (RunState.FINISHED, 2)  # as one after the other
    assert [moment.fold for moment in run.moments] == [0, 1, 2]
    code, out, _ = ecv_command("tell", run_id, 3, "--score", 0.5)  # was asked for before the stop
    assert (code, out.endswith("stopped after 2 folds.")) == (0, True)
    code, _, err = ecv_command("tell", run_id, 6, "--score", 0.5)
    assert (code, "so no fold is asked for" in err) == (2, True)


ASKS = """
import json, subprocess, sys
from ecv_core import cli
run_id, name = sys.argv[1:]
while True:
    if cli.main(["ask", run_id, "--folder", name, "--json", f"{name}.json"]) != 0:
        sys.exit("ask failed")
    with open(f"{name}.json") as file:
        asked = json.load(file)
    if "fold" not in asked:
        break
    if cli.main(["tell", run_id, str(asked["fold"]), "--score", "0.5"]) != 0:
        sys.exit("tell failed")
"""


@pytest.mark.slow
def test_eight_programs_ask_and_tell_at_once(each_database, ecv_command, tmp_path, programs):
    _, run_id, _ = ecv_command(*TRACK)
    with ExitStack() as stack:
        programs = [
            stack.enter_context(
                subprocess.Popen(
                    [programs / "python", "-c", ASKS, run_id, str(tmp_path / str(number))],
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(8)
        ]
        said = [program.communicate(timeout=120) for program in programs]
    assert [program.returncode for program in programs] == [0] * 8, "".join(err for _, err in said)
    assert {err for _, err in said} == {""}
    told = re.findall(r"^fold (\d): ", "".join(out for out, _ in said), re.MULTILINE)
    assert sorted(told) == list("0123456")  # each once
    run = open_store().run(run_id)
    assert (run.state, [fold.fold for fold in run.folds]) == (RunState.FINISHED, list(range(7)))
    assert [moment.n for moment in run.moments] == list(range(1, 8))


@pytest.mark.slow
def test_of_eight_who_tell_the_same_fold_one_is_heard(ecv_command, run_id, asked, programs):
    asked()
    program = f"from ecv_core import cli; raise SystemExit(cli.main({['tell', run_id, '0']!r} + "
    with ExitStack() as stack:
        programs = [
            stack.enter_context(
                subprocess.Popen(
                    [programs / "python", "-c", f"{program}['--score', '0.{number}']))"],
                    cwd=ROOT,
                    stderr=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(1, 9)
        ]
        said = [program.communicate(timeout=120)[1].strip() for program in programs]
    assert sorted(program.returncode for program in programs) == [0] + [2] * 7
    refusal = f"error: fold 0 of run {run_id} was told already; its scores are kept"
    assert sorted(said) == ["", *[refusal] * 7]
    heard = next(at for at, program in enumerate(programs, start=1) if not program.returncode)
    assert [fold.score for fold in open_store().run(run_id).folds] == [heard / 10]


def test_who_tells_while_another_is_telling_hears_that_it_was_told(monkeypatch, run_id, asked):
    asked()
    leases = track.leases

    def told_meanwhile(store, of_run):
        monkeypatch.setattr(track, "leases", leases)
        track.tell(store, of_run, 0, 0.5)
        return leases(store, of_run)

    monkeypatch.setattr(track, "leases", told_meanwhile)
    with pytest.raises(InputError, match=r"fold 0 of run .* was told already"):
        track.tell(open_store(), run_id, 0, 0.6)


def test_seconds_are_counted_from_the_last_ask(ecv_command, run_id, asked):
    asked()
    ecv_command("tell", run_id, 0, "--score", 0.5)
    (fold,) = open_store().run(run_id).folds
    assert 0 < fold.fit_seconds < 30


def test_a_fold_that_was_asked_for_by_a_later_clock_is_told_with_no_seconds(run_id, asked):
    """It could not be told: 'its fit_seconds must be at least 0, but is -3600.0'."""
    asked()
    store = open_store()
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    store.write(fold_leases.update().values(asked_at=in_an_hour.isoformat()))
    track.tell(store, run_id, 0, 0.5)
    (fold,) = store.run(run_id).folds
    assert fold.fit_seconds == 0.0
    assert fold.total_seconds == fold.evaluate_seconds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((0, "--score", "nan"), "the score of fold 0 must be a finite number"),
        (
            (1, "--score", 0.5),
            "fold 1 of run .* was not asked for; ask for it first: ask .* --fold 1",
        ),
        ((7, "--score", 0.5), "run .* has no fold 7; its folds are 0, 1, 2, 3, 4, 5, 6"),
        ((0, "--score", 0.5, "--seconds", -1), "the seconds of a fold must be at least 0"),
        ((0, "--score", 0.5, "--joules", "inf"), "the joules of a fold must be at least 0"),
        ((0, "--score", 0.5, "--seconds", 1e30), r"at most 1e\+15, but are 1e\+30$"),
        ((0, "--score", 0.5, "--joules", 1e300), r"at most 1e\+15, but are 1e\+300$"),
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
    assert "was told already; its scores are kept" in err
    assert open_store().run(run_id).folds[0].score == 0.5


def test_track_goes_on_with_the_run_that_waits_and_new_starts_another(ecv_command, run_id, asked):
    asked()
    ecv_command("tell", run_id, 0, "--score", 0.5)
    code, out, err = ecv_command(*TRACK)
    assert (code, out) == (0, run_id)
    assert "continuing with 1 of 7 folds" in err
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
    assert "the run was cancelled" in out
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


@pytest.mark.parametrize("time", ["6", "0h", "-1h", "two days", "400d", ""])
def test_a_lease_that_is_no_time_is_refused_before_a_fold_is_given(ecv_command, run_id, time):
    code, out, err = ecv_command("ask", run_id, f"--lease={time}")
    assert (code, out) == (2, "")
    assert f"such as 90s, 30min, 6h or 2d, not '{time}'" in err
    assert ecv_command("ask", run_id)[1].startswith("fold 0")


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
        assert "is running in a Python program" in err
        os.kill(process.pid, signal.SIGKILL)
    interrupt_abandoned_runs(open_store())
    code, _, err = ecv_command("ask", run_id)
    assert code == 2
    assert "was cut off (interrupted); the command track" in err
    assert ecv_command(*TRACK)[1] == run_id
    assert json.loads(ecv_command("ask", run_id, "--json")[1])["fold"] == 1


def test_a_track_that_was_killed_before_it_had_started_its_run_starts_it(ecv_command, run_id):
    store = open_store()
    store.finish(run_id, RunState.INTERRUPTED)
    store.requeue(run_id, store.run(run_id).spec, owner=OUTSIDE)
    assert ecv_command(*TRACK)[1] == run_id
    assert store.run(run_id).state is RunState.RUNNING


def test_a_tell_that_is_repeated_finishes_a_run_with_all_its_folds(ecv_command, run_id):
    """The first one was cut off between the last fold and the end of the run."""
    store = open_store()
    for fold in range(7):
        store.add_fold(run_id, fold_result(fold, 0.3), stopped_at=None)
    assert ecv_command("tell", run_id, 6, "--score", 0.3)[0] == 2
    assert store.run(run_id).state is RunState.FINISHED
