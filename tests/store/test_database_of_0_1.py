"""A database that version 0.1 wrote opens with all its runs: compared with its rows as they lie."""

import gzip
import json
import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ecv_core.jobs.plans import study
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.imports import origins, read_run
from ecv_core.store.plans import STUDY, stored_plans
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

HERE = Path(__file__).parent
EXPORTED = HERE / "run-0.1.json"
"""The first run of the database, as the Run page of 0.1 exports it."""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "old.sqlite"
    path.write_bytes(gzip.decompress((HERE / "runs-0.1.sqlite.gz").read_bytes()))
    return path


@pytest.fixture
def store(path):
    return open_store(f"sqlite:///{path}")


@pytest.fixture
def rows(path):
    """Run id -> its row, and its folds as (result, moment) in the order in which they finished."""
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        runs = connection.execute("SELECT * FROM runs ORDER BY sequence DESC").fetchall()
        folds = {
            run["run_id"]: connection.execute(
                "SELECT result, moment FROM folds WHERE run_id = ? ORDER BY sequence",
                (run["run_id"],),
            ).fetchall()
            for run in runs
        }
    connection.close()
    return {run["run_id"]: (dict(run), folds[run["run_id"]]) for run in runs}


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


def test_all_runs_are_there_with_every_number(store, rows):
    runs = store.runs()
    assert [run.run_id for run in runs] == list(rows)
    assert len(runs) == 8
    for run in runs:
        row, folds = rows[run.run_id]
        assert (run.state, run.stopped_at, run.error) == (
            row["state"],
            row["stopped_at"],
            row["error"],
        )
        assert run.created_at.isoformat() == row["created_at"]
        # Settings that 0.1 did not have.
        newer = {"processor_watts": None, "memory_watts": None, "tracked": False}
        newer |= {"data_sha256": None, "share_machine": False, "wait_for_quiet": False}
        newer |= {"no_energy": False, "own_metric": {}}
        old = json.loads(row["spec"])
        tolerance = old.pop("tolerance")
        params = {"e-fold": {"alpha": old.pop("alpha")}}
        params["precision"] = {"adjust_by": "", "tolerance": tolerance}
        newer |= {"rule_params": params.get(old["rule"], {})}
        assert json.loads(run.spec.to_json()) == old | newer
        assert len(run.folds) == len(folds) == len(run.moments)
        for fold, moment, (result, said) in zip(run.folds, run.moments, folds, strict=True):
            old = json.loads(result)
            for name in ("fold", "score", "users", "fit_seconds", "total_seconds"):
                assert getattr(fold, name) == old[name]
            assert list(fold.inner_curve) == old["inner_curve"]
            assert fold.metrics.keys() == old["metrics"].keys()
            assert all(same(fold.metrics[name], old["metrics"][name]) for name in old["metrics"])
            assert {name: getattr(fold.energy, name) for name in old["energy"]} == old["energy"]
            if said:
                then = json.loads(said)
                assert (moment.n, moment.fold, moment.mean) == (
                    then["n"],
                    then["fold"],
                    then["mean"],
                )
                assert moment.decision.reason == then["decision"]["reason"]
                assert (moment.interval and moment.interval.low) == (
                    then["interval"] and then["interval"]["low"]
                )


def test_what_its_runs_are_for_is_there_too(store):
    states = [run.state for run in store.runs()]
    assert states.count(RunState.CANCELLED) == states.count(RunState.FAILED) == 1
    first = store.runs()[-1]
    assert (first.spec.algorithm, first.spec.params[0]) == ("item-knn", ("neighbours", 7))
    (scores,) = store.user_scores(first.run_id).values()
    column = scores.of("ndcg@10")
    assert float(column.mean()) == pytest.approx(first.folds[0].score, rel=1e-6)
    (plan,) = stored_plans(store, STUDY)
    cells = study.look(store, plan.plan_id)
    assert [cell.borrowed for cell in cells] == [True, False]
    assert [cell.spec for cell in cells] == [planned.spec for planned in plan.content.runs]
    assert cells[0].spec == first.spec
    assert origins(store)["from-elsewhere"].file_name == "theirs.json"


def test_moments_that_were_not_recorded_are_worked_out(store):
    (run,) = [run for run in store.runs() if run.state is RunState.CANCELLED]
    assert [fold.score for fold in run.folds] == [0.30, 0.34]
    assert [moment.mean for moment in run.moments] == pytest.approx([0.30, 0.32])
    assert run.at_stop.mean == pytest.approx(0.32)


def test_a_run_goes_on_in_it_and_is_read_by_the_next(store, path):
    (run,) = [run for run in store.runs() if run.state is RunState.CANCELLED]
    first = store.runs()[-1]
    store.add_fold(run.run_id, first.folds[2], stopped_at=None, moment=first.moments[2])
    again = open_store(f"sqlite:///{path}").run(run.run_id)
    assert again.folds[1:] == (run.folds[1], first.folds[2])


def test_an_exported_run_is_the_one_in_the_database(store):
    found = read_run(EXPORTED.read_bytes(), EXPORTED.name)
    here = store.run(found.run.run_id)
    assert found.run.spec == here.spec
    assert found.run.folds == here.folds
    assert tuple(found.run.moments) == tuple(here.moments)
    assert found.run.stopped_at == here.stopped_at == 3
    assert found.made_with["e_fold"] == "0.1.0"


def test_its_runs_are_found_by_what_decides_their_scores(store):
    results = Results(store, recorded=False)
    first = store.runs()[-1]
    other_rule = replace(first.spec, rule="never", full=True, only_folds=(1,))
    assert first in results.runs(other_rule)
    assert all(run.spec.same_scores(first.spec) for run in results.runs(other_rule))
    assert results.runs(replace(first.spec, seed=first.spec.seed + 1)) == []


def test_every_run_is_found_by_the_key_of_its_scores(store, path, rows):
    with sqlite3.connect(path) as connection:
        keys = dict(connection.execute("SELECT run_id, score_key FROM runs").fetchall())
        (plan,) = connection.execute(
            "EXPLAIN QUERY PLAN SELECT run_id FROM runs WHERE score_key = 'a'"
        ).fetchall()
    connection.close()
    assert keys == {
        run_id: RunSpec.from_json(row["spec"]).score_key for run_id, (row, _) in rows.items()
    }
    assert "USING INDEX" in plan[-1]


def test_what_is_damaged_does_not_keep_it_shut(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET spec = '{' WHERE sequence = 1")
        connection.execute("UPDATE studies SET cells = '{'")
    connection.close()
    store = open_store(f"sqlite:///{path}")
    assert stored_plans(store, STUDY) == []
    assert len(store.runs()) == 7
    with sqlite3.connect(path) as connection:
        empty = connection.execute("SELECT sequence FROM runs WHERE score_key IS NULL").fetchall()
    connection.close()
    assert empty == [(1,)]
