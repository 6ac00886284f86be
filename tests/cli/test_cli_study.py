"""`study` on the command line: the summary of what is recorded, and wrong ways to ask."""

import json

import pytest

from ecv_core.cli import main
from ecv_core.records import RunState
from ecv_core.runs.document import run_document
from ecv_core.spec import make_spec
from ecv_core.store import open_store
from tests.jobs import fold_result

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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a study needs --datasets and --algorithms"),
        (["--datasets", "ml-100k"], "a study needs --datasets and --algorithms"),
        (["--summary", "--alpha", "0"], "alpha must be a positive number, but is 0.0"),
        (["--summary", "--folder", "nowhere"], "no complete run is recorded in nowhere"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, words, capsys):
    assert main(["study", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
