"""SIGKILL on a cluster: no finished fold is lost or counted twice, and the run goes on.

python -m benchmarks.cluster [--kills 60] [--seed 1]

A run of eight folds that sleep is computed on three nodes. In turn a node's process, a node, the
scheduler or the coordinator is killed; what was killed is started again, as a site does. What was
in the table of folds at the kill has to be there at the end to the letter, each fold once, with the
joules of one computing, and no fold that was there may be computed again. Every kill is made from
the seed and its number. Exit code 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from multiprocessing.util import get_temp_dir
from pathlib import Path
from random import Random, SystemRandom
from typing import NamedTuple

import psutil
import sqlalchemy as sa
from distributed import Client, Scheduler, Worker

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Results
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result

COMPUTED = "ECV_BENCHMARK_COMPUTED"
"""Names a file that gets a line for each fold that was computed to its end."""
FOLDS = 8
FOLD_SECONDS = 0.6
NODES = 3
VICTIMS = ("process", "node", "scheduler", "coordinator")
MOST_SECONDS = 150.0
"""Within which a run has to be finished after a kill."""
FORKED = multiprocessing.get_context("forkserver")
"""Each program is a process of its own, forked from one that has loaded the libraries already."""


class ComputedFold(NamedTuple):
    """A fold that a node has computed to its end."""

    seed: int
    fold: int
    joules: float


class StoredFold(NamedTuple):
    """A row of the table of folds."""

    run_id: str
    fold: int
    result: str


# -- the programs of a cluster -------------------------------------------------------------------


def sleep_instead(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """In place of `computing.compute`: a fold that sleeps, with joules that no other one has."""
    time.sleep(FOLD_SECONDS)
    joules = float(SystemRandom().randrange(10**9))
    with Path(os.environ[COMPUTED]).open("a") as file:
        file.write(f"{json.dumps([specs[0].seed, index, joules])}\n")
    result = fold_result(index, 0.5)
    yield 0, replace(result, energy=replace(result.energy, joules=joules))


def run_scheduler(port: int) -> None:
    """A scheduler, until somebody ends this process."""

    async def run() -> None:
        dashboard = "127.0.0.1:0"
        async with Scheduler(host="127.0.0.1", port=port, dashboard_address=dashboard) as scheduler:
            await scheduler.finished()

    asyncio.run(run())


def run_node(address: str) -> None:
    """A node, until somebody ends this process, or the scheduler is gone."""

    async def run() -> None:
        async with Worker(address, nthreads=1, resources={"node": 1}, memory_limit=0) as worker:
            await worker.finished()

    asyncio.run(run())


def run_coordinator(address: str, seed: int) -> None:
    """A program that computes the run of a seed, or goes on with it."""
    store = open_store()
    interrupt_abandoned_runs(store)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=FOLDS, rule="never", seed=seed)
    executor = executor_on(address, compute=sleep_instead)
    drive(RunPlan(spec), PlanRuns(store, runs=store.runs_like(spec)), executor)
    executor.close()


def start(function: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """A process that calls it."""
    process = FORKED.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def kill(process: ForkServerProcess) -> None:
    """End a process, and wait until it has ended."""
    process.kill()
    process.join()


def kill_children(process: ForkServerProcess) -> None:
    """End what a process has started."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()


