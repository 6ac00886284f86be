"""Imported runs: marked with their origin, kept once, under their own id where it is free."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ecv_core import stopping
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, origins, read_run
from ecv_core.store.ownership import active_owners
from tests.fake_folds import SCORES, fold_result


@pytest.fixture
def elsewhere():
    """A run of another installation."""
    spec = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")
    folds = tuple(fold_result(index, score) for index, score in enumerate(SCORES))
    moments = tuple(stopping.moments(stopping.rule_for(spec), folds, spec.confidence))
    return RunRecord(
        run_id="from-elsewhere",
        spec=spec,
        state=RunState.FINISHED,
        folds=folds,
        moments=moments,
        created_at=datetime(2026, 3, 4, tzinfo=UTC),
        finished_at=datetime(2026, 3, 5, tzinfo=UTC),
        stopped_at=5,
    )


def bring(store, run, name="run.json"):
    found = read_run(json.dumps(run_document(run)).encode(), name)
    return import_run(store, replace(found, made_with={"machine": "arm64"}))


def test_it_is_a_finished_run_here_equal_in_everything_it_computed(store, elsewhere):
    run_id, new = bring(store, elsewhere)
    assert (run_id, new) == ("from-elsewhere", True)
    here = store.run(run_id)
    assert replace(here, started_at=None, group=None) == elsewhere
    assert active_owners(store) == {}


def test_it_is_marked_with_its_origin(store, elsewhere):
    run_id, _ = bring(store, elsewhere, "from-anna.json")
    (origin,) = origins(store).values()
    assert origin.original_id == "from-elsewhere"
    assert origin.file_name == "from-anna.json"
    assert origin.made_with == {"machine": "arm64"}
    assert origins(store).keys() == {run_id}


def test_importing_twice_keeps_one_even_under_another_id(store, elsewhere):
    bring(store, elsewhere)
    assert bring(store, elsewhere, "copy.json") == ("from-elsewhere", False)
    assert bring(store, replace(elsewhere, run_id="renamed")) == ("from-elsewhere", False)
    assert len(store.runs()) == 1


def test_a_run_that_was_computed_here_is_here_already(store, elsewhere):
    (run_id,) = store.create([elsewhere.spec], owner="me")
    for fold, moment in zip(elsewhere.folds, elsewhere.moments, strict=True):
        store.add_fold(run_id, fold, stopped_at=5, moment=moment)
    store.finish(run_id, RunState.FINISHED)
    assert bring(store, store.run(run_id)) == (run_id, False)
    assert origins(store) == {}


def test_an_id_that_is_taken_by_another_run_gives_way(store, elsewhere):
    bring(store, elsewhere)
    other = replace(elsewhere, spec=replace(elsewhere.spec, seed=7))
    run_id, new = bring(store, other)
    assert new
    assert run_id != "from-elsewhere"
    assert store.run(run_id).spec.seed == 7
    assert origins(store)[run_id].original_id == "from-elsewhere"
    assert bring(store, other) == (run_id, False)


def test_a_deleted_import_can_come_again(store, elsewhere):
    run_id, _ = bring(store, elsewhere)
    store.delete(run_id)
    assert origins(store) == {}
    assert bring(store, elsewhere) == (run_id, True)


def test_a_run_that_was_deleted_can_be_imported_again(store, elsewhere):
    run_id, _ = bring(store, elsewhere)
    store.remove([run_id])
    assert bring(store, elsewhere) == (run_id, True)
    assert [run.run_id for run in store.runs()] == [run_id]
    assert store.bring_back([run_id]) == 0
