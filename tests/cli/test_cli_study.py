"""`study` on the command line: the summary of what is recorded, and wrong ways to ask."""

import json

import pytest

from ecv_core.cli import main
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.document import run_document
from ecv_core.store.plans import STUDY, stored_plans
from ecv_core.store.recorded import FOLDER
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)


@pytest.fixture
def folder(tmp_path):
    store = open_store()
    place = tmp_path / "recorded"
    place.mkdir()
    for shift, algorithm in enumerate(["popular", "ease"]):
        spec = make_spec(dataset="synthetic", algorithm=algorithm, k=5, full=True)
        run_id = store.create([spec], owner="me")[0]
        for fold, score in enumerate(SCORES):
            store.add_fold(run_id, fold_result(fold, score + shift / 10), stopped_at=None)
        store.finish(run_id, RunState.FINISHED)
        document = run_document(store.run(run_id))
        (place / f"synthetic--{algorithm}.json").write_text(json.dumps(document))
    return place


def test_the_summary_says_headline_cells_ranks_and_rules(folder, capsys):
    # With alpha 1 every order stops after its third fold: 60 % of the folds, all of equal energy.
    assert main(["study", "--summary", "--alpha", "1", "--folder", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 runs at alpha ")
    assert "3.00 folds (paper 4.15), 60.0 % of the energy" in out
    assert "synthetic\tease\t1\t1" in out
    assert "synthetic\tpopular\t2\t2" in out
    assert "synthetic\t2\t100\t0\t100\t0\t120" in out  # all 120 orders keep order and winner
    assert "cells\tfixed\t2\t60\t" in out


def test_the_summary_has_runs_that_their_rule_ended_in_no_average(folder, capsys):
    whole = folder / "synthetic--ease.json"
    document = json.loads(whole.read_text())
    document["folds"], document["moments"] = document["folds"][:3], document["moments"][:3]
    document |= {"run_id": "0123456789ab", "stopped_at": 3}
    (folder / "stopped").mkdir()
    (folder / "stopped" / "synthetic--item-knn.json").write_text(
        json.dumps(document | {"spec": document["spec"] | {"algorithm": "item-knn", "full": False}})
    )
    assert main(["study", "--summary", "--alpha", "1", "--folder", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 runs at alpha ")
    # 0.40, 0.44, 0.41; ease has 0.42 over all five folds.
    assert "synthetic\titem-knn\tnDCG@10\t0.4167\t" in out
    assert "\te-fold, alpha 1e-4\t3\t5\t99.21\t0123456789ab" in out
    assert "synthetic\tease\tnDCG@10\t0.42\t\t\t0.95\te-fold, alpha 1e-4\t5\t5\t100\t" in out


def test_runs_that_end_at_their_stop_are_recorded_apart(tmp_path, capsys):
    asked = ["study", "--datasets", "synthetic", "--algorithms", "popular", "--rule", "precision"]
    assert main([*asked, "--tolerance", "0.3", "--folder", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "stopped" / "synthetic--popular.json").read_text())
    assert document["state"] == "finished"
    assert len(document["folds"]) == document["stopped_at"] < 10
    low, high = document["interval"]
    assert low > 0.7 * document["mean"]
    assert high < 1.3 * document["mean"]
    assert main([*asked, "--tolerance", "0.3", "--folder", str(tmp_path)]) == 0
    assert "1 run, 0 to compute" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a study needs --datasets and --algorithms"),
        (["--datasets", "ml-100k"], "a study needs --datasets and --algorithms"),
        (
            ["--datasets", "synthetic", "--algorithms", "popular", "--tolerance", "0.02"],
            "--tolerance belongs to --rule precision",
        ),
        (
            ["--datasets", "synthetic", "--algorithms", "popular", "--rule", "precision"],
            "the precision rule needs a tolerance, for example 0.03 for 3 %",
        ),
        (["--rule", "e-fold", "--tolerance", "0.02"], "--tolerance belongs to --rule precision"),
        (
            ["--summary", "--rule", "precision", "--tolerance", "0.02"],
            "--rule does not go with --summary",
        ),
        (["--splits", "user-split", "--rule", "e-fold"], "--rule does not go with --splits"),
        (["--space", "default", "--rule", "e-fold"], "--rule does not go with --space"),
        (["--rule", "fixed"], "--rule fixed would stop every run after the same fold"),
        (["--summary", "--alpha", "0"], "alpha must be a positive number, but is 0.0"),
        (["--summary", "--folder", "nowhere"], "no complete run is recorded in nowhere"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, words, capsys):
    assert main(["study", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


def test_a_study_is_in_the_database_and_changes_no_recorded_run(capsys):
    before = sorted(path.stat().st_mtime_ns for path in FOLDER.glob("*.json"))
    asked = ["study", "--datasets", "synthetic", "--algorithms", "popular,item-knn"]
    assert main(asked) == 0
    captured = capsys.readouterr()
    assert "2 runs, 2 to compute" in captured.err
    runs = open_store().runs()
    assert {run.spec.algorithm: len(run.folds) for run in runs} == {"popular": 10, "item-knn": 10}
    assert {line.split()[0] for line in captured.out.splitlines()} == {run.run_id for run in runs}
    assert main(asked) == 0
    captured = capsys.readouterr()
    assert "2 runs, 0 to compute" in captured.err
    assert captured.out.count("there already") == 2
    assert sorted(path.stat().st_mtime_ns for path in FOLDER.glob("*.json")) == before
    plans = stored_plans(open_store(), STUDY)
    assert [len(one.content.runs) for one in plans] == [2]
