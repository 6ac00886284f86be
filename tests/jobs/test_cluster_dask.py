"""A real Dask scheduler with worker processes: folds and data travel, what is lost comes back."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.cluster import choose
from ecv_core.jobs.cluster.executor import DaskExecutor
from ecv_core.jobs.cluster.node import DataMissing
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Begun, Computed, Ended, Executor, Here
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import Store, open_store
from tests.conftest import PROJECT
from tests.fake_folds import SCORES, fold_result
from tests.jobs.network_here import HERE, THERE, Network
from tests.jobs.network_here import why_not as no_network
from tests.jobs.node_folds import (
    another_fold,
    answers_with_a_stranger,
    asleep,
    cannot_say,
    killed_always,
    killed_once,
    pid_as_score,
    quick_once,
    raises_a_stranger,
    waits_for_go,
)
from tests.ports import unused_port

pytest.importorskip("distributed", reason="Dask is not installed")
import dask
from distributed.comm import CommClosedError

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """One database will do: nothing here depends on which it is."""
    return open_store(f"sqlite:///{tmp_path / 'runs.sqlite'}")


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Executor]]:
    monkeypatch.setattr(choose, "ANSWER_SECONDS", 120.0)  # a scheduler here has just been started
    made: list[Executor] = []

    def make(place: str = "local:2", **given: object) -> Executor:
        made.append(choose.executor_on(place, **given))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.mark.slow
def test_each_worker_computes_in_one_process_that_stays(store: Store, on) -> None:
    drive(StudyPlan([SPEC]), PlanRuns(store), on(compute=pid_as_score))
    (run,) = store.runs()
    assert len({fold.score for fold in run.folds}) == 2
    assert len({fold.node.host for fold in run.folds}) == 2


@pytest.mark.slow
def test_scores_are_those_of_one_machine_to_the_last_bit(tmp_path: Path, on) -> None:
    # All fourteen models with their usual epochs had the same scores, too: 318 s.
    few: dict[str, dict[str, int]] = {"implicit-mf": {"epochs": 2}, "neu-mf": {"epochs": 1}}
    specs = [
        make_spec(
            dataset="synthetic",
            algorithm=name,
            k=4 if name in ("popular", "ease") else 2,
            params=few.get(name, {}),
        )
        for name in ("popular", "ease", "item-knn", "implicit-mf", "neu-mf")
    ]
    one, two = (open_store(f"sqlite:///{tmp_path / name}.sqlite") for name in ("one", "two"))
    drive(StudyPlan(specs), PlanRuns(one), Here())
    drive(StudyPlan(specs), PlanRuns(two), on())
    assert told(two) == told(one)
    assert len(told(one)) == len(specs)
    shared = {fold.energy.machine_shared for run in two.runs() for fold in run.folds}
    assert shared == {True}


def told(store: Store) -> dict[str, object]:
    found = {}
    for run in store.runs():
        users = store.user_scores(run.run_id)
        seen = run.folds[: run.stopped_at]
        found[run.spec.algorithm] = (
            run.state,
            run.stopped_at,
            [(fold.fold, fold.score, fold.metrics) for fold in seen],
            [users[fold.fold].values.tobytes() for fold in seen if fold.fold in users],
            run.at_stop,
        )
    return found


def run_of(store: Store, executor: Executor, spec: RunSpec = SPEC) -> RunRecord:
    drive(RunPlan(spec), PlanRuns(store), executor)
    return store.runs()[0]


@pytest.mark.slow
def test_a_fold_that_is_lost_with_its_worker_is_computed_again(store: Store, on) -> None:
    done = run_of(store, on(compute=killed_once))
    assert done.state is RunState.FINISHED
    assert [fold.score for fold in done.folds] == list(SCORES)
    assert [fold.energy.joules for fold in done.folds] == [10] * 5


@pytest.mark.slow
def test_a_fold_whose_process_is_always_killed_ends_the_run_with_the_name_of_its_node(
    store: Store, on
) -> None:
    failed = run_of(store, on(compute=killed_always))
    assert failed.state is RunState.INTERRUPTED
    assert re.search(r"3 times in a row .*\(SIGKILL on the node .+/\d\)", failed.error)
    assert {fold.fold for fold in (*failed.folds, *failed.ahead)} >= {0}


@pytest.mark.slow
def test_a_cancel_ends_what_is_computed(
    store: Store, on, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "asleep"
    marks.mkdir()
    monkeypatch.setenv("ASLEEP", str(marks))
    executor = on(compute=asleep)

    def cancel_once_both_sleep() -> None:
        while len(list(marks.iterdir())) < 2:
            time.sleep(0.05)
        store.request_cancel(store.runs()[0].run_id)

    threading.Thread(target=cancel_once_both_sleep, daemon=True).start()
    done = run_of(store, executor)
    assert done.state is RunState.CANCELLED
    pids = [int(path.name) for path in marks.iterdir()]
    while any(map(computes, pids)):
        time.sleep(0.05)  # folds that would take an hour


def computes(pid: int) -> bool:
    """Whether the process is there; one that has ended may wait for its parent to look."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
