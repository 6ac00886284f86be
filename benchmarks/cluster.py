"""Folds on the nodes of a cluster: selections, scale and kills, with jobs that sleep.

python -m benchmarks.cluster virtual   [--selections 60] [--expected-loss 0.001]
python -m benchmarks.cluster scale     [--folds 10000] [--nodes 200] [--seconds 10]
python -m benchmarks.cluster kills     [--kills 60] [--minutes 60] [--seed 1] [--first 0]

In `virtual` nothing sleeps, and a minute is enough: a selection on one node and on six. Its plan is
asked as the driver asks it, each fold takes as long but for 1 %, and beside what six nodes take
stands what they would take if it were known from the start which folds will be needed.

In `scale` scheduler, connections, driver, the plan's runs and database are real; a node is a
worker of Dask without a process that computes, many in one process, so that two cores carry them.

`kills` ends a node's process, a node, the scheduler or the coordinator by SIGKILL while a run of
eight folds is computed on three nodes; what was killed is started again, as a site does. What was
in the table of folds at the kill has to be there at the end to the letter, each fold once, with the
joules of one computing, and no fold that was there may be computed again. Every kill is made from
its number. Exit code 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import multiprocessing
import os
import resource
import socket
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from multiprocessing.context import ForkServerProcess
from multiprocessing.util import get_temp_dir
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
import sqlalchemy as sa
from distributed import Client, Scheduler, Worker, get_worker

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.cluster.executor import DaskExecutor
from ecv_core.jobs.cluster.node import Answer, Call
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Results, node_here
from ecv_core.jobs.heartbeat import recover
from ecv_core.jobs.plan import FoldTask, Plan, folds_of
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.select import SelectPlan, checked_contenders, named_contenders, terms_for
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.records.run import Energy, FoldResult, Progress, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store

SECONDS = "ECV_BENCHMARK_SECONDS"
"""How long a fold sleeps, told to all processes by their environment."""
COMPUTED = "ECV_BENCHMARK_COMPUTED"
"""A file that gets a line for each fold that was computed to its end: seed, fold, joules."""
USERS, METRICS = 1000, ("ndcg@10", "recall@10")
FOLDS = 8
CONTENDERS = [f"bpr-mf:factors={n}" for n in range(8, 104, 8)]
"""None shares its work with another."""
VICTIMS = ("process", "node", "scheduler", "coordinator")


def made_up(spec: RunSpec, fold: int, joules: float = 100.0) -> FoldResult:
    """A fold whose users' scores are drawn: a configuration's mean, a fold's, a user's."""
    of_spec = Random(f"{spec.seed} {spec.params}").gauss(0.3, 0.01)
    of_fold = np.random.default_rng([spec.seed, fold]).normal(0, 0.005)
    own = np.random.default_rng([spec.seed, fold, zlib.crc32(str(spec.params).encode())])
    users = np.random.default_rng([spec.seed, fold, 1]).normal(0, 0.15, USERS)
    scores = np.clip(of_spec + of_fold + users + own.normal(0, 0.05, USERS), 0, 1)
    score = float(scores.mean())
    return FoldResult(
        fold=fold,
        score=score,
        metrics=dict.fromkeys(METRICS, score),
        users=USERS,
        fit_seconds=1.0,
        evaluate_seconds=1.0,
        total_seconds=2.0,
        energy=replace(Energy.none(), joules=joules, cpu_joules=joules, source="told"),
        user_scores=UserScores(
            users=np.arange(USERS, dtype=np.int32),
            metrics=METRICS,
            values=np.stack([scores, scores], axis=1).astype(np.float32),
        ),
    )


def asleep(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """In place of `computing.compute`: sleeps, and says where it is twice a second."""
    wanted = float(os.environ[SECONDS])
    steps = max(1, round(2 * wanted))
    for step in range(steps):
        progress("fit", step, steps)
        time.sleep(wanted / steps)
    joules = float(np.random.default_rng().integers(1, 10**9))
    if path := os.environ.get(COMPUTED):
        with Path(path).open("a") as file:
            file.write(f"{specs[0].seed} {index} {joules}\n")
    for place, spec in enumerate(specs):
        yield place, replace(made_up(spec, index, joules), node=node_here(wanted))


def simulated(call: Call) -> Answer:
    """In place of `node.run_task`: what the worker's process would do, in the worker itself."""
    worker = get_worker()
    name = str(worker.name)
    worker.log_event(call.topic, {"key": call.key, "begun": name})
    told = 0.0

    def say(phase: str, step: int, steps: int, /) -> None:
        nonlocal told
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            worker.log_event(call.topic, {"key": call.key, "at": (phase, step, steps)})

    found = []
    for place, result in call.compute(call.task.specs, call.task.fold, say):
        assert result.node is not None
        found.append((place, replace(result, node=replace(result.node, host=name))))
    return found


