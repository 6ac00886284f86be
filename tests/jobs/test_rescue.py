"""A database that is cut short, or takes nothing more, under a program that computes for it."""

import os
import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from ecv_core.jobs import plan_runs
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns, SaveAttempts
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.errors import RunError, StoreError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store import engine
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, quick

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def computed(store: Store, callbacks: Callbacks, spec: RunSpec = SPEC) -> RunRecord:
    (run_id,) = store.create([spec], owner=this_process())
    drive(
        RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)], callbacks=callbacks), Here(quick)
    )
    return store.run(run_id)


def rescued(error: pytest.ExceptionInfo[RunError]) -> Store:
    said = re.search(r"ECV_DATABASE_URL=(sqlite:///\S+) opens it", str(error.value))
    assert said is not None
    return open_store(said.group(1))


@pytest.mark.parametrize("left", [0.0, 0.1, 0.5])
def test_cut_short_it_is_noticed_and_the_folds_of_the_program_are_kept_beside_it(
    tmp_path: Path, left: float
) -> None:
    """It ended as finished, with exit code 0, and nothing of it could be read."""
    path = tmp_path / "runs.sqlite"
    for seed in range(30):
        open_store().create([RunSpec(dataset="synthetic", algorithm="ease", seed=seed)], owner="x")
    database = sa.create_engine(f"sqlite:///{path}")
    with database.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()

    def cut(run: RunRecord) -> None:
        if len(run.folds) == 2:
            os.truncate(path, int(path.stat().st_size * left))

    with pytest.raises(RunError, match="The folds that this program has computed") as error:
        computed(open_store(), Callbacks(fold=cut))
    store = rescued(error)
    (run,) = store.runs()
    assert run.state is RunState.INTERRUPTED
    seen = len(run.folds)
    assert seen >= 2
    assert [fold.score for fold in run.folds] == list(SCORES[:seen])
    store.requeue(run.run_id, run.spec, owner=this_process())
    drive(RunPlan(SPEC), PlanRuns(store, runs=[store.run(run.run_id)]), Here(quick))
    assert [fold.score for fold in store.run(run.run_id).folds] == list(SCORES)
    assert store.run(run.run_id).state is RunState.FINISHED


def test_a_fold_that_cannot_be_saved_in_the_end_is_in_a_file_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_runs, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(plan_runs, "SAVE_SECONDS", 0.05)
    store = open_store()
    save = store.add_fold

    def full_disk(run_id: str, result: object, **more: object) -> bool:
        if result.fold == 2:
            raise StoreError("the disk is full; free some disk space")
        return save(run_id, result, **more)

    monkeypatch.setattr(store, "add_fold", full_disk)
    with pytest.raises(RunError, match="gave up after 0 s: the disk is full") as error:
        computed(store, Callbacks(trouble=SaveAttempts(lambda sentence: None)))
    (run,) = rescued(error).runs()
    assert [fold.score for fold in run.folds] == list(SCORES[:3])


def test_a_fold_that_is_not_saved_whenever_the_database_comes_back_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time that it could be reached the 300 seconds began anew, without an end."""
    monkeypatch.setattr(plan_runs, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(engine, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(plan_runs, "SAVE_SECONDS", 0.3)
    store = open_store()
    save = store.add_fold
    connect = sa.Engine.connect
    tries: list[str] = []
    away: list[str] = []

    def connect_at_the_second_try(of_database: sa.Engine) -> sa.Connection:
        if away:
            reason = away.pop()
            raise sa.exc.OperationalError(reason, None, Exception(reason))
        return connect(of_database)

    def crash(run_id: str, result: object, **more: object) -> bool:
        if result.fold < 2:
            return save(run_id, result, **more)
        tries.append(run_id)
        assert len(tries) < 500, "it waits for ever"
        away.append("connection refused")
        store.run(run_id)  # it is there again, and crashes at the next write
        raise StoreError("the server closed the connection")

    monkeypatch.setattr(sa.Engine, "connect", connect_at_the_second_try)
    monkeypatch.setattr(store, "add_fold", crash)
    sentences: list[str] = []
    with pytest.raises(RunError, match="gave up after 0 s"):
        computed(store, Callbacks(trouble=SaveAttempts(sentences.append)))
    assert len(tries) > 1
    assert len(sentences) == 1


def test_a_database_that_was_away_for_a_moment_needs_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()

    def away(*args: object) -> None:
        raise StoreError("the database is away")

    with pytest.raises(StoreError, match="is away"):
        computed(store, Callbacks(fold=away))
    assert not list(tmp_path.glob("*rescued*"))