def test_an_error_on_a_node_is_one_sentence(store: Store, on) -> None:
    failed = run_of(store, on("local:1", compute=cannot_say))
    assert failed.state is RunState.FAILED
    assert "an unexpected error ended this run (KeyError" in failed.error


@pytest.mark.slow
def test_a_node_that_answers_with_another_fold_is_named_and_tried_three_times(
    store: Store, on, marks: Path
) -> None:
    failed = run_of(store, on("local:1", compute=another_fold))
    assert failed.state is RunState.INTERRUPTED
    assert re.search("the answer of the node .* cannot be fold 1: .* fold 2", failed.error)
    assert len([mark for mark in marks.iterdir() if mark.name.startswith("1-")]) == 3


@pytest.mark.slow
def test_an_exception_of_a_node_that_nobody_can_read_ends_the_run_in_its_sentence(
    store: Store, on, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = on("local:1")
    monkeypatch.setattr("ecv_core.jobs.cluster.executor.run_task", raises_a_stranger)
    failed = run_of(store, executor)
    assert failed.state is RunState.FAILED
    assert "(Stranger: the licence server said 503)" in failed.error


@pytest.mark.slow
def test_a_result_of_a_node_that_nobody_can_read_is_tried_three_times(
    store: Store, on, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = on("local:1")
    monkeypatch.setattr("ecv_core.jobs.cluster.executor.run_task", answers_with_a_stranger)
    failed = run_of(store, executor)
    assert failed.state is RunState.INTERRUPTED
    assert failed.error.startswith("3 times in a row")
    assert "cannot be read here (ModuleNotFoundError" in failed.error


# -- somebody else's scheduler -------------------------------------------------------------------


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    one = Scheduler(tmp_path)
    yield one
    one.end()


class Scheduler:
    """dask scheduler and dask worker, as a site starts them."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", inside: Sequence[str] = ()) -> None:
        self._folder, self._host = folder, host
        self._port = unused_port()
        self.inside = inside
        """Begins each command, as of `Network.inside`."""
        self.address = f"tcp://{host}:{self._port}"
        self.started: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self, *words: str, **surroundings: str) -> None:
        at = ("--host", self._host, "--port", str(self._port), "--no-dashboard")
        self.start("scheduler", *at, *words, **surroundings)

    def start(self, what: str, *words: str, **surroundings: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "distributed.cli.dask_" + what]
        command = [*self.inside, *program, *words]
        path = os.pathsep.join(filter(None, [str(PROJECT), *sys.path]))
        log = (self._folder / f"{what}-{len(self.started)}.log").open("wb")
        env = os.environ | {"PYTHONPATH": path} | surroundings
        with log:
            self.started.append(subprocess.Popen(command, stdout=log, stderr=log, env=env))
        return self.started[-1]

    def worker(self, *words: str, **surroundings: str) -> subprocess.Popen[bytes]:
        usual = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--resources", "node=1")
        where = ("--local-directory", str(self._folder))
        return self.start("worker", self.address, *usual, *where, *words, **surroundings)

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()


def wait_for_workers(executor: Executor, count: int) -> None:
    while executor.capacity < count:
        time.sleep(0.1)


@pytest.mark.slow
def test_a_node_is_sent_its_dataset_once(
    store: Store, on, scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(home))
    monkeypatch.setenv("ECV_DATA_PATH", "")
    rows = [f"u{user},i{(user * 7 + item * 3) % 40}" for user in range(60) for item in range(20)]
    (home / "mine.csv").write_text("\n".join(["user_id,item_id", *rows]) + "\n")
    there = tmp_path / "there"
    scheduler.worker(ECV_DATA_DIR=str(there))
    executor = on(scheduler.address)
    wait_for_workers(executor, 1)
    spec = make_spec(dataset="mine", algorithm="popular", k=3, rule="never")
    done = run_of(store, executor, spec)
    assert done.state is RunState.FINISHED, done.error
    (sent,) = there.rglob("mine.csv")
    assert sent.read_bytes() == (home / "mine.csv").read_bytes()
    when = sent.stat().st_mtime_ns
    run_of(store, executor, replace(spec, seed=7))
    assert sent.stat().st_mtime_ns == when
    local = open_store(f"sqlite:///{tmp_path / 'local'}.sqlite")
    alone = run_of(local, Here(), spec)
    assert [fold.score for fold in done.folds] == [fold.score for fold in alone.folds]


def test_workers_that_take_no_folds_are_one_sentence(on, scheduler: Scheduler) -> None:
    scheduler.start("worker", scheduler.address, "--no-nanny", "--no-dashboard")

    def asked() -> None:
        while True:  # until the worker is there
            on(scheduler.address).close()

    with pytest.raises(InputError, match=r"none of the 1 workers .* --resources node=1"):
        asked()


@pytest.mark.slow
def test_a_coordinator_that_was_killed_finds_what_is_running(
    store: Store, on, scheduler: Scheduler, marks: Path
) -> None:
    scheduler.worker()
    program = [sys.executable, "-c", COORDINATOR, scheduler.address]
    path = os.pathsep.join(filter(None, [str(PROJECT), *sys.path]))
    first = subprocess.Popen(program, env=os.environ | {"PYTHONPATH": path})
    while not list(marks.glob("begun-*")):
        assert first.poll() is None
        time.sleep(0.1)
    first.kill()
    first.wait()
    interrupt_abandoned_runs(store)
    (cut,) = store.runs()
    assert cut.state is RunState.INTERRUPTED
    executor = on(scheduler.address, compute=waits_for_go)
    threading.Timer(1.0, (marks / "go").touch).start()
    drive(RunPlan(cut.spec), PlanRuns(store, runs=[cut]), executor)
    done = store.run(cut.run_id)
    assert done.state is RunState.FINISHED
    assert len(list(marks.glob("begun-0-*"))) == 1  # it was not begun again


COORDINATOR = """
import sys
import time
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.driver import drive
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.store.store import open_store
from ecv_core.records.spec import RunSpec
from tests.jobs.node_folds import waits_for_go
executor = executor_on(sys.argv[1], compute=waits_for_go)
while not executor.capacity:
    time.sleep(0.1)
spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
drive(RunPlan(spec), PlanRuns(open_store()), executor)
"""


# -- faults ----------------------------------------------------------------------------------------


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `waits_for_go` says which folds it has begun, and looks whether it may end."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("MARKS", str(folder))
    return folder


def begun(marks: Path, fold: int) -> int:
    """How often a fold has been begun."""
    return len(list(marks.glob(f"begun-{fold}-*")))


def meanwhile(marks: Path, do: Callable[[], object]) -> threading.Thread:
    """Once fold 0 is computed: do something, then let folds end."""

    def work() -> None:
        while not begun(marks, 0):
            time.sleep(0.05)
        do()
        (marks / "go").touch()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_scheduler_that_is_gone_and_comes_back_gets_its_folds_again(
    store: Store, on, scheduler: Scheduler, marks: Path
) -> None:
    scheduler.worker()
    executor = on(scheduler.address, compute=waits_for_go)
    wait_for_workers(executor, 1)

    def restart() -> None:
        for process in scheduler.started:
            process.kill()
            process.wait()
        scheduler.start_scheduler()
        scheduler.worker()
        while begun(marks, 0) < 2:
            time.sleep(0.1)

    meanwhile(marks, restart)
    done = run_of(store, executor)
    assert done.state is RunState.FINISHED, done.error
    assert [fold.fold for fold in done.folds] == [0, 1, 2, 3, 4]
    assert done.joules == 50
    assert [begun(marks, fold) for fold in range(5)] == [2, 1, 1, 1, 1]


@pytest.mark.slow
def test_a_scheduler_that_stays_gone_ends_the_run_in_a_sentence(
    store: Store, on, scheduler: Scheduler, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecv_core.jobs.cluster.executor.BACK_SECONDS", 3.0)
    scheduler.worker()
    executor = on(scheduler.address, compute=waits_for_go)
    wait_for_workers(executor, 1)
    meanwhile(marks, lambda: scheduler.started[0].kill())
    failed = run_of(store, executor)
    assert failed.state is RunState.FAILED
    assert "the Dask scheduler is gone; finished folds are kept" in failed.error


@pytest.mark.slow
def test_a_worker_that_is_silent_for_a_while_goes_on_and_one_that_stays_so_is_replaced(
    store: Store, on, scheduler: Scheduler, marks: Path
) -> None:
    scheduler.end()
    scheduler.start_scheduler(DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="8s")
    silent = scheduler.worker()
    executor = on(scheduler.address, compute=waits_for_go)
    wait_for_workers(executor, 1)

    def be_silent() -> None:
        silent.send_signal(signal.SIGSTOP)
        time.sleep(3)
        silent.send_signal(signal.SIGCONT)

    meanwhile(marks, be_silent)
    assert run_of(store, executor).state is RunState.FINISHED
    assert [begun(marks, fold) for fold in range(5)] == [1] * 5  # nothing was computed twice

    (marks / "go").unlink()
    for mark in marks.iterdir():
        mark.unlink()

    def fall_silent() -> None:
        silent.send_signal(signal.SIGSTOP)
        scheduler.worker()

    meanwhile(marks, fall_silent)
    done = run_of(store, executor, replace(SPEC, seed=7))
    assert done.state is RunState.FINISHED, done.error
    assert done.joules == 50
    assert begun(marks, 0) == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_of_a_node_is_one_sentence_with_the_way_out(
    store: Store, on, scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "home").mkdir()
    (small := tmp_path / "small").mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(home))
    monkeypatch.setenv("ECV_DATA_PATH", "")
    rows = [f"u{user},i{(user * 7 + item * 3) % 40}" for user in range(900) for item in range(20)]
    (home / "mine.csv").write_text("\n".join(["user_id,item_id", *rows]) + "\n")
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        scheduler.worker(ECV_DATA_DIR=str(small))
        executor = on(scheduler.address)
        wait_for_workers(executor, 1)
        spec = make_spec(dataset="mine", algorithm="popular", k=3, rule="never")
        failed = run_of(store, executor, spec)
        scheduler.end()
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert failed.state is RunState.FAILED
    assert re.search(
        r"the dataset mine cannot be saved in .*/small/sent/.*: No space left on device; make room "
        r"there, or set ECV_DATA_DIR on the nodes",
        failed.error,
    )


@pytest.mark.slow
def test_a_fold_begun_again_as_its_node_went_after_the_result_was_in_is_ended(
    on, scheduler: Scheduler, marks: Path
) -> None:
    node = scheduler.worker()
    executor = on(scheduler.address, compute=quick_once)
    wait_for_workers(executor, 1)
    executor.submit(TASK, no_progress)
    ended = False
    while not ended:
        for said in executor.finished(1.0):
            ended = isinstance(said, Ended)
            if isinstance(said, Computed):
                node.kill()
                scheduler.worker()
                while len(list(marks.iterdir())) < 2:
                    time.sleep(0.05)
    while any(computes(int(mark.name)) for mark in marks.iterdir()):
        time.sleep(0.05)


@pytest.fixture
def network() -> Iterator[Network]:
    """Tests name it before `on`, so that it ends last: without it, the address of a scheduler that
    a client looks for again is one of the network outside, where something else may answer."""
    if why := no_network():
        pytest.skip(why)
    one = Network()
    yield one
    one.end()


@pytest.fixture
def gives_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Seconds without an answer after which Dask ends a connection; 30 by default."""
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", f"{GIVES_UP:g}s")
    with dask.config.set({"distributed.comm.timeouts.tcp": f"{GIVES_UP:g}s"}):
        yield GIVES_UP


GIVES_UP = 12.0


@pytest.mark.slow
def test_a_node_that_is_cut_off_loses_the_fold_that_it_computes_and_no_other(
    store: Store, network: Network, on, tmp_path: Path, marks: Path, gives_up
) -> None:
    scheduler = Scheduler(tmp_path, HERE)
    try:
        scheduler.inside = network.inside
        far = scheduler.worker()
        executor = on(scheduler.address, compute=waits_for_go)
        wait_for_workers(executor, 1)
        meanwhile(marks, lambda: network.cut(gives_up / 3))
        first = run_of(store, executor)
        assert first.state is RunState.FINISHED, first.error
        assert [begun(marks, fold) for fold in range(5)] == [1] * 5  # nobody has noticed

        (marks / "go").unlink()
        for mark in marks.iterdir():
            mark.unlink()

        def pull_out() -> None:
            scheduler.inside = ()
            network.cut()
            scheduler.worker()
            far.wait()  # it does not go on with a fold that nobody will get

        meanwhile(marks, pull_out)
        done = run_of(store, executor, replace(SPEC, seed=7))
    finally:
        scheduler.end()
    assert done.state is RunState.FINISHED, done.error
    assert [fold.fold for fold in done.folds] == [0, 1, 2, 3, 4]
    assert done.joules == 50
    assert [begun(marks, fold) for fold in range(5)] == [2, 1, 1, 1, 1]


@pytest.mark.slow
def test_a_coordinator_that_is_cut_off_from_its_scheduler_goes_on_when_it_is_back(
    store: Store, network: Network, on, tmp_path: Path, marks: Path, gives_up
) -> None:
    scheduler = Scheduler(tmp_path, THERE, network.inside)
    try:
        scheduler.worker()
        executor = on(scheduler.address, compute=waits_for_go)
        wait_for_workers(executor, 1)
        meanwhile(marks, lambda: network.cut(2 * gives_up))
        done = run_of(store, executor)
    finally:
        scheduler.end()
    assert done.state is RunState.FINISHED, done.error
    assert [fold.fold for fold in done.folds] == [0, 1, 2, 3, 4]
    assert done.joules == 50
    assert [begun(marks, fold) for fold in range(5)] == [1] * 5


OTHER_VERSIONS = """
import importlib.metadata as metadata
usual = metadata.version
metadata.version = lambda name: "0.0.7" if name in ("numpy", "torch") else usual(name)
import ecv_core.records
ecv_core.records.__version__ = "0.0.7"
"""


class Given(Future):
    """What Dask's client gives."""

    def release(self) -> None:
        """Nobody waits for it any more."""


class Dying:
    """A client whose scheduler dies in some calls, which raise then what Dask's client raises."""

    status = "running"

    def __init__(self, *dying: str, knows: Sequence[str] = ()) -> None:
        self._dying, self._knows = set(dying), knows
        self.given: list[Given] = []
        self.published: list[str] = []

    def _called(self, what: str) -> None:
        if what in self._dying:
            raise CommClosedError(f"in {what}: Stream is closed")

    def scheduler_info(self) -> dict[str, dict[str, object]]:
        return {"workers": {}}

    def list_datasets(self) -> Sequence[str]:
        return self._knows

    def subscribe_topic(self, topic: str, told: object) -> None:
        """Nobody says anything."""

    def submit(self, seal: object, run: object, call: object, key: str, **how: object) -> Future:
        self.given.append(Given())
        self.given[-1].key = key
        return self.given[-1]

    def publish_dataset(self, *data: object, name: str, **how: object) -> None:
        self._called("publish_dataset")
        self.published.append(name)

    def unpublish_dataset(self, name: str) -> None:
        self._called("unpublish_dataset")

    def get_dataset(self, name: str) -> Future:
        self._called("get_dataset")
        return Given()


def told_by(executor: DaskExecutor) -> list[Computed | Ended]:
    return [said for said in executor.finished(0.0) if not isinstance(said, Begun)]


TASK = FoldTask(specs=(SPEC,), fold=0)
RESULT = fold_result(0, 0.3)


def test_a_scheduler_that_dies_as_a_fold_is_given_out_loses_no_fold() -> None:
    client = Dying("publish_dataset", "unpublish_dataset")
    executor = DaskExecutor(client)
    executor.submit(TASK, no_progress)
    client.given[0].set_result(pickle.dumps([(0, RESULT)]))
    assert told_by(executor) == [Computed(task=TASK, spec_index=0, result=RESULT), Ended(task=TASK)]


def test_a_scheduler_that_dies_as_data_are_sent_is_sent_them_again() -> None:
    client = Dying("publish_dataset")
    executor = DaskExecutor(client)
    executor.submit(TASK, no_progress)
    client.given[0].set_result(pickle.dumps(DataMissing("synthetic")))
    assert told_by(executor) == []
    client.given[1].set_result(pickle.dumps([(0, RESULT)]))
    assert told_by(executor) == [Computed(task=TASK, spec_index=0, result=RESULT), Ended(task=TASK)]


@pytest.mark.parametrize("call", ["get_dataset", "unpublish_dataset", "publish_dataset"])
def test_a_scheduler_that_dies_as_a_running_fold_is_looked_for_is_given_it_anew(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Dying()
    DaskExecutor(before).submit(TASK, no_progress)
    monkeypatch.setattr("ecv_core.jobs.cluster.executor.is_gone", lambda owner: True)
    client = Dying(call, knows=before.published)
    executor = DaskExecutor(client)
    executor.submit(TASK, no_progress)
    client.given[0].set_result(pickle.dumps([(0, RESULT)]))
    assert told_by(executor) == [Computed(task=TASK, spec_index=0, result=RESULT), Ended(task=TASK)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mismatched versions found")  # Dask's own table
def test_a_worker_with_other_versions_is_refused_before_and_after_the_run_begins(
    store: Store, on, scheduler: Scheduler, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text(OTHER_VERSIONS)
    executor = on(scheduler.address)  # before there is any worker
    path = os.pathsep.join(filter(None, [str(tmp_path / "other"), str(PROJECT), *sys.path]))
    scheduler.worker(PYTHONPATH=path)
    wait_for_workers(executor, 1)
    sentence = (
        r"the node \S+ was refused: it has e-fold 0\.0\.7 and not \S+, numpy 0\.0\.7 and not "
        r"\S+, torch 0\.0\.7 and not \S+; install the same there"
    )
    failed = run_of(store, executor)
    assert failed.state is RunState.FAILED
    assert re.search(sentence, failed.error)
    with pytest.raises(InputError, match=sentence):
        on(scheduler.address)


def certificates(folder: Path) -> dict[str, str]:
    """An authority and a certificate that it has signed: the paths of ca, cert and key."""
    new, days = ["-newkey", "rsa:2048", "-nodes"], ["-days", "2"]
    for words in (
        ["req", "-x509", *new, *days, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem"],
        ["req", *new, "-subj", "/CN=e-fold", "-keyout", "key.pem", "-out", "request.pem"],
        [
            *("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key"),
            *("-CAcreateserial", *days, "-out", "cert.pem"),
        ],
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    return {name: str(folder / f"{name}.pem") for name in ("ca", "cert", "key")}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificates")
def test_an_encrypted_scheduler_takes_who_has_a_certificate_and_nobody_else(
    store: Store, on, scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = certificates(tmp_path)
    given = ["--tls-ca-file", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"]]
    scheduler.end()
    scheduler.address = scheduler.address.replace("tcp", "tls")
    scheduler.start_scheduler("--protocol", "tls", *given)
    scheduler.worker(*given)
    tls = {"ca-file": files["ca"], "client.cert": files["cert"], "client.key": files["key"]}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in tls.items()}):
        executor = on(scheduler.address, compute=pid_as_score)
        wait_for_workers(executor, 1)
        assert run_of(store, executor).state is RunState.FINISHED
    monkeypatch.setattr(choose, "ANSWER_SECONDS", 2.0)
    for address in (scheduler.address, scheduler.address.replace("tls", "tcp")):
        with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}"):
            on(address)