# -- a scheduler and its nodes -------------------------------------------------------------------


FORKED = multiprocessing.get_context("forkserver")
"""Each program is a process of its own, forked from one that has loaded the libraries already."""


def program(what: Callable[..., None], *given: object) -> ForkServerProcess:
    """A process that does it."""
    started = FORKED.Process(target=what, args=given, daemon=True)
    started.start()
    return started


class Cluster:
    """A scheduler in a process of its own, with nodes that this program starts."""

    def __init__(self) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self._port = int(one.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.nodes: list[ForkServerProcess] = []
        self._named = 0
        self.scheduler = program(schedule, self._port)

    def start_nodes(self, count: int = 1) -> None:
        """So many, in one process."""
        self.nodes.append(program(be_nodes, self.address, self._named, count))
        self._named += count

    def keep(self, count: int) -> None:
        """So many nodes: in place of those that have ended, others; and a scheduler."""
        if not self.scheduler.is_alive():
            self.scheduler = program(schedule, self._port)
        self.nodes = [node for node in self.nodes if node.is_alive()]
        while len(self.nodes) < count:
            self.start_nodes()

    def end(self) -> None:
        """All of it."""
        for one in [*self.nodes, self.scheduler]:
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(one.pid).children(recursive=True):
                    child.kill()
            one.kill()
            one.join()


@contextmanager
def cluster_of(count: int, *, each: int = 1) -> Iterator[Cluster]:
    """A cluster with so many nodes, all there; with `each` so many of them in a process."""
    cluster = Cluster()
    try:
        for first in range(0, count, each):
            cluster.start_nodes(min(each, count - first))
        with Client(cluster.address, timeout=120, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=300)
        yield cluster
    finally:
        cluster.end()


def schedule(port: int) -> None:
    """A scheduler, until somebody ends this process."""

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=port, dashboard_address="127.0.0.1:0") as one:
            await one.finished()

    asyncio.run(run())


def be_nodes(address: str, first: int, count: int) -> None:
    """Nodes, until somebody ends this process, or the scheduler is gone."""

    async def run() -> None:
        there = [
            Worker(
                address, name=f"n{first + at}", nthreads=1, resources={"node": 1}, memory_limit=0
            )
            for at in range(count)
        ]
        await asyncio.gather(*there)
        await asyncio.gather(*(worker.finished() for worker in there))

    asyncio.run(run())


# -- a selection in virtual time, and scale ------------------------------------------------------


def in_virtual_time(plan: Plan, places: int, seed: int) -> tuple[float, int, Known]:
    """A plan's folds on so many nodes: when the last is done, how many there are, all of them."""
    known, clock, going, count = Known(), 0.0, dict[FoldTask, float](), 0
    while True:
        for task in list(islice(plan.next(known, tuple(going)), places - len(going))):
            jitter = Random(f"{seed} {task.specs[0].params} {task.fold}").random()
            going[task] = clock + 1 + jitter / 100
        if not going:
            return clock, count, known
        task = min(going, key=going.__getitem__)
        clock = going.pop(task)
        for spec in task.specs:
            known.keep(spec, made_up(spec, task.fold))
            count += 1
        wanted = folds_of(plan.next(known, ()))
        for needless in [one for one in going if one.bet and wanted.isdisjoint(one.folds)]:
            del going[needless]


class Known:
    """What a plan looks at, without a database."""

    def __init__(self) -> None:
        self._folds: dict[RunSpec, dict[int, FoldResult]] = {}

    def keep(self, spec: RunSpec, result: FoldResult) -> None:
        """A fold of a run."""
        self._folds.setdefault(replace(spec, only_folds=()), {})[result.fold] = result

    def run(self, spec: RunSpec) -> None:
        """A run of the plan's own: none is needed."""

    def ended(self, spec: RunSpec) -> bool:
        """None does, before its time."""
        return False

    def folds(self, spec: RunSpec) -> dict[int, FoldResult]:
        """Fold -> result."""
        return self._folds.get(replace(spec, only_folds=()), {})

    def folds_with_users(self, spec: RunSpec, metric: str | None = None) -> dict[int, FoldResult]:
        """The same: made folds carry their users' scores."""
        return self.folds(spec)


