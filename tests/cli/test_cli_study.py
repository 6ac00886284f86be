"""`study` on the command line: what is recorded and kept, and wrong ways to ask."""

import json

import pytest

from ecv_core.cli import main
from ecv_core.store.plans import STUDY, stored_plans
from ecv_core.store.recorded import FOLDER, RUNS, recorded_document
from ecv_core.store.store import open_store


def test_runs_that_end_at_their_stop_are_recorded_apart(tmp_path, capsys):
    asked = ["study", "--datasets", "synthetic", "--algorithms", "popular", "--rule", "precision"]
    assert main([*asked, "--tolerance", "0.3", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'stopped' / 'synthetic--popular'}\n"
    document = json.loads(recorded_document("synthetic--popular", tmp_path) or "")
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
            "the precision rule needs a tolerance",
        ),
        (["--rule", "e-fold", "--tolerance", "0.02"], "--tolerance belongs to --rule precision"),
        (["--splits", "user-split", "--rule", "e-fold"], "--rule and --splits cannot be combined"),
        (["--rule", "fixed"], "--rule fixed would stop every run after the same fold"),
        (["--alpha", "0.1"], "a parameter of a rule needs --rule"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, words, capsys):
    assert main(["study", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


def test_a_study_is_in_the_database_and_changes_no_recorded_run(capsys):
    before = (FOLDER / RUNS).stat().st_mtime_ns
    asked = ["study", "--datasets", "synthetic", "--algorithms", "popular,item-knn"]
    assert main(asked) == 0
    captured = capsys.readouterr()
    assert "2 runs, 2 to compute" in captured.err
    runs = open_store().runs()
    assert {run.spec.algorithm: len(run.folds) for run in runs} == {"popular": 10, "item-knn": 10}
    lines = captured.out.splitlines()
    assert {line.split()[0] for line in lines} == {run.run_id for run in runs}
    assert all(line.endswith(" of 10 folds, 10 run") for line in lines)  # not only to the stop
    assert main(asked) == 0
    captured = capsys.readouterr()
    assert "2 runs, 0 to compute" in captured.err
    assert captured.out.count("computed before") == 2
    assert (FOLDER / RUNS).stat().st_mtime_ns == before
    plans = stored_plans(open_store(), STUDY)
    assert [len(one.content.runs) for one in plans] == [2]
