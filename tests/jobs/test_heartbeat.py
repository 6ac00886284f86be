"""Who has a run: programs that are gone are noticed from anywhere, and nobody gets a run twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.heartbeat import recover
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
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


def last_seen(store: Store, whose: str, seconds: float) -> None:
    beat(store, whose, serves=False)
    then = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()
    with store.transaction("written") as connection:
        connection.execute(owners.update().where(owners.c.owner == whose).values(beat_at=then))


def test_a_process_here_is_known_by_its_id_and_its_start() -> None:
    me = this_process()
    assert is_alive(me, None)
    machine, pid, started = me.rsplit(":", 2)
    assert not is_alive(f"{machine}:4194304:{started}", datetime.now(UTC))
    assert not is_alive(f"{machine}:{pid}:{int(started) - 60}", datetime.now(UTC))


def test_a_name_that_no_process_gives_itself_is_left_alone(store: Store) -> None:
    run_id = running(store, "somebody")
    recover(store)
    assert store.run(run_id).state is RunState.RUNNING


@pytest.mark.parametrize(("seconds", "state"), [(2, "running"), (12, "interrupted")])
def test_a_program_elsewhere_is_gone_without_a_sign_of_life(store, seconds, state) -> None:
    run_id = running(store, ELSEWHERE)
    last_seen(store, ELSEWHERE, seconds)
    recover(store)
    assert store.run(run_id).state == state


def test_one_that_never_gave_a_sign_is_gone(store: Store) -> None:
    run_id = running(store, ELSEWHERE)
    recover(store)
    assert store.run(run_id).state is RunState.INTERRUPTED


def test_the_queue_of_a_dashboard_that_is_gone_goes_on_in_the_next_one(store: Store) -> None:
    run_id, waiting = store.create([SPEC, SPEC], owner=ELSEWHERE)
    store.start(run_id, owner=ELSEWHERE)
    last_seen(store, ELSEWHERE, 12)  # of a command line: nobody takes its queue over
    recover(store, serves=True)
    assert store.run(waiting).state is RunState.INTERRUPTED

    run_id, waiting = store.create([SPEC, SPEC], owner=ELSEWHERE)
    store.start(run_id, owner=ELSEWHERE)
    last_seen(store, ELSEWHERE, 12)
    with store.transaction("written") as connection:
        connection.execute(owners.update().values(serves=True))
    assert recover(store, serves=True)
    assert store.run(run_id).state is RunState.INTERRUPTED
    assert store.run(waiting).state is RunState.QUEUED
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
