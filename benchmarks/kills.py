"""SIGKILL while finished folds are at risk: none is lost, changed or computed twice; runs go on.

python -m benchmarks.kills [--kills 200] [--seed 1]

In turn each command that computes and a dashboard are killed, before the last fold has come, on
SQLite and, where it is on this machine, on PostgreSQL. Another dashboard, which stays, has to say
within 15 s how the run stands. It is then resumed, on a page or in a shell, or by the same command
again, and has to go on within 15 s. What was in the table at the kill has to be there at the end,
to the letter; no fold that decides the same score may be computed a second time; and one of them,
drawn, is computed here and has to have the same score. Every kill is made from the seed and its
number. Exit code 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psutil
import sqlalchemy as sa

from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.manager import RunManager
from ecv_core.records.run import RunState
from ecv_core.store.store import open_store
from tests.databases import PROGRAMS, PostgresServer

FOLDS = 8
MOST_SECONDS = 15.0
"""Until others say how a run stands, and until it goes on."""
PATIENCE_SECONDS = 120.0
"""After which nothing will come of it."""
VICTIMS = ("run", "dashboard", "study", "select", "tune")
ECV = [sys.executable, "-m", "ecv_core"]
MANAGER = [sys.executable, "-m", "benchmarks.kills", "--manage"]
ACTIVE = {RunState.RUNNING, RunState.QUEUED}


class StoredFold(NamedTuple):
    """A row of the table of folds, and what decides the scores of its run."""

    run_id: str
    fold: int
    result: str
    score_key: str


class Outcome(NamedTuple):
    """What came of a kill."""

    broken: list[str]
    """Promises that were not kept."""
    folds_at_risk: int
    """Finished folds of work that was not done yet."""


def manage() -> None:
    """A dashboard as far as runs go: starts the run of a seed, or resumes one, as a line says."""
    manager = RunManager(open_store())
    manager.warm_up()
    for line in sys.stdin:
        word, argument = line.split()
        if word == "start":
            spec = make_spec(
                dataset="synthetic", algorithm="item-knn", rule="never", k=FOLDS, seed=int(argument)
            )
            print(manager.start([spec]), flush=True)
        else:
            print(manager.resume(argument), flush=True)
    manager.close()


def wait_until(condition: Callable[[], bool]) -> float:
    """Wait for something, and give the seconds that it took.

    Raises: TimeoutError
    """
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > PATIENCE_SECONDS:
            raise TimeoutError(f"nothing came of it in {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.02)
    return time.monotonic() - begin


def kill(program: subprocess.Popen[str]) -> bool:
    """Kill a program; gives whether what it had started has ended by itself."""
    children = []
    with suppress(psutil.Error):
        children = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.wait()
    _, alive = psutil.wait_procs(children, timeout=MOST_SECONDS)
    return not alive


class Trial:
    """A database, and the dashboard that stays."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.store = open_store(url)
        self._engine = sa.create_engine(url)
        self._environment = os.environ | {
            "ECV_DATABASE_URL": url,
            "ECV_DATA_DIR": str(folder),
            "TMPDIR": str(folder),  # where programs wait for each other's folds
            "OMP_NUM_THREADS": "1",
        }
        self.manager = self.start(MANAGER)

    def start(self, words: list[str]) -> subprocess.Popen[str]:
        """Start a program."""
        return subprocess.Popen(
            words,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def rows(self, query: str, since: int = 0) -> list[tuple[Any, ...]]:
        """What is in the database, read past our own library."""
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query), {"since": since})]

    def close(self) -> None:
        """End the dashboard."""
        kill(self.manager)
        self._engine.dispose()


def tell_manager(manager: subprocess.Popen[str], line: str) -> None:
    """Give a dashboard a line, and wait for its answer."""
    assert manager.stdin is not None
    assert manager.stdout is not None
    manager.stdin.write(f"{line}\n")
    manager.stdin.flush()
    manager.stdout.readline()


