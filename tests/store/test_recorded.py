"""Recorded runs: a run read back is the run that was recorded, whoever records beside it."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, LazyMoments
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from ecv_core.store.recorded import (
    FOLDER,
    RUNS,
    USERS,
    is_recorded,
    record,
    recorded_document,
    recorded_environment,
    recorded_run,
    recorded_runs,
    recorded_user_scores,
)
from tests.fake_folds import fold_result
from tests.store.test_recorded_users import users_of


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
        moments=LazyMoments(spec, folds, 3),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=3,
    )


def write(folder, run, users=None):
    path = folder / f"{run.spec.dataset}--{run.spec.algorithm}"
    record(run, path, users)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_read_back_is_the_one_recorded_in_the_order_of_names(tmp_path):
    runs = [a_run("item-knn"), a_run("popular")]
    for run in reversed(runs):
        write(tmp_path, run)
    found = recorded_runs(tmp_path)
    assert [one.spec for one in found] == [one.spec for one in runs]
    assert [one.folds for one in found] == [one.folds for one in runs]
    assert found[0].stopped_at == 3
    assert found[0].created_at == runs[0].created_at
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".lock"}


def test_a_run_is_found_by_its_id_and_by_its_name_with_what_made_it(tmp_path):
    path = write(tmp_path, a_run("item-knn"))
    for word in ("id-item-knn", "synthetic--item-knn"):
        assert recorded_run(word, tmp_path).spec.algorithm == "item-knn"
        assert json.loads(recorded_document(word, tmp_path))["run_id"] == "id-item-knn"
        assert "numpy" in recorded_environment(word, tmp_path)["packages"]
    assert is_recorded(path)
    assert not is_recorded(tmp_path / "synthetic--ease")
    assert recorded_run("id", tmp_path) is None
    assert recorded_document("id", tmp_path) is None
    assert recorded_environment("id", tmp_path) is None


def test_a_run_that_is_recorded_again_takes_the_place_of_the_other_and_of_its_users(tmp_path):
    run = a_run("item-knn")
    write(tmp_path, run, {0: users_of([1, 2], [0.5, 1.0])})
    write(tmp_path, a_run("popular"), {0: users_of([3], [0.25])})
    assert recorded_runs(tmp_path)[0].run_id == "id-item-knn"
    write(tmp_path, replace(run, run_id="another-id-altogether"))
    (first, second) = recorded_runs(tmp_path)
    assert first.run_id == "another-id-altogether"
    assert recorded_user_scores(first, tmp_path) == {}
    assert recorded_user_scores(second, tmp_path)[0].users.tolist() == [3]


def test_programs_that_record_at_a_time_lose_no_run(tmp_path):
    names = [f"model-{place}" for place in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: write(tmp_path, a_run(name)), names))
    assert [run.spec.algorithm for run in recorded_runs(tmp_path)] == sorted(names)


def test_a_disk_that_fails_half_way_leaves_both_files_as_they_were(tmp_path, monkeypatch):
    write(tmp_path, a_run("item-knn"), {0: users_of([1], [0.5])})
    before = contents(tmp_path)
    replaced = Path.replace

    def full(path, target):
        if Path(target).name == USERS:
            raise OSError(28, "No space left on device")
        return replaced(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RunError, match=r"synthetic--popular cannot be written: No space left"):
        write(tmp_path, a_run("popular"), {0: users_of([1], [0.5])})
    assert contents(tmp_path) == before


def test_a_run_without_all_its_folds_is_refused_and_nothing_is_written(tmp_path):
    run = a_run("item-knn")
    with pytest.raises(InputError, match="run id-item-knn has only 2 folds"):
        write(tmp_path, replace(run, folds=run.folds[:2], moments=run.moments[:2]))
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_there_are_none(tmp_path):
    assert recorded_runs(tmp_path / "missing") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"run_id": "x"}'])
def test_a_damaged_document_is_one_sentence_that_names_it(tmp_path, text):
    now = pa.array([datetime.now(UTC)], pa.timestamp("us", tz="UTC"))
    pq.write_table(
        pa.table({"name": ["d--a"], "document": [text], "written": now}), tmp_path / RUNS
    )
    with pytest.raises(InputError, match=r"recorded run d--a cannot be read: .*restore it"):
        recorded_runs(tmp_path)
    assert recorded_run("x", tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1PAR1"])
def test_a_damaged_file_is_one_sentence_and_is_not_written_over(tmp_path, content):
    path = tmp_path / RUNS
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"runs\.parquet cannot be read \(.*restore the file"):
        recorded_runs(tmp_path)
    with pytest.raises(InputError, match=r"runs\.parquet cannot be read"):
        write(tmp_path, a_run("item-knn"))
    assert path.read_bytes() == content
    assert recorded_run("d--a", tmp_path) is None


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in FOLDER.rglob(RUNS)), ids=lambda folder: folder.name
)
def test_what_is_recorded_follows_from_its_folds_and_can_be_imported(folder):
    """Scores that were computed anew, as where ties were broken, leave no old mean and no stop."""
    runs = recorded_runs(folder)
    assert runs
    for run in runs:
        content = json.dumps(run_document(run)).encode()
        assert read_run(content, run.run_id).run.stopped_at == run.stopped_at