def virtual(asked: argparse.Namespace, folder: Path) -> bool:
    """Selections of twelve on one node, then on six, and the bound."""
    took, folds, bound = {1: 0.0, 6: 0.0}, {1: 0, 6: 0}, 0
    for seed in range(asked.selections):
        named = checked_contenders(named_contenders("synthetic", CONTENDERS, seed=seed))
        terms = terms_for(named[0][1], expected_loss=asked.expected_loss)
        found = {}
        for count in (1, 6):
            plan = SelectPlan(named, terms)
            seconds, computed, known = in_virtual_time(plan, count, seed)
            took[count] += seconds
            folds[count] += computed
            found[count] = plan.standing(known)
        assert found[1].folds == found[6].folds, "six nodes have decided otherwise"
        bound += math.ceil(sum(found[1].folds) / 6)
        print(f"{seed}: {took[6] / took[1]:.3f}, {folds[6]} of {folds[1]} folds", flush=True)
    share, more = took[6] / took[1], folds[6] / folds[1] - 1
    print(
        f"{asked.selections} selections of 12, {folds[1] / asked.selections:.1f} folds each: six "
        f"nodes take {share:.3f} of the time of one (0.2 asked; {bound / took[1]:.3f} if it were "
        f"known what is needed), and {100 * more:+.1f} % folds (10 asked)"
    )
    return share <= 0.2 and more <= 0.1


def scale(asked: argparse.Namespace, folder: Path) -> bool:
    """Runs of ten folds over many nodes; what the coordinator and the scheduler take."""
    os.environ[SECONDS] = str(asked.seconds)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=10, rule="never")
    specs = [replace(spec, seed=seed) for seed in range(asked.folds // 10)]
    with cluster_of(asked.nodes, each=50) as cluster:
        store = open_store(f"sqlite:///{folder}/scale.sqlite")
        client = Client(cluster.address, set_as_default=False)
        executor = DaskExecutor(client, compute=asleep, run=simulated)
        done, begin = 0, time.monotonic()

        def said(_: object) -> None:
            nonlocal done
            done += 1
            if done % 500 == 0:
                print(f"{done} folds after {time.monotonic() - begin:.0f} s", flush=True)

        scheduler = psutil.Process(cluster.scheduler.pid)
        before = time.process_time(), sum(scheduler.cpu_times()[:2])
        drive(StudyPlan(specs), PlanRuns(store, callbacks=Callbacks(fold=said)), executor)
        wall = time.monotonic() - begin
        own = time.process_time() - before[0]
        theirs = sum(scheduler.cpu_times()[:2]) - before[1]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        also = scheduler.memory_info().rss / 2**20
        executor.close()
    whole = all(len(run.folds) == 10 and run.state is RunState.FINISHED for run in store.runs())
    nodes_used = {fold.host for run in store.runs() for fold in run.folds}
    ideal = asked.folds / asked.nodes * asked.seconds
    print(
        f"{asked.folds} folds that sleep {asked.seconds:g} s on {len(nodes_used)} nodes: "
        f"{wall:.0f} s ({ideal:.0f} by sleep alone). Coordinator {own:.0f} processor s, "
        f"{own / wall:.2f} of a core, {1000 * own / asked.folds:.1f} ms a fold, at most "
        f"{memory:.0f} MB; scheduler {theirs:.0f} s, {theirs / wall:.2f} of a core, {also:.0f} MB"
    )
    return whole and own / wall < 1 and memory < 1024


# -- kills ---------------------------------------------------------------------------------------


def run_seed(seed: int, number: int) -> int:
    """Of the run that belongs to a kill; a run's seed ends at 2^32."""
    return 1000 * (seed % 1_000_000) + number


def coordinate(address: str, seed: int) -> None:
    """A program that computes the run of a seed, or goes on with it."""
    store = open_store()
    recover(store)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=FOLDS, rule="never", seed=seed)
    executor = executor_on(address, compute=asleep)
    drive(RunPlan(spec), PlanRuns(store, runs=store.runs_like(spec)), executor)
    executor.close()


class Kills:
    """One database, one cluster, a run for each kill."""

    def __init__(self, cluster: Cluster, url: str, computed: Path) -> None:
        self._cluster, self._computed = cluster, computed
        open_store(url)
        self._engine = sa.create_engine(url)

    def rows(self, seed: int) -> list[tuple[Any, ...]]:
        """Folds of the run of a seed, as the table has them, read past our own library."""
        query = (
            "select folds.run_id, fold, result from folds join runs on runs.run_id = folds.run_id "
            "where runs.spec like :seed order by folds.sequence"
        )
        asked = {"seed": f'%"seed":{seed},%'}
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query), asked)]

    def kill(self, number: int, seed: int) -> str:
        """One; gives what was not kept, empty where all was."""
        random = Random(f"{seed} {number}")
        victim = VICTIMS[number % len(VICTIMS)]
        own = run_seed(seed, number)
        self._ready()
        coordinator = program(coordinate, self._cluster.address, own)
        at = random.randint(1, FOLDS - 3)
        while len(self.rows(own)) < at:
            if not coordinator.is_alive():
                return f"{victim}: the coordinator ended before fold {at}"
            time.sleep(0.02)
        time.sleep(random.random() * 0.5)
        self._end(victim, coordinator, random)
        there = self.rows(own)
        end = time.monotonic() + 150
        while time.monotonic() < end:
            self._cluster.keep(3)
            if coordinator.is_alive():
                time.sleep(0.1)
            elif len(self.rows(own)) == FOLDS:
                break
            else:
                self._ready()
                coordinator = program(coordinate, self._cluster.address, own)
        coordinator.kill()
        coordinator.join()
        return self._judged(own, there, victim)

    def _ready(self) -> None:
        self._cluster.keep(3)
        with Client(self._cluster.address, timeout=120, set_as_default=False) as client:
            while len(client.scheduler_info(n_workers=-1)["workers"]) < 3:
                self._cluster.keep(3)  # one that began on a busy machine may have given up
                time.sleep(0.2)

    def _end(self, victim: str, coordinator: ForkServerProcess, random: Random) -> None:
        node = random.choice(self._cluster.nodes)
        named = {"node": node, "scheduler": self._cluster.scheduler, "coordinator": coordinator}
        if victim in named:
            named[victim].kill()
            named[victim].join()
            return
        for process in psutil.Process(node.pid).children():
            process.kill()

    def _judged(self, own: int, there: list[tuple[Any, ...]], victim: str) -> str:
        now = self.rows(own)
        lines = [line.split() for line in self._computed.read_text().splitlines()]
        mine = [(int(fold), float(joules)) for seed, fold, joules in lines if int(seed) == own]
        lost = [row for row in there if row not in now]
        joules = [float(row[2].split('"joules":')[1].split(",")[0]) for row in now]
        wrong = []
        if lost:
            wrong.append(f"{len(lost)} finished folds lost")
        if sorted(row[1] for row in now) != list(range(FOLDS)):
            wrong.append(f"folds {sorted(row[1] for row in now)} and not each once")
        if len(set(joules)) < len(joules) or not {*joules} <= {each for _, each in mine}:
            wrong.append("joules of no computing, or counted twice")
        counts = {row[1]: sum(fold == row[1] for fold, _ in mine) for row in there}
        if again := [fold for fold, count in counts.items() if count > 1]:
            wrong.append(f"folds {again} were there, and computed again")
        return f"{victim}: {'; '.join(wrong)}" if wrong else ""


