"""SIGKILL at random moments: no finished fold is lost, changed or computed again, and runs go on.

python -m benchmarks.kills [--kills 100] [--seed 1] [--first 0]

In turn a command line, a dashboard's process and a dashboard's worker are killed while a run of 20
folds is going. Another dashboard, which stays, then has to say within 15 s how the run stands;
the run is resumed there and has to end with the scores of a run that nobody disturbed. What a
program that was killed had started has to end by itself. Every kill is made from its number. Exit
code 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import psutil

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.computing import Results, compute
from ecv_core.jobs.manager import RunManager
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store

FOLDS, NOTICED_SECONDS, PATIENCE_SECONDS = 20, 15.0, 120.0
SPEC = make_spec(dataset="synthetic", algorithm="item-knn", k=FOLDS, rule="never")
VICTIMS = ("command line", "dashboard", "worker")
_LOG = "ECV_KILLS_LOG"
_MANAGER = [sys.executable, "-m", "benchmarks.kills", "--manage"]
_COMMAND = [
    *(sys.executable, "-m", "ecv_core", "run", "synthetic", "item-knn"),
    *("-k", str(FOLDS), "--rule", "never", "--anew"),
]
Kept = dict[int, tuple[int, str]]
"""Fold -> its place in the table, and its result as it is written there."""


def logged(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """A real fold, and a line in a file before it begins."""
    with open(os.environ[_LOG], "a") as log:
        log.write(f"{index}\n")
    time.sleep(0.03)
    yield from compute(specs, index, progress)


def manage() -> None:
    """A dashboard as far as runs go: starts a run, or resumes one, for each line it is told."""
    from benchmarks import kills  # of this name a worker can import it

    manager = RunManager(open_store(), compute=kills.logged)
    manager.warm_up()
    for line in sys.stdin:
        word = line.strip()
        if word == "start":
            print(manager.start([SPEC], anew=True), flush=True)
        else:
            print(manager.resume(word), flush=True)
    manager.close()


class Trial:
    """One database, the dashboard that stays, and what has been started there."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log = folder / "runs.sqlite", folder / "log"
        self.log.touch()
        self.surroundings = os.environ | {
            "ECV_DATABASE_URL": f"sqlite:///{self.path}",
            "ECV_DATA_DIR": str(folder),
            "TMPDIR": str(folder),  # where programs wait for each other's folds
            _LOG: str(self.log),
        }
        self.stays = self.program(_MANAGER)
        self.expected = self.scores(self.finished(self.told(self.stays, "start")))
        assert len(self.expected) == FOLDS

    def program(self, words: list[str]) -> subprocess.Popen[str]:
        """Start one."""
        return subprocess.Popen(
            words,
            env=self.surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def told(self, manager: subprocess.Popen[str], word: str) -> str:
        """Say a word to a dashboard, and give its answer."""
        assert manager.stdin is not None
        assert manager.stdout is not None
        manager.stdin.write(f"{word}\n")
        manager.stdin.flush()
        return manager.stdout.readline().strip()

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """What is in the database, read past our own library."""
        with closing(sqlite3.connect(self.path, timeout=30)) as database:
            return database.execute(query, values).fetchall()

    def state(self, run_id: str) -> str:
        """Of a run."""
        return str(self.rows("select state from runs where run_id = ?", run_id)[0][0])

    def kept(self, run_id: str) -> Kept:
        """Its folds."""
        query = "select fold, sequence, result from folds where run_id = ?"
        return {int(str(f)): (int(str(s)), str(r)) for f, s, r in self.rows(query, run_id)}

    def finished(self, run_id: str) -> str:
        """Wait until it has ended; gives its id."""
        wait_until(lambda: self.state(run_id) not in ("queued", "running"), PATIENCE_SECONDS)
        return run_id

    def scores(self, run_id: str) -> dict[int, object]:
        """Metrics of each fold, as numbers."""
        run = open_store(self.surroundings["ECV_DATABASE_URL"]).run(run_id)
        return {fold.fold: dict(fold.metrics) for fold in run.folds}

    def newest(self, known: set[str]) -> str:
        """The id of a run that was not there before."""
        found: list[str] = []

        def there() -> bool:
            found[:] = [str(row[0]) for row in self.rows("select run_id from runs")]
            return bool(set(found) - known)

        wait_until(there, PATIENCE_SECONDS)
        return next(iter(set(found) - known))

    def begun(self) -> list[str]:
        """A line for each fold that a dashboard began."""
        return self.log.read_text().splitlines()

    def close(self) -> None:
        """End the dashboard that stays."""
        helpers = psutil.Process(self.stays.pid).children(recursive=True)
        self.stays.kill()
        self.stays.wait()
        psutil.wait_procs(helpers, timeout=NOTICED_SECONDS)


def wait_until(done: object, seconds: float) -> float:
    """Until a function says so; gives the seconds. Raises: TimeoutError."""
    begin = time.monotonic()
    while not done():  # type: ignore[operator]
        if time.monotonic() - begin > seconds:
            raise TimeoutError(f"nothing came of it in {seconds:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - begin


@contextmanager
def trial(folder: Path) -> Iterator[Trial]:
    """A trial whose processes end with the block."""
    made = Trial(folder)
    try:
        yield made
    finally:
        made.close()


def one_kill(at: Trial, victim: str, random: Random) -> tuple[list[str], int, float]:
    """Kill once. Gives promises that were broken, folds that were done, seconds until noticed."""
    known = {str(row[0]) for row in at.rows("select run_id from runs")}
    broken: list[str] = []
    if victim == "worker":
        run_id = at.told(at.stays, "start")
        program = None
    elif victim == "dashboard":
        program = at.program(_MANAGER)
        run_id = at.told(program, "start")
    else:
        program = at.program(_COMMAND)
        run_id = at.newest(known)
    # Half of them anywhere in the run, the others at the moment when a fold has just come.
    if random.random() < 0.5:
        time.sleep(random.uniform(0, 3.0))
    else:
        wanted = random.randrange(FOLDS)
        wait_until(
            lambda: len(at.kept(run_id)) > wanted or at.state(run_id) == "finished",
            PATIENCE_SECONDS,
        )
        time.sleep(random.uniform(0, 0.1))
    if program is None:
        for process in psutil.Process(at.stays.pid).children(recursive=True):
            if any("ecv_core.jobs.executors" in word for word in process.cmdline()):
                process.kill()
    else:
        helpers = psutil.Process(program.pid).children(recursive=True)
        program.kill()
        program.wait()
        time.sleep(0.05)
        if psutil.wait_procs(helpers, timeout=NOTICED_SECONDS)[1]:
            broken.append("what it had started goes on")
    before, begun = at.kept(run_id), len(at.begun())
    noticed = wait_until(
        lambda: at.state(run_id) not in ("queued", "running") or _goes_on(at, run_id, before),
        PATIENCE_SECONDS,
    )
    if noticed > NOTICED_SECONDS:
        broken.append(f"noticed after {noticed:.0f} s")
    # A fold that was done before the kill may be written after it: a run that went on may fail yet.
    if at.state(at.finished(run_id)) in ("interrupted", "failed"):
        before, begun = at.kept(run_id), len(at.begun())
        if at.told(at.stays, run_id) != "True":
            broken.append("could not be resumed")
    state = at.state(at.finished(run_id))
    after = at.kept(run_id)
    if state != "finished":
        broken.append(f"ended {state}")
    if any(after.get(fold) != row for fold, row in before.items()):
        broken.append("a finished fold was lost or changed")
    again = [line for line in at.begun()[begun:] if int(line) in before]
    if again:
        broken.append(f"computed again: {again}")
    if at.scores(run_id) != at.expected:
        broken.append("other scores than undisturbed")
    if at.rows("pragma integrity_check") != [("ok",)]:
        broken.append("the database is damaged")
    return broken, len(before), noticed


def _goes_on(at: Trial, run_id: str, before: Kept) -> bool:
    """Whether the run goes on by itself: a worker that was killed between two folds is replaced."""
    return len(at.kept(run_id)) > len(before)


def main() -> None:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first kill")
    parser.add_argument("--manage", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.manage:
        manage()
        return
    counts: Counter[str] = Counter()
    midway, slowest, bad = 0, 0.0, 0
    with tempfile.TemporaryDirectory(prefix="ecv-kills-") as folder, trial(Path(folder)) as at:
        for number in range(asked.first, asked.first + asked.kills):
            victim = VICTIMS[number % len(VICTIMS)]
            broken, done, noticed = one_kill(at, victim, Random(f"{asked.seed}-{number}"))
            counts[victim] += 1
            midway += done < FOLDS
            slowest = max(slowest, noticed)
            bad += bool(broken)
            said = "; ".join(broken) or "as promised"
            print(f"kill {number} ({victim}, {done} folds done): {said}", file=sys.stderr)
    kinds = ", ".join(f"{count} of a {victim}" for victim, count in counts.items())
    print(
        f"{counts.total()} kills ({kinds}), {midway} of them in the middle of a run; noticed "
        f"within {slowest:.1f} s; {bad} broke a promise"
    )
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
