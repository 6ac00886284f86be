"""Who has a run: programs that are gone are noticed from anywhere, and nobody gets a run twice."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier, Event, Semaphore

import psutil
import pytest

from ecv_core.cli import main
from ecv_core.jobs import heartbeat, plan_runs
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.heartbeat import OwnerWatch, interrupt_abandoned_runs, interrupt_run_if_abandoned
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.errors import StoreError
from ecv_core.records.run import FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import beat, interrupt, is_alive, this_process
from ecv_core.store.schema import owners
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES, computing, fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
ELSEWHERE = "another-host/01234567:12:1700000000"


def running(store: Store, whose: str) -> str:
    run_id = store.create([SPEC], owner=whose)[0]
    assert store.start(run_id, owner=whose)
    return run_id


class Clock:
    """The clock of one machine, which a test sets."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock(1000.0)
    monkeypatch.setattr(heartbeat, "monotonic", clock.monotonic)
    monkeypatch.setattr(heartbeat, "sleep", clock.sleep)
    return clock


def signed_at(store: Store, whose: str, moment: datetime, *, is_dashboard: bool = False) -> None:
    """A sign of life by the clock of who gives it."""
    beat(store, whose, is_dashboard=is_dashboard)
    change = owners.update().where(owners.c.owner == whose)
    with store.transaction("written") as connection:
        connection.execute(change.values(beat_at=moment.isoformat()))


def gone_after(watch: OwnerWatch, clock: Clock, seconds: int) -> set[str]:
    """Who is gone when one has looked every second for so long."""
    gone = watch.find_gone_owners()
    for _ in range(seconds):
        clock.seconds += 1
        gone = watch.find_gone_owners()
    return gone


def test_a_process_here_is_known_by_its_id_and_its_start() -> None:
    me = this_process()
    assert is_alive(me, silent_seconds=99)
    machine, pid, started = me.rsplit(":", 2)
    assert not is_alive(f"{machine}:4194304:{started}", silent_seconds=0)
    assert not is_alive(f"{machine}:{pid}:{int(started) - 60}", silent_seconds=0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says the ticks since boot")
def test_a_clock_that_steps_by_five_seconds_leaves_a_process_its_name(monkeypatch) -> None:
    """A process's start by the clock is its ticks since boot plus the time of the boot, which moves
    with the clock."""
    me = this_process()
    by_the_clock = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: by_the_clock(self) + 5)
    assert this_process() == me
    assert is_alive(me, silent_seconds=0)


def test_a_name_that_no_process_gives_itself_is_left_alone(store: Store) -> None:
    run_id = running(store, "somebody")
    interrupt_run_if_abandoned(store, run_id)
    assert store.run(run_id).state is RunState.RUNNING


@pytest.mark.parametrize("apart", [-30, -15, 0, 15, 30])
def test_a_program_whose_clock_is_another_is_alive_while_its_signs_change(
    store, clock, apart
) -> None:
    running(store, ELSEWHERE)
    watch = OwnerWatch(store)
    moment = datetime.now(UTC) + timedelta(seconds=apart)
    for _ in range(20):  # a minute, a sign every three seconds
        moment += timedelta(seconds=3)
        signed_at(store, ELSEWHERE, moment)
        assert gone_after(watch, clock, 3) == set()


@pytest.mark.parametrize("apart", [-30, 0, 30])
def test_a_program_elsewhere_is_gone_when_its_sign_stays_the_same(store, clock, apart) -> None:
    running(store, ELSEWHERE)
    signed_at(store, ELSEWHERE, datetime.now(UTC) + timedelta(seconds=apart))
    watch = OwnerWatch(store)
    assert gone_after(watch, clock, 9) == set()
    assert gone_after(watch, clock, 1) == {ELSEWHERE}


def test_a_sign_that_nobody_could_give_while_the_database_was_away_is_waited_for(
    store, clock
) -> None:
    running(store, ELSEWHERE)
    signed_at(store, ELSEWHERE, datetime.now(UTC))
    watch = OwnerWatch(store)
    assert watch.find_gone_owners() == set()
    clock.seconds += 60
    assert watch.find_gone_owners() == set()
    assert gone_after(watch, clock, 10) == {ELSEWHERE}


def test_a_database_that_is_deleted_after_the_last_sign_is_no_trouble(
    store: Store, monkeypatch, caplog
) -> None:
    """As that of a run that is not kept: a warning stood below what a notebook had found."""
    is_looking = Event()
    has_stopped = Event()

    def look_once_all_is_over(_store: Store) -> dict[str, str | None]:
        is_looking.set()
        has_stopped.wait()
        raise StoreError("the database was deleted")

    monkeypatch.setattr(heartbeat, "active_owners", look_once_all_is_over)
    heart = heartbeat.Heartbeat(store)
    is_looking.wait()
    heart.stop()
    has_stopped.set()
    heart._thread.join()
    assert not caplog.messages


def test_a_database_that_stays_away_is_said_once(store: Store, monkeypatch, caplog) -> None:
    """A command on a full disk said every three seconds that it could give no sign of life."""
    looks = Semaphore(0)

    def look_in_vain(_store: Store) -> dict[str, str | None]:
        looks.release()
        raise StoreError("the disk is full")

    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0)
    monkeypatch.setattr(heartbeat, "active_owners", look_in_vain)
    heart = heartbeat.Heartbeat(store)
    for _ in range(3):
        looks.acquire()
    heart.stop()
    heart._thread.join()
    assert caplog.messages == ["no sign of life could be given: the disk is full"]


