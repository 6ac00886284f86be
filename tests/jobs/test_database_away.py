"""A PostgreSQL server that goes away under runs: they wait, and what they have is not lost."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sklearn.linear_model import LinearRegression
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.pool import PoolProxiedConnection

import ecv_core as ecv
from ecv_core import cli
from ecv_core.fold.spec import make_spec
from ecv_core.jobs import driver, plan_runs
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Compute, Here
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns, SaveAttempts
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.track import begin_or_go_on
from ecv_core.records.errors import RunError, StoreError
from ecv_core.records.run import FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import waiting_for_database
from ecv_core.store.ownership import this_process
from ecv_core.store.rescue import KeptRun, import_rescued_runs, rescue
from ecv_core.store.store import Store, open_store
from tests.databases import PROGRAMS, PostgresServer
from tests.fake_folds import SCORES, computing, fold_result, late

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
PATIENCE = 60.0
"""Seconds in which anything here has to happen."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One of this test alone, which may be stopped."""
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not on this machine")
    server = PostgresServer(PROGRAMS)
    yield server
    server.stop()


@pytest.fixture
def again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("store.engine", "jobs.plan_runs", "jobs.manager"):
        monkeypatch.setattr(f"ecv_core.{module}.AGAIN_SECONDS", 0.05)


@pytest.fixture
def leave_for_a_second(server: PostgresServer) -> Iterator[Callable[[], None]]:
    """Has the server go, to come back a second after."""
    return_later = threading.Timer(1.0, server.start)

    def leave() -> None:
        server.go_away()
        return_later.start()

    yield leave
    return_later.join()


def score_of(index: int) -> FoldResult:
    return fold_result(index, SCORES[index])


def leaving_at(server: PostgresServer, fold: int) -> Compute:
    """Folds during one of which the server goes."""

    def compute(spec: RunSpec, index: int) -> FoldResult:
        if index == fold:
            server.go_away()
        return score_of(index)

    return computing(compute)


@pytest.mark.slow
def test_a_command_waits_for_a_server_that_is_away_and_says_so_once(
    server: PostgresServer, again_soon: None
) -> None:
    store = open_store(server.database())
    sentences: list[str] = []
    attempts = SaveAttempts(sentences.append)
    tries_in_vain = count()

    def tell_and_come_back(sentence: str | None) -> None:
        attempts(sentence)
        if sentence and next(tries_in_vain) == 2:
            server.start()

    callbacks = Callbacks(trouble=tell_and_come_back)
    drive(RunPlan(SPEC), PlanRuns(store, callbacks=callbacks), Here(leaving_at(server, 1)))
    (run,) = store.runs()
    assert run.state is RunState.FINISHED
    assert [fold.score for fold in run.folds] == list(SCORES)
    assert len(sentences) == 1
    assert "cannot be" in sentences[0]


