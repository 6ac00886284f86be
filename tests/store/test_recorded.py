"""Recorded runs: a document read back is the run it was made from."""

import json
from datetime import UTC, datetime

import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, MomentsAgain
from ecv_core.store.document import run_document
from ecv_core.store.recorded import recorded_runs
from tests.fake_folds import fold_result


def a_run(algorithm):
    spec = RunSpec(
        dataset="synthetic", algorithm=algorithm, k=3, params=(("x", 1),), rule=NEVER_STOPS
    )
    folds = tuple(fold_result(fold, 0.3 + fold / 100) for fold in range(3))
    return RunRecord(
        run_id=f"id-{algorithm}",
        spec=spec,
        state=RunState.FINISHED,
        folds=folds,
        moments=MomentsAgain(spec, folds, 3),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=3,
    )


def write(folder, run):
    path = folder / f"{run.spec.dataset}--{run.spec.algorithm}.json"
    path.write_text(json.dumps(run_document(run)))
    return path


def test_a_document_read_back_is_the_run(tmp_path):
    runs = [a_run("item-knn"), a_run("popular")]
    for run in reversed(runs):
        write(tmp_path, run)
    found = recorded_runs(tmp_path)
    assert [one.spec for one in found] == [one.spec for one in runs]
    assert [one.folds for one in found] == [one.folds for one in runs]
    assert found[0].stopped_at == 3


def test_a_changed_file_is_read_again(tmp_path):
    path = write(tmp_path, a_run("item-knn"))
    recorded_runs(tmp_path)
    path.write_text(path.read_text().replace("id-item-knn", "another-id-altogether"))
    assert recorded_runs(tmp_path)[0].run_id == "another-id-altogether"


def test_without_a_folder_there_are_none(tmp_path):
    assert recorded_runs(tmp_path / "missing") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"run_id": "x"}'])
def test_a_damaged_file_is_one_sentence_that_names_it(tmp_path, text):
    (tmp_path / "d--a.json").write_text(text)
    with pytest.raises(InputError, match=r"recorded run d--a\.json cannot be read: .*restore it"):
        recorded_runs(tmp_path)
