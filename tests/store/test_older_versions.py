"""What the version before kept in tables of their own is there in the one table of plans."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from ecv_core.jobs.plans import select, study, track
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import owner_of
from ecv_core.store.plans import SELECTION, STUDY, stored_plans
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import Store, open_store
from tests.jobs.tracking.conftest import no_meter, tiny  # noqa: F401  fixtures

OLDER = Path(__file__).parent / "runs-schema-4.sqlite.gz"
BY_ADA = "UPDATE studies SET started_by = 'ada'; UPDATE selections SET started_by = 'ada'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    path.write_bytes(gzip.decompress(OLDER.read_bytes()))
    return path


@pytest.fixture
def before(path: Path) -> Iterator[sqlite3.Connection]:
    """The database as it was, to be read and changed by hand."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def opened(path: Path) -> Store:
    return open_store(f"sqlite:///{path}")


def test_its_selections_have_their_contenders_terms_and_runs(path, before) -> None:
    before.executescript(BY_ADA)
    rows = before.execute("SELECT * FROM selections ORDER BY sequence DESC").fetchall()
    assert len(rows) == 2
    store = opened(path)
    plans = stored_plans(store, SELECTION)
    for plan, row in zip(plans, rows, strict=True):
        old = json.loads(row["content"])
        assert plan.plan_id == row["selection_id"]
        assert plan.created_at == datetime.fromisoformat(row["created_at"])
        assert plan.started_by == "ada"
        assert plan.content.terms == old["terms"] | {"recorded": True}
        assert [run.name for run in plan.content.runs] == [one["name"] for one in old["contenders"]]
        assert [run.spec for run in plan.content.runs] == [
            RunSpec.from_json(json.dumps(one["spec"])) for one in old["contenders"]
        ]
        assert [run.run_id for run in store.group(plan.plan_id)] == [
            one["run_id"] for one in old["contenders"]
        ]
        now = select.SelectPlan.of(plan).standing(select.results_of(store, plan))
        assert now.folds == (1, 1, 1)  # as many as each of its runs has
        assert now.played is not None


def test_its_study_has_its_runs_those_that_it_borrowed_too(path, before) -> None:
    before.executescript(BY_ADA)
    (row,) = before.execute("SELECT * FROM studies").fetchall()
    cells = json.loads(row["cells"])
    store = opened(path)
    (plan,) = stored_plans(store, STUDY)
    assert (plan.plan_id, plan.started_by) == (row["study_id"], "ada")
    found = study.look(store, plan.plan_id)
    assert [cell.run.run_id for cell in found] == [cell["run_id"] for cell in cells]
    assert [cell.borrowed for cell in found] == [True, False]


def test_its_runs_are_as_they_were(path, before) -> None:
    kept = "run_id NOT IN (SELECT run_id FROM removed)"
    rows = before.execute(f"SELECT * FROM runs WHERE {kept} ORDER BY sequence DESC").fetchall()
    folds = {
        row["run_id"]: before.execute(
            "SELECT fold, result FROM folds WHERE run_id = ? ORDER BY sequence", (row["run_id"],)
        ).fetchall()
        for row in rows
    }
    store = opened(path)
    assert [run.run_id for run in store.runs()] == [row["run_id"] for row in rows]
    for run, row in zip(store.runs(), rows, strict=True):
        assert run.spec == RunSpec.from_json(row["spec"])
        assert (run.state, run.stopped_at) == (row["state"], row["stopped_at"])
        assert [(fold.fold, fold.score) for fold in run.folds] == [
            (fold["fold"], json.loads(fold["result"])["score"]) for fold in folds[row["run_id"]]
        ]


def test_a_selection_that_was_cut_off_goes_on_with_its_own_runs(path, before) -> None:
    """Its last contender has lost its fold: that one is computed, by the run that was to."""
    row = before.execute("SELECT * FROM selections ORDER BY sequence").fetchone()
    ease = json.loads(row["content"])["contenders"][-1]["run_id"]
    before.execute("DELETE FROM folds WHERE run_id = ?", (ease,))
    before.execute("DELETE FROM user_scores WHERE run_id = ?", (ease,))
    before.execute("UPDATE runs SET state = 'cancelled' WHERE run_id = ?", (ease,))
    before.commit()
    store = opened(path)
    count = len(store.runs())
    assert select.go_on(store, row["selection_id"]) == [ease]
    assert len(store.runs()) == count
    assert store.run(ease).state is RunState.QUEUED


def test_a_run_that_other_code_computes_is_told_its_next_fold(path, before) -> None:
    spec = {"dataset": "tiny", "algorithm": "my model", "tracked": True, "k": 7, "metric": "ndcg"}
    spec |= {"n": 2, "rule": "never", "alpha": 1e-4, "tolerance": None, "adjust_by": []}
    values = ("tracked", "tracked", json.dumps(spec), "running", "outside", "2026-01-01T00:00:00")
    before.execute(
        "INSERT INTO runs (run_id, group_id, spec, state, owner, created_at, queued_at, "
        "cancel_requested) VALUES (?, ?, ?, ?, ?, ?, '2026-01-01T00:00:00', 0)",
        values,
    )
    before.commit()
    store = opened(path)
    assert owner_of(store, "tracked") == OUTSIDE
    asked = track.ask(store, "tracked")
    assert (asked.fold, set(asked.files)) == (0, {"train", "test"})
    run, _ = track.tell(store, "tracked", 0, 0.25)
    assert [fold.score for fold in run.folds] == [0.25]
    assert run.state is RunState.RUNNING


def test_what_is_damaged_does_not_keep_it_shut(path, before) -> None:
    before.executescript(
        "UPDATE studies SET cells = '{'; "
        "UPDATE selections SET content = '{\"terms\": {}}' WHERE sequence = 1;"
        'UPDATE selections SET content = \'{"terms": {}, "contenders": [{"name": 1, '
        '"spec": {}, "run_id": null}]}\' WHERE sequence = 2'
    )
    count = before.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    store = opened(path)
    assert stored_plans(store, STUDY) == stored_plans(store, SELECTION) == []
    assert len(store.runs()) == count - 1  # and one that was deleted