class Kill:
    """Work of a seed that nobody has done yet, which is begun, killed, and gone on with."""

    def __init__(self, trial: Trial, victim: str, random: Random) -> None:
        self._trial = trial
        self._victim = victim
        self._random = random
        self._seed = random.randrange(10**6)
        ((self._newest_before,),) = trial.rows("select coalesce(max(sequence), 0) from runs")
        self._folds_before_kill = random.randrange(FOLDS - 1)
        self._program = self._begin()

    def do(self) -> Outcome:
        """Kill, go on, and compare."""
        broken = []
        wait_until(self._is_due)
        time.sleep(self._random.uniform(0, 0.06))
        program_ran = self._program.poll() is None
        if not kill(self._program):
            broken.append("what it had started goes on")
        folds_at_kill = self._folds()
        folds_at_risk = 0
        if program_ran and not self._has_ended():
            folds_at_risk = len(folds_at_kill)
        if wait_until(self._has_ended) > MOST_SECONDS:
            broken.append("it was noticed too late")
        if self._go_on() > MOST_SECONDS:
            broken.append("it went on too late")
        return Outcome(broken + self._broken_promises(folds_at_kill), folds_at_risk)

    def _command(self) -> list[str]:
        seed = ["--seed", str(self._seed)]
        eight_folds = ["-k", str(FOLDS), *seed]
        if self._victim == "run":
            return [*ECV, "run", "synthetic", "item-knn", "--rule", "never", *eight_folds]
        if self._victim == "study":
            folder = str(self._trial.folder / f"study-{self._seed}")
            systems = ["--datasets", "synthetic", "--algorithms", "popular,item-knn"]
            return [*ECV, "study", *systems, "--folder", folder, *seed]
        if self._victim == "select":
            contenders = [f"item-knn:neighbours={count}" for count in (20, 21, 22)]
            return [*ECV, "select", "synthetic", *contenders, *eight_folds]
        grid = ["--grid", "neighbours=10,20,30", "--all-folds"]
        return [*ECV, "tune", "synthetic", "item-knn", *grid, *eight_folds]

    def _begin(self) -> subprocess.Popen[str]:
        """Have the work begun; gives the program that is killed."""
        if self._victim != "dashboard":
            return self._trial.start(self._command())
        dashboard = self._trial.start(MANAGER)
        tell_manager(dashboard, f"start {self._seed}")
        return dashboard

    def _folds(self) -> list[StoredFold]:
        rows = self._trial.rows(
            "select folds.run_id, fold, result, score_key from folds join runs "
            "on runs.run_id = folds.run_id where runs.sequence > :since order by folds.sequence",
            self._newest_before,
        )
        return [StoredFold(*row) for row in rows]

    def _states(self) -> dict[str, str]:
        query = "select run_id, state from runs where sequence > :since"
        return dict(self._trial.rows(query, self._newest_before))

    def _has_ended(self) -> bool:
        """Whether no run is said to go on."""
        return ACTIVE.isdisjoint(self._states().values())

    def _is_due(self) -> bool:
        """Whether it has come as far as it is killed, or has ended before."""
        has_folds = len(self._folds()) >= self._folds_before_kill
        return (has_folds and bool(self._states())) or self._program.poll() is not None

    def _go_on(self) -> float:
        """Have all of it finished; gives the seconds until it went on."""
        folds_before = len(self._folds())

        def goes_on() -> bool:
            return len(self._folds()) > folds_before or RunState.RUNNING in self._states().values()

        states = self._states().items()
        cut_off = [run_id for run_id, state in states if state != RunState.FINISHED]
        if self._victim in ("study", "select", "tune"):
            seconds = self._type(self._command(), goes_on)
            if cut_off:
                return seconds
            return 0.0
        seconds = 0.0
        for run_id in cut_off:
            if self._victim == "run":
                seconds = self._type([*ECV, "resume", run_id], goes_on)
            else:
                tell_manager(self._trial.manager, f"resume {run_id}")
                seconds = wait_until(goes_on)
                wait_until(self._has_ended)
        return seconds

    def _type(self, command: list[str], goes_on: Callable[[], bool]) -> float:
        """A command to its end; gives the seconds until it went on."""
        program = self._trial.start(command)
        seconds = wait_until(lambda: goes_on() or program.poll() is not None)
        program.communicate(timeout=PATIENCE_SECONDS)
        return seconds

    def _broken_promises(self, folds_at_kill: list[StoredFold]) -> list[str]:
        broken = []
        ends = {RunState.FINISHED}
        if self._victim in ("select", "tune"):
            ends.add(RunState.INTERRUPTED)  # of a run that is not needed any more
        unfinished = [run_id for run_id, state in self._states().items() if state not in ends]
        if unfinished:
            broken.append(f"not finished: {unfinished}")
        folds = self._folds()
        lost = set(folds_at_kill) - set(folds)
        if lost:
            broken.append(f"{len(lost)} finished folds were lost or changed")
        computed = [fold for fold in folds if not json.loads(fold.result)["reused"]]
        counts = Counter((fold.score_key, fold.fold) for fold in computed)
        if counts.total() > len(counts):
            broken.append(f"{counts.total() - len(counts)} folds were computed twice")
        if computed:
            drawn = self._random.choice(computed)
            undisturbed = run_fold(self._trial.store.run(drawn.run_id).spec, drawn.fold)
            if undisturbed.score != json.loads(drawn.result)["score"]:
                broken.append("another score than undisturbed")
        return broken


def start_trials(folder: Path, resources: ExitStack) -> list[Trial]:
    """A trial on each database that is on this machine; they end with the resources."""
    sqlite_folder = folder / "sqlite"
    sqlite_folder.mkdir()
    trials = [Trial(f"sqlite:///{sqlite_folder / 'runs.sqlite'}", sqlite_folder)]
    if PROGRAMS is not None:
        server = PostgresServer(PROGRAMS)
        resources.callback(server.stop)
        postgresql_folder = folder / "postgresql"
        postgresql_folder.mkdir()
        trials.append(Trial(server.database(), postgresql_folder))
    for trial in trials:
        resources.callback(trial.close)
    return trials


def main() -> None:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--manage", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.manage:
        manage()
        return
    folds_at_risk = 0
    broken_kills = 0
    with ExitStack() as resources:
        name = resources.enter_context(tempfile.TemporaryDirectory(prefix="ecv-kills-"))
        trials = start_trials(Path(name), resources)
        for number in range(options.kills):
            victim = VICTIMS[number % len(VICTIMS)]
            trial = trials[number // len(VICTIMS) % len(trials)]
            random = Random(f"{options.seed}-{number}")
            try:
                outcome = Kill(trial, victim, random).do()
            except (TimeoutError, subprocess.TimeoutExpired) as error:
                outcome = Outcome([str(error)], 0)
            folds_at_risk += outcome.folds_at_risk
            broken_kills += bool(outcome.broken)
            words = "; ".join(outcome.broken) or "as promised"
            print(
                f"kill {number} ({victim}, {outcome.folds_at_risk} folds at risk): {words}",
                flush=True,
            )
    print(
        f"{options.kills} kills with {folds_at_risk} finished folds at risk; "
        f"{broken_kills} broke a promise"
    )
    sys.exit(broken_kills > 0)


if __name__ == "__main__":
    main()
