"""A database that is cut short, or takes nothing more, under a program that computes for it."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

import ecv_core as ecv
from ecv_core import cli
from ecv_core.jobs import plan_runs
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns, SaveAttempts
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.errors import RunError, StoreError, Terminated
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store import engine
from ecv_core.store.ownership import interrupt, this_process
from ecv_core.store.rescue import KeptRun, import_rescued_runs, rescue
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, fold_result, quick

PATIENCE_SECONDS = 120
SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def computed(store: Store, callbacks: Callbacks, spec: RunSpec = SPEC) -> RunRecord:
    (run_id,) = store.create([spec], owner=this_process())
    drive(
        RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)], callbacks=callbacks), Here(quick)
    )
    return store.run(run_id)


def clock_that(sleep: Callable[[float], None]) -> SimpleNamespace:
    """The clock of a module, by which it waits so."""
    return SimpleNamespace(monotonic=time.monotonic, sleep=sleep)


def report_each_fold(tracked: ecv.Tracked) -> list[int]:
    """The folds that the loop computes."""
    computed_folds = []
    for fold in tracked:
        computed_folds.append(fold.index)
        tracked.report(SCORES[fold.index])
    return computed_folds


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
    with pytest.raises(RunError, match=r"gave up after \d+ s: the disk is full") as error:
        computed(store, Callbacks(trouble=SaveAttempts(lambda sentence: None)))
    (run,) = rescued(error).runs()
    assert [fold.score for fold in run.folds] == list(SCORES[:3])


@pytest.mark.parametrize("end", [KeyboardInterrupt, Terminated])
@pytest.mark.parametrize("is_back", [False, True])
def test_a_fold_that_waits_to_be_saved_is_in_a_file_before_the_program_ends(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    end: type[BaseException],
    is_back: bool,
) -> None:
    """The first Ctrl-C went on trying to end the run, and the fold was forgotten all the same."""
    store = open_store()
    save = store.add_fold
    waits: list[float] = []

    def full_disk(run_id: str, result: object, **more: object) -> bool:
        if result.fold == 2:
            raise StoreError("the disk is full; free some disk space")
        return save(run_id, result, **more)

    def away(*_args: object, **_more: object) -> None:
        raise StoreError("the database is away")

    def told_to_end(seconds: float) -> None:
        waits.append(seconds)
        assert len(waits) == 1, "it goes on trying"
        raise end

    with monkeypatch.context() as patch:
        patch.setattr(store, "add_fold", full_disk)
        if not is_back:
            patch.setattr(store, "finish", away)
        patch.setattr(plan_runs, "time", clock_that(told_to_end))
        with pytest.raises(end):
            computed(store, Callbacks(trouble=SaveAttempts(lambda sentence: None)))
    assert "a fold could not be saved before the end" in caplog.text
    (run,) = store.runs()
    assert len(run.folds) == 2
    if not is_back:
        # Nobody could say so: whoever looks next finds that its program is gone.
        assert run.state is RunState.RUNNING
        interrupt(store, [this_process()])
    import_rescued_runs(store)
    (run,) = store.runs()
    assert run.state is RunState.INTERRUPTED
    assert [fold.score for fold in run.folds] == list(SCORES[:3])


def test_a_fold_that_a_loop_has_reported_is_in_a_file_too_and_the_loop_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was lost: the loop computed the fold once more."""
    settings = {"dataset": "synthetic", "k": 3, "metric": "ndcg", "rule": "never"}
    tracked = ecv.track("mine", **settings)

    def told_to_end(_seconds: float) -> None:
        raise KeyboardInterrupt

    save = tracked._store.add_fold

    def full_disk(run_id: str, result: object, **more: object) -> bool:
        if result.fold == 1:
            raise StoreError("the disk is full; free some disk space")
        return save(run_id, result, **more)

    with monkeypatch.context() as patch:
        patch.setattr(plan_runs, "time", clock_that(told_to_end))
        patch.setattr(tracked._store, "add_fold", full_disk)
        with pytest.raises(KeyboardInterrupt):
            report_each_fold(tracked)
    assert "a fold could not be saved before the end" in caplog.text
    again = ecv.track("mine", **settings)
    assert report_each_fold(again) == [2]
    assert again.run.scores == SCORES[:3]


def test_a_fold_that_a_loop_has_reported_and_gives_up_to_save_is_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_runs, "SAVE_SECONDS", 0.0)
    tracked = ecv.track("mine", dataset="synthetic", k=3, metric="ndcg", rule="never")

    def away(*_args: object, **_more: object) -> None:
        raise StoreError("the database is away")

    monkeypatch.setattr(tracked._store, "add_fold", away)
    with pytest.raises(RunError, match=r"gave up after \d+ s: the database is away") as error:
        report_each_fold(tracked)
    (run,) = rescued(error).runs()
    assert [fold.score for fold in run.folds] == [SCORES[0]]


def test_a_fold_that_a_dashboard_cannot_save_is_in_a_file_before_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ended within three seconds, and the fold with it."""
    monkeypatch.setattr(plan_runs, "AGAIN_SECONDS", 0.01)
    store = open_store()
    was_refused = Event()

    def full_disk(*_args: object, **_more: object) -> None:
        was_refused.set()
        raise StoreError("the disk is full; free some disk space")

    monkeypatch.setattr(store, "add_fold", full_disk)
    manager = RunManager(store, compute=quick)
    run_id = manager.start([SPEC])
    assert was_refused.wait(PATIENCE_SECONDS)
    manager.close()
    manager._thread.join(PATIENCE_SECONDS)
    assert not manager.alive
    assert store.run(run_id).state is RunState.INTERRUPTED
    import_rescued_runs(store)
    assert [fold.score for fold in store.run(run_id).folds] == list(SCORES[:1])


def test_resume_takes_in_what_a_program_that_was_killed_has_put_into_a_file() -> None:
    """The run counted as running then, and its fold was computed once more."""
    store = open_store()
    killed = this_process().rsplit(":", 2)[0] + ":4194304:1"  # beyond the largest process id
    (run_id,) = store.create([SPEC], owner=killed)
    store.start(run_id, owner=killed)
    kept = KeptRun(spec=SPEC)
    kept.add(run_id, fold_result(0, SCORES[0]))
    rescue(store, {run_id: kept})
    assert cli.main(["resume", run_id, "-q"]) == 0
    run = store.run(run_id)
    assert run.state is RunState.FINISHED
    assert run.folds[0].score == SCORES[0]


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
    with pytest.raises(RunError, match=r"gave up after \d+ s"):
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