class Cluster:
    """A scheduler and three nodes."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = start(run_scheduler, self._port)
        self.nodes: list[ForkServerProcess] = []

    def start_missing(self) -> None:
        """Start a scheduler and nodes in place of those that have ended."""
        if not self.scheduler.is_alive():
            self.scheduler = start(run_scheduler, self._port)
        self.nodes = [node for node in self.nodes if node.is_alive()]
        while len(self.nodes) < NODES:
            self.nodes.append(start(run_node, self.address))

    def wait_for_nodes(self) -> None:
        """Until all nodes have met the scheduler; one that gives up meanwhile is replaced."""
        self.start_missing()
        with Client(self.address, timeout=120, set_as_default=False) as client:
            while len(client.scheduler_info(n_workers=-1)["workers"]) < NODES:
                self.start_missing()
                time.sleep(0.2)

    def end(self) -> None:
        """End all of it."""
        for process in (*self.nodes, self.scheduler):
            kill_children(process)
            kill(process)


# -- kills ---------------------------------------------------------------------------------------


class Trial:
    """A database and a cluster, on which one run after another is computed."""

    def __init__(self, cluster: Cluster, database_url: str, computed: Path) -> None:
        self._cluster = cluster
        self._computed = computed
        open_store(database_url)
        self._engine = sa.create_engine(database_url)

    def kill_once(self, victim: str, run_seed: int, random: Random) -> list[str]:
        """Compute a run, with a kill.

        Returns: the promises that were not kept.
        """
        self._cluster.wait_for_nodes()
        coordinator = start(run_coordinator, self._cluster.address, run_seed)
        folds_at_kill = random.randint(1, FOLDS - 3)
        while len(self._stored(run_seed)) < folds_at_kill:
            if not coordinator.is_alive():
                return [f"the coordinator ended before it had {folds_at_kill} folds"]
            time.sleep(0.02)
        time.sleep(random.random() * 0.5)
        node = random.choice(self._cluster.nodes)
        if victim == "process":
            kill_children(node)
        elif victim == "node":
            kill(node)
        elif victim == "scheduler":
            kill(self._cluster.scheduler)
        else:
            kill(coordinator)
        stored_at_kill = self._stored(run_seed)
        self._finish(coordinator, run_seed)
        return self._broken_promises(run_seed, stored_at_kill)

    def _finish(self, coordinator: ForkServerProcess, run_seed: int) -> None:
        """Start again what has ended, until the run is finished or it takes too long."""
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            self._cluster.start_missing()
            if coordinator.is_alive():
                time.sleep(0.1)
            elif len(self._stored(run_seed)) == FOLDS:
                break
            else:
                self._cluster.wait_for_nodes()
                coordinator = start(run_coordinator, self._cluster.address, run_seed)
        kill(coordinator)

    def _stored(self, run_seed: int) -> list[StoredFold]:
        """Folds of a run as the table has them, read past our own library."""
        query = sa.text(
            "select folds.run_id, fold, result from folds join runs on runs.run_id = folds.run_id "
            "where runs.spec like :seed order by folds.sequence"
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query, {"seed": f'%"seed":{run_seed},%'}).all()
        return [StoredFold(*row) for row in rows]

    def _computed_folds(self, run_seed: int) -> list[ComputedFold]:
        lines = self._computed.read_text().splitlines()
        computed = [ComputedFold(*json.loads(line)) for line in lines]
        return [fold for fold in computed if fold.seed == run_seed]

    def _broken_promises(self, run_seed: int, stored_at_kill: list[StoredFold]) -> list[str]:
        broken = []
        stored = self._stored(run_seed)
        computed = self._computed_folds(run_seed)
        lost = set(stored_at_kill) - set(stored)
        if lost:
            broken.append(f"{len(lost)} finished folds were lost or changed")
        numbers = sorted(row.fold for row in stored)
        if numbers != list(range(FOLDS)):
            broken.append(f"the table has the folds {numbers}")
        joules = [json.loads(row.result)["energy"]["joules"] for row in stored]
        if len(set(joules)) < len(joules):
            broken.append("joules were counted twice")
        if not set(joules) <= {fold.joules for fold in computed}:
            broken.append("joules are of no computing")
        computed_numbers = [fold.fold for fold in computed]
        for row in stored_at_kill:
            if computed_numbers.count(row.fold) > 1:
                broken.append(f"fold {row.fold} was there, and was computed again")
        return broken


def count_broken_kills(folder: Path, kills: int, seed: int) -> int:
    """Kill so many times, and print what came of each."""
    computed = folder / "computed"
    computed.touch()
    database_url = f"sqlite:///{folder}/kills.sqlite"
    os.environ[COMPUTED] = str(computed)
    os.environ["ECV_DATABASE_URL"] = database_url
    broken_kills = 0
    cluster = Cluster()
    try:
        trial = Trial(cluster, database_url, computed)
        for number in range(kills):
            victim = VICTIMS[number % len(VICTIMS)]
            random = Random(f"{seed} {number}")
            run_seed = 1000 * (seed % 1_000_000) + number  # that of a run ends at 2^32
            broken = trial.kill_once(victim, run_seed, random)
            print(f"{number} {victim}: {'; '.join(broken) or 'kept'}", flush=True)
            if broken:
                broken_kills += 1
    finally:
        cluster.end()
    return broken_kills


def main() -> None:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    get_temp_dir()  # of the processes, which must outlive the folder of this program
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
    os.environ["PYTHONWARNINGS"] = "ignore"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ecv-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = folder
        FORKED.set_forkserver_preload(["benchmarks.cluster"])
        broken_kills = count_broken_kills(Path(folder), options.kills, options.seed)
    seconds = time.monotonic() - begin
    print(f"{options.kills} kills, {broken_kills} broke a promise; {seconds:.0f} s")
    sys.exit(broken_kills > 0)


if __name__ == "__main__":
    from benchmarks import cluster  # by its name, so that other processes find its functions

    cluster.main()