def test_progress_that_cannot_be_written_for_a_while_is_said_once(
    store: Store, monkeypatch, caplog
) -> None:
    tries = Semaphore(0)

    def write_in_vain(*_progress: object) -> None:
        tries.release()
        raise StoreError("the disk is full")

    monkeypatch.setattr(plan_runs, "AGAIN_SECONDS", 0)
    monkeypatch.setattr(plan_runs, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(store, "set_progress", write_in_vain)
    writer = plan_runs.ProgressWriter(store)
    report = writer.progress_for("a run", 0)
    for step in range(3):
        report("fit", step, 3)
        tries.acquire()
    writer.close()
    assert caplog.messages == ["progress was not written: the disk is full"]


def test_who_looks_marks_nothing(capsys) -> None:
    machine = this_process().rsplit(":", 2)[0]
    run_id = running(open_store(), f"{machine}:4194304:1")
    assert main(["runs", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "interrupted"
    assert open_store().run(run_id).state is RunState.RUNNING


def test_resume_takes_nothing_that_lives(store, clock, monkeypatch) -> None:
    """Its clock is 30 seconds behind, and its next sign comes after three seconds."""
    run_id = running(store, ELSEWHERE)
    begin = clock.seconds
    behind = datetime.now(UTC) - timedelta(seconds=30)
    signed_at(store, ELSEWHERE, behind)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.seconds >= begin + 3:
            signed_at(store, ELSEWHERE, behind + timedelta(seconds=3))

    monkeypatch.setattr(heartbeat, "sleep", sleep)
    interrupt_run_if_abandoned(store, run_id)
    assert store.run(run_id).state is RunState.RUNNING
    assert clock.seconds == begin + 3


def test_resume_takes_what_gives_no_sign(store, clock) -> None:
    run_id = running(store, ELSEWHERE)
    signed_at(store, ELSEWHERE, datetime.now(UTC) + timedelta(seconds=30))
    interrupt_run_if_abandoned(store, run_id)
    assert store.run(run_id).state is RunState.INTERRUPTED


def test_one_that_never_gave_a_sign_is_gone(store: Store, clock) -> None:
    run_id = running(store, ELSEWHERE)
    interrupt_run_if_abandoned(store, run_id)
    assert store.run(run_id).state is RunState.INTERRUPTED


@pytest.mark.parametrize(("is_dashboard", "state"), [(True, "queued"), (False, "interrupted")])
def test_the_queue_of_a_dashboard_that_is_gone_goes_on_in_the_next_one(
    store, is_dashboard, state
) -> None:
    """Nobody takes the queue of a command line over."""
    ended = f"{this_process().rsplit(':', 2)[0]}:4194304:1"
    run_id, waiting = store.create([SPEC, SPEC], owner=ended)
    store.start(run_id, owner=ended)
    beat(store, ended, is_dashboard=is_dashboard)
    interrupt_abandoned_runs(store, takes_over_queues=True)
    assert store.run(run_id).state is RunState.INTERRUPTED
    assert store.run(waiting).state == state
    if is_dashboard:
        assert store.next_queued(this_process()) == waiting


def test_one_that_was_wrongly_taken_for_dead_has_its_run_again(store: Store) -> None:
    run_id = running(store, ELSEWHERE)
    interrupt(store, [ELSEWHERE])
    assert store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None, owner=ELSEWHERE)
    assert store.run(run_id).state is RunState.RUNNING
    store.finish(run_id, RunState.FINISHED, owner=ELSEWHERE)
    assert store.run(run_id).state is RunState.FINISHED


def test_a_run_that_was_resumed_elsewhere_is_left_to_who_resumed_it(store: Store) -> None:
    """The fold that was under way is kept; the driver that lost the run goes no further."""
    computed: list[int] = []

    (run_id,) = store.create([SPEC], owner=this_process())

    def fold(spec: RunSpec, index: int) -> FoldResult:
        computed.append(index)
        if index == 1:
            interrupt(store, [this_process()])
            assert store.requeue(run_id, spec, owner=ELSEWHERE)
        return fold_result(index, SCORES[index])

    drive(RunPlan(SPEC), PlanRuns(store, runs=[store.run(run_id)]), Here(computing(fold)))
    left = store.run(run_id)
    assert computed == [0, 1]
    assert left.state is RunState.QUEUED
    assert [fold.score for fold in left.folds] == list(SCORES[:2])
    assert store.next_queued(ELSEWHERE) == run_id


def test_of_all_who_resume_at_once_one_gets_the_run() -> None:
    stores = [open_store() for _ in range(4)]
    for _ in range(25):
        run_id = stores[0].create([SPEC], owner="gone")[0]
        interrupt(stores[0], ["gone"])
        together = Barrier(len(stores))

        def resume(number: int, run_id: str = run_id, together: Barrier = together) -> bool:
            together.wait()
            mine = f"manager {number}"
            queued = stores[number].requeue(run_id, SPEC, owner=mine)
            return stores[number].start(run_id, owner=mine) and queued

        with ThreadPoolExecutor(len(stores)) as pool:
            assert sum(pool.map(resume, range(len(stores)))) == 1