def kills(asked: argparse.Namespace, folder: Path) -> bool:
    """As many as fit into the time."""
    os.environ |= {SECONDS: "0.6", COMPUTED: str(folder / "computed")}
    os.environ["ECV_DATABASE_URL"] = url = f"sqlite:///{folder}/kills.sqlite"
    (folder / "computed").touch()
    begin, done, broken, at_risk = time.monotonic(), 0, 0, 0
    with cluster_of(3) as cluster:
        trial = Kills(cluster, url, folder / "computed")
        for number in range(asked.first, asked.first + asked.kills):
            if time.monotonic() - begin > 60 * asked.minutes:
                break
            wrong = trial.kill(number, asked.seed)
            done += 1
            broken += bool(wrong)
            at_risk += len(trial.rows(run_seed(asked.seed, number)))
            print(f"{number} {VICTIMS[number % 4]}: {wrong or 'kept'}", flush=True)
    print(
        f"{done} kills of {asked.kills}, {broken} broke a promise; {at_risk} folds in the table, "
        f"{time.monotonic() - begin:.0f} s"
    )
    return not broken


MEASURES = {
    "virtual": virtual,
    "scale": scale,
    "kills": kills,
}


def main() -> None:
    """One of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=sorted(MEASURES))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--folds", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--selections", type=int, default=60)
    parser.add_argument("--expected-loss", type=float)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    measure = MEASURES[asked.what]
    get_temp_dir()  # of the processes, which must outlive the folder of this program
    with tempfile.TemporaryDirectory(prefix="ecv-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.environ |= {"DASK_LOGGING__DISTRIBUTED": "critical", "PYTHONWARNINGS": "ignore"}
        if measure is scale:  # fifty nodes of one process would only watch themselves
            worker, admin = "DASK_DISTRIBUTED__WORKER__", "DASK_DISTRIBUTED__ADMIN__"
            os.environ |= {
                f"{worker}PROFILE__ENABLED": "False",
                f"{admin}SYSTEM_MONITOR__GIL__ENABLED": "False",
                f"{admin}SYSTEM_MONITOR__INTERVAL": "10s",
                f"{admin}TICK__INTERVAL": "500ms",
            }
        FORKED.set_forkserver_preload(["benchmarks.cluster"])
        kept = measure(asked, Path(folder))
    sys.exit(not kept)


if __name__ == "__main__":
    from benchmarks import cluster  # by its name, so that other processes find its functions

    cluster.main()
