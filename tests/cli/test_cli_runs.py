"""`runs`, `resume` and `run --resume`: what was cut off goes on from a shell."""

import json

import pytest

from ecv_core import cli
from ecv_core.cli import runs_commands
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from tests.fake_folds import fold_result

SPEC = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")
GONE = f"{this_process().rsplit(':', 2)[0]}:4194304:1"
"""A program of this machine that has ended."""


@pytest.fixture
def store() -> Store:
    return open_store()


def cut_off(store: Store, state: RunState, *, folds: int = 2, **changes: object) -> str:
    """A run whose first folds have scores that nobody would compute."""
    spec = make_spec(
        **{"dataset": "synthetic", "algorithm": "popular", "k": 5, "rule": "never"} | changes
    )
    run_id = store.create([spec], owner=GONE)[0]
    store.start(run_id, owner=GONE)
    for fold in range(folds):
        store.add_fold(run_id, fold_result(fold, 0.9), stopped_at=None)
    if not state.active:
        store.finish(run_id, state)
    return run_id


def test_runs_that_were_cut_off_are_listed_with_what_to_type(store, capsys):
    dead = cut_off(store, RunState.RUNNING)
    cut_off(store, RunState.CANCELLED, seed=7)
    assert cli.main(["runs", "--state", "interrupted"]) == 0
    first, row = capsys.readouterr().out.splitlines()
    assert first.startswith("1 run is interrupted; '")
    assert first.endswith(f" resume {dead}' continues one of them.")
    assert row.split()[:5] == [dead, "interrupted", "2/5", "synthetic", "popular"]
    assert cli.main(["runs", "--dataset", "ml-1m"]) == 0
    assert capsys.readouterr().out == "No run on ml-1m is here.\n"
    assert cli.main(["runs", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)["runs"]
    assert [(one["state"], one["folds"], one["k"]) for one in told] == [
        ("cancelled", 2, 5),
        ("interrupted", 2, 5),
    ]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.CANCELLED, RunState.FAILED])
def test_a_run_that_was_cut_off_is_resumed_and_its_folds_stay(store, capsys, state):
    run_id = cut_off(store, state)
    assert cli.main(["resume", run_id[:6], "--json", "-"]) == 0
    said = capsys.readouterr()
    assert f"continuing run {run_id}, which has 2 of 5 folds" in said.err
    document = json.loads(said.out)
    assert [fold["score"] for fold in document["folds"][:2]] == [0.9, 0.9]
    run = store.run(run_id)
    assert (run.state, [fold.fold for fold in run.folds]) == (RunState.FINISHED, [0, 1, 2, 3, 4])
    assert cli.main(["resume", run_id]) == 2
    assert "finished with 5 of 5 folds, so no fold is left" in capsys.readouterr().err


def test_the_same_run_goes_on_where_resume_is_said_and_another_does_not(store):
    words = ["run", "synthetic", "popular", "-k", "5", "--rule", "never"]
    mine, other = cut_off(store, RunState.CANCELLED), cut_off(store, RunState.CANCELLED, seed=7)
    assert cli.main([*words, "--resume"]) == 0
    assert len(store.runs()) == 2
    assert [fold.score for fold in store.run(mine).folds[:2]] == [0.9, 0.9]
    assert store.run(other).state is RunState.CANCELLED
    assert cli.main([*words, "--resume"]) == 0  # nothing is cut off any more: another run
    assert len(store.runs()) == 3


def test_a_stop_is_checked_from_a_shell(store, capsys):
    run_id = store.create([make_spec(dataset="synthetic", algorithm="popular", k=5)], owner=GONE)[0]
    store.start(run_id, owner=GONE)
    for fold in range(3):
        store.add_fold(run_id, fold_result(fold, 0.9), stopped_at=3 if fold == 2 else None)
    store.finish(run_id, RunState.FINISHED)
    assert cli.main(["resume", run_id]) == 2
    assert "--full computes the others" in capsys.readouterr().err
    assert cli.main(["resume", run_id, "--full"]) == 0
    assert len(store.run(run_id).folds) == 5
    assert store.run(run_id).stopped_at == 3


def test_what_cannot_be_resumed_is_one_line(store, capsys):
    tracked = make_spec(dataset="synthetic", algorithm="mine", k=5, rule="never", tracked=True)
    ids = store.create([tracked, SPEC], owner="outside")
    for word, said in (
        ("nosuch", "there is no run 'nosuch'"),
        (ids[0], "continue it with the command track"),
        ("", "the id of the run is empty"),
    ):
        assert cli.main(["resume", word]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert len(error.splitlines()) == 1
    assert cli.main(["resume", ids[1]]) == 2  # it waits in somebody's queue
    assert "is already running in another program" in capsys.readouterr().err.splitlines()[-1]


def test_a_run_that_ends_meanwhile_is_not_said_to_be_running(store, capsys, monkeypatch):
    (run_id,) = store.create([SPEC], owner="outside")
    store.start(run_id, owner="outside")

    def ends_elsewhere(spec):
        for fold in range(5):
            store.add_fold(run_id, fold_result(fold, 0.9), stopped_at=None)
        store.finish(run_id, RunState.FINISHED)

    monkeypatch.setattr(runs_commands, "check_data", ends_elsewhere)
    assert cli.main(["resume", run_id]) == 2
    assert "is finished by now, by another program" in capsys.readouterr().err
    assert store.run(run_id).state is RunState.FINISHED


def test_a_run_is_shown_exported_and_deleted(store, capsys, tmp_path):
    run_id, other = (cut_off(store, RunState.CANCELLED, seed=seed) for seed in (1, 2))
    assert cli.main(["show", run_id[:8]]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "popular on synthetic, nDCG@10"
    assert shown[-1].startswith("fold 1: ndcg@10 0.9000. After 2 folds")
    target = str(tmp_path / "run.json")
    assert cli.main(["export", run_id, "-o", target]) == 0
    assert json.loads((tmp_path / "run.json").read_text())["run_id"] == run_id
    assert cli.main(["export", run_id, "-o", "-"]) == 0
    going = cut_off(store, RunState.RUNNING, seed=3)
    assert cli.main(["delete", run_id, "nothing"]) == 2
    assert "there is no run 'nothing'" in capsys.readouterr().err
    assert cli.main(["delete", run_id]) == 0
    assert capsys.readouterr().out.startswith(f"run {run_id} is deleted; ")
    assert {run.run_id for run in store.runs()} == {other, going}


def test_folds_may_be_a_number_and_quiet_says_nothing_on_the_way(store, capsys, tmp_path):
    words = ["run", "synthetic", "popular", "--folds", "3", "--rule", "never", "--no-energy"]
    assert cli.main([*words, "--quiet"]) == 0
    said = capsys.readouterr()
    assert "All 3 folds have run" in said.out
    assert said.err == ""
    (run,) = store.runs()
    assert (run.k, run.spec.no_energy) == (3, True)
    assert {fold.energy.source for fold in run.folds} == {"none"}
    assert cli.main([*words, "-k", "4"]) == 2
    assert "-k is 4, but --folds is 3" in capsys.readouterr().err
    assert cli.main(["run", "synthetic", "popular", "--folds", "nothing.csv", "-q"]) == 2
    assert "nothing.csv" in capsys.readouterr().err  # an error is never quiet