@pytest.mark.slow
def test_the_run_of_a_dashboard_waits_while_it_looks_whether_it_was_cancelled(
    server: PostgresServer, again_soon: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks that five times a second: the first time in vain was the end of the run."""
    url = server.database()
    monkeypatch.setenv("ECV_DATABASE_URL", url)
    store = open_store(url)
    manager = RunManager(store, compute=late)
    try:
        (run_id,) = store.create([SPEC], owner=manager.owner)
        manager.wake()
        wait_for(lambda: len(open_store(url).run(run_id).folds) == 1)
        server.go_away()
        wait_for(lambda: manager.trouble is not None)
        server.start()
        wait_for(lambda: open_store(url).run(run_id).state is RunState.FINISHED)
        wait_for(lambda: manager.trouble is None)
    finally:
        manager.close()


class CutsConnections:
    """Ends every connection at a moment of this thread, counted from when it began."""

    def __init__(self, server: PostgresServer, at: int) -> None:
        self._server = server
        self._at = at
        self._thread = threading.current_thread()
        self.moments = 0

    def __call__(self, *event: object) -> None:
        """As an event of SQLAlchemy."""
        if threading.current_thread() is not self._thread:
            return
        self.moments += 1
        if self.moments == self._at:
            self._server.forget()  # Its own statement comes here too, and is no longer this one.


@contextmanager
def cutting(cut: CutsConnections, moment: str) -> Iterator[None]:
    """Have it told before each statement, or before each commit, or after it."""
    if moment != "after a commit":
        event = {"before a statement": "before_cursor_execute", "before a commit": "commit"}[moment]
        sa.event.listen(sa.Engine, event, cut)
        try:
            yield
        finally:
            sa.event.remove(sa.Engine, event, cut)
        return
    commit = PGDialect_psycopg.do_commit

    def commit_and_cut(dialect: PGDialect_psycopg, connection: PoolProxiedConnection) -> None:
        """The database has committed, but its answer does not arrive where it was cut."""
        commit(dialect, connection)
        cut()
        connection.cursor().execute("SELECT 1")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PGDialect_psycopg, "do_commit", commit_and_cut)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before a statement", "before a commit", "after a commit"])
def test_a_run_goes_on_wherever_its_connection_is_cut(
    server: PostgresServer, again_soon: None, moment: str
) -> None:
    """In the middle of a transaction, too: a server that was started anew has ended those."""
    store = open_store(server.database())
    cut_at = 1
    while True:
        spec = replace(SPEC, k=3, seed=cut_at)  # Folds of the same seed would be used again.
        plan_runs = PlanRuns(store)
        cut = CutsConnections(server, at=cut_at)
        with cutting(cut, moment):
            drive(RunPlan(spec), plan_runs, Here(computing(lambda spec, index: score_of(index))))
        (run,) = store.runs_like(spec)
        assert run.state is RunState.FINISHED
        assert [fold.score for fold in run.folds] == list(SCORES[:3])
        if cut.moments < cut_at:
            break
        cut_at += 1
    assert cut_at > 30


@pytest.mark.slow
def test_a_program_that_evaluates_waits_as_a_command_does(
    server: PostgresServer,
    leave_for_a_second: Callable[[], None],
    again_soon: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ECV_DATABASE_URL", server.database())

    def on_fold(run: ecv.Run) -> None:
        if len(run.scores) == 1:
            leave_for_a_second()

    run = ecv.evaluate("synthetic", "popular", rule="never", k=3, no_energy=True, on_fold=on_fold)
    assert len(run.scores) == 3


@pytest.mark.slow
def test_a_command_that_has_computed_its_run_waits_to_say_so(
    server: PostgresServer,
    leave_for_a_second: Callable[[], None],
    again_soon: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ECV_DATABASE_URL", server.database())

    def drive_and_go_away(*args: Any, **options: Any) -> None:
        drive(*args, **options)
        leave_for_a_second()

    monkeypatch.setattr(driver, "drive", drive_and_go_away)
    assert cli.main(["run", "synthetic", "popular", "-k", "3", "--no-energy"]) == 0
    assert capsys.readouterr().out.startswith("popular on synthetic")


@pytest.mark.slow
def test_a_loop_of_ones_own_waits_as_a_command_does(
    server: PostgresServer,
    leave_for_a_second: Callable[[], None],
    again_soon: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody but the loop has a fold that it reports while the server is away."""
    monkeypatch.setenv("ECV_DATABASE_URL", server.database())
    tracked = ecv.track("mine", dataset="synthetic", k=3, metric="ndcg", rule="never")
    for fold in tracked:
        if fold.index == 1:
            leave_for_a_second()
        tracked.report(SCORES[fold.index])
    assert list(tracked.run.scores) == list(SCORES[:3])


def test_a_loop_goes_on_that_could_not_say_that_it_was_left() -> None:
    """The database was away then: a notebook was told that another program had the run."""
    store = open_store()
    spec = make_spec(dataset="synthetic", algorithm="mine", tracked=True, metric="ndcg")
    run_id = begin_or_go_on(store, spec, owner=this_process())
    assert begin_or_go_on(store, spec, owner=this_process()) == run_id
    assert store.run(run_id).state is RunState.RUNNING


@pytest.mark.slow
def test_a_cross_validation_waits_as_a_command_does(
    server: PostgresServer,
    leave_for_a_second: Callable[[], None],
    again_soon: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ECV_DATABASE_URL", server.database())
    fits = count()

    class Regression(LinearRegression):  # type: ignore[misc]
        def fit(self, X: np.ndarray, y: np.ndarray) -> Regression:
            if next(fits) == 1:
                leave_for_a_second()
            return super().fit(X, y)

    X = np.arange(60.0)[:, None]
    validated = ecv.cross_validate(Regression(), X, X[:, 0] % 7, cv=3, rule="never", keep=True)
    (run,) = open_store().runs()
    assert run.state is RunState.FINISHED
    assert [fold.score for fold in run.folds_in_order] == list(validated["test_score"])


def test_an_interrupt_is_one_still_where_the_database_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep"
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{folder / 'runs.sqlite'}")

    class Interrupted(LinearRegression):  # type: ignore[misc]
        def fit(self, X: np.ndarray, y: np.ndarray) -> Interrupted:
            folder.rename(tmp_path / "away")
            raise KeyboardInterrupt

    X = np.arange(60.0)[:, None]
    with pytest.raises(KeyboardInterrupt):
        ecv.cross_validate(Interrupted(), X, X[:, 0] % 7, cv=3, rule="never", keep=True)


def test_a_model_whose_loop_is_left_where_the_database_is_away_ends_with_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep"
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{folder / 'runs.sqlite'}")

    class Interrupted:
        def fit(self, interactions: object) -> None:
            folder.rename(tmp_path / "away")
            raise KeyboardInterrupt

        def recommend(self, users: object, n: int) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        ecv.evaluate("synthetic", Interrupted(), k=3, metric="ndcg")


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_what_a_command_that_gave_up_has_computed_is_in_the_database_at_the_next_start(
    server: PostgresServer,
    again_soon: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(data))
    monkeypatch.setattr(plan_runs, "SAVE_SECONDS", 0.3)
    url = server.database()
    monkeypatch.setenv("ECV_DATABASE_URL", url)
    store = open_store(url)

    callbacks = Callbacks(trouble=SaveAttempts(lambda sentence: None))
    with (
        pytest.raises(RunError, match=r"gave up after .* the next start takes them into"),
        waiting_for_database(SaveAttempts(lambda sentence: None)),  # as every command does
    ):
        drive(RunPlan(SPEC), PlanRuns(store, callbacks=callbacks), Here(leaving_at(server, 2)))
    (path,) = data.iterdir()  # and nowhere else
    assert re.fullmatch(r"runs-rescued-[0-9a-f]{8}-\w+\.sqlite", path.name)
    server.start()
    store = open_store(url)
    (cut_off,) = store.runs()
    assert [fold.score for fold in cut_off.folds] == list(SCORES[:2])
    cut_off_program_is_gone(store, cut_off)
    assert cli.main(["resume", cut_off.run_id, "-q"]) == 0
    assert list(data.glob("*rescued*")) == []
    run = store.run(cut_off.run_id)
    assert run.state is RunState.FINISHED
    assert [fold.score for fold in run.folds][:3] == list(SCORES[:3])


def cut_off_program_is_gone(store: Store, run: RunRecord) -> None:
    """It was this very process: the database has not heard that it gave up."""
    store.finish(run.run_id, RunState.INTERRUPTED, owner=this_process())


def kept_run(store: Store, folds: int) -> tuple[str, KeptRun]:
    """A run that the database has without a fold, and what its program has of it."""
    (run_id,) = store.create([SPEC], owner="somebody")
    kept = KeptRun(spec=SPEC)
    for fold in range(folds):
        kept.add(run_id, fold_result(fold, SCORES[fold]))
    return run_id, kept


def test_folds_that_were_rescued_are_taken_in_once_beside_those_that_are_there() -> None:
    store = open_store()
    run_id, kept = kept_run(store, 3)
    store.add_fold(run_id, fold_result(0, 0.9), stopped_at=None)
    path = rescue(store, {run_id: kept})
    import_rescued_runs(store)
    assert not path.exists()
    assert [fold.score for fold in store.run(run_id).folds] == [0.9, SCORES[1], SCORES[2]]
    assert [moment.n for moment in store.run(run_id).moments] == [1, 2, 3]
    import_rescued_runs(store)
    assert len(store.run(run_id).folds) == 3


def test_folds_that_are_rescued_later_leave_those_of_an_earlier_file() -> None:
    """As where a run goes on while the first file cannot be taken in yet: it was replaced."""
    store = open_store()
    run_id, kept = kept_run(store, 1)
    later = KeptRun(spec=SPEC)
    later.add(run_id, fold_result(1, SCORES[1]))
    rescue(store, {run_id: kept})
    rescue(store, {run_id: later})
    import_rescued_runs(store)
    assert [fold.score for fold in store.run(run_id).folds] == list(SCORES[:2])


def test_a_run_that_the_database_has_lost_is_made_again() -> None:
    store = open_store()
    run_id, kept = kept_run(store, 2)
    store.leave_queue(run_id, RunState.CANCELLED, owner="somebody")
    store.delete(run_id)
    rescue(store, {run_id: kept})
    import_rescued_runs(store)
    run = store.run(run_id)
    assert (run.state, len(run.folds)) == (RunState.INTERRUPTED, 2)


def test_a_run_that_goes_on_is_left_alone_and_its_file_stays() -> None:
    store = open_store()
    run_id, kept = kept_run(store, 2)
    assert store.start(run_id, owner="somebody")
    path = rescue(store, {run_id: kept})
    import_rescued_runs(store)
    assert path.exists()
    assert store.run(run_id).folds == ()


def test_folds_of_another_database_are_not_taken_in(tmp_path: Path) -> None:
    other = open_store(f"sqlite:///{tmp_path / 'other' / 'runs.sqlite'}")
    run_id, kept = kept_run(other, 2)
    path = rescue(other, {run_id: kept})
    path = path.rename(tmp_path / path.name)
    store = open_store()
    import_rescued_runs(store)
    assert path.exists()
    assert store.runs() == []


def test_outside_of_runs_a_database_that_is_away_is_said_at_once(
    tmp_path: Path, again_soon: None
) -> None:
    """A page is not to hang, and a run is to wait as long as whoever it tells likes."""
    store = open_store(f"sqlite:///{tmp_path / 'deep' / 'runs.sqlite'}")
    store._engine.dispose()
    (tmp_path / "deep").rename(tmp_path / "away")
    with pytest.raises(StoreError):
        store.runs()
    sentences: list[str | None] = []

    def say(sentence: str | None) -> None:
        sentences.append(sentence)
        if len(sentences) == 3:
            (tmp_path / "away").rename(tmp_path / "deep")

    with waiting_for_database(say):
        assert store.runs() == []
    assert len(sentences) == 4
    assert sentences[3] is None
    assert "cannot be reached" in str(sentences[0])
    interrupt_abandoned_runs(store)
