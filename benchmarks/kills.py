"""SIGKILL while finished folds are at risk: none is lost, changed or computed twice; runs go on.

python -m benchmarks.kills [--kills 200] [--seed 1] [--first 0] [--database sqlite|postgresql]

In turn each command that computes, `tell`, a dashboard and a dashboard's worker are killed. Nine of
ten kills are aimed: they fall after a fold has come and before the last one has. Another dashboard,
which stays, has to say within 15 s how the run stands. It is then resumed, on a page or in a shell,
or by giving the same command again, and has to begin within 15 s. What was in the table at the kill
has to be there at the end, to the letter; no fold that decides the same score may be computed a
second time; and one of them, drawn, is computed here and has to have the same score. Every kill is
made from its number. Exit code 1 where a promise is not kept.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psutil
import sqlalchemy as sa

from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.manager import RunManager
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import Store, open_store
from tests.databases import PROGRAMS, PostgresServer

FOLDS, TOLD = 8, 4
SECONDS, PATIENCE_SECONDS = 15.0, 120.0
_ECV = [sys.executable, "-m", "ecv_core"]
_MANAGER = [sys.executable, "-m", "benchmarks.kills", "--manage"]
Row = tuple[Any, ...]
"""Of the folds table: sequence, run id, fold, result."""


def commands(seed: int, folder: Path) -> dict[str, list[str]]:
    """What is killed in a shell, with a seed of its own so that nobody has its folds yet."""
    alike = [f"item-knn:neighbours={n}" for n in (20, 21, 22)]
    same = ["-k", str(FOLDS), "--seed", str(seed)]
    return {
        "run": ["run", "synthetic", "item-knn", "--rule", "never", *same],
        "study": [
            *("study", "--datasets", "synthetic", "--algorithms", "popular,item-knn"),
            *("--seed", str(seed), "--folder", str(folder / f"study-{seed}")),
        ],
        "select": ["select", "synthetic", *alike, *same],
        "tune": [
            *("tune", "synthetic", "item-knn", "--grid", "neighbours=10,20,30", "--all-folds"),
            *same,
        ],
    }


VICTIMS = ("run", "dashboard", "study", "resume", "worker", "select", "tell", "tune")


def manage() -> None:
    """A dashboard as far as runs go: starts a run of a seed, or resumes one, as it is told."""
    manager = RunManager(open_store())
    manager.warm_up()
    for line in sys.stdin:
        word, _, given = line.strip().partition(" ")
        said = manager.start([spec_of(int(given))]) if word == "start" else manager.resume(given)
        print(said, flush=True)
    manager.close()


def spec_of(seed: int, **more: Any) -> RunSpec:  # noqa: ANN401  settings
    """A run of eight folds."""
    asked: dict[str, Any] = {"algorithm": "item-knn", "rule": "never", "k": FOLDS, **more}
    return make_spec(dataset="synthetic", seed=seed, **asked)


class Trial:
    """One database, and the dashboard that stays."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.surroundings = os.environ | {
            "ECV_DATABASE_URL": url,
            "ECV_DATA_DIR": str(folder),
            "TMPDIR": str(folder),  # where programs wait for each other's folds
            "OMP_NUM_THREADS": "1",
        }
        self.store: Store = open_store(url)
        with self.store.transaction("read") as connection:
            self._engine = sa.create_engine(connection.engine.url)
        self.stays = self.program(_MANAGER)

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

    def rows(self, query: str) -> list[Row]:
        """What is in the database, read past our own library."""
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def newest(self) -> int:
        """The number of the newest run."""
        return int(self.rows("select coalesce(max(sequence), 0) from runs")[0][0])

    def folds(self, since: int) -> list[Row]:
        """Those of the runs after that number."""
        return self.rows(
            "select folds.sequence, folds.run_id, fold, result from folds join runs on "
            f"runs.run_id = folds.run_id where runs.sequence > {since} order by folds.sequence"
        )

    def states(self, since: int) -> dict[str, str]:
        """Of the runs after that number."""
        return dict(self.rows(f"select run_id, state from runs where sequence > {since}"))

    def close(self) -> None:
        """End the dashboard that stays."""
        end(self.stays)
        self._engine.dispose()


def end(program: subprocess.Popen[str]) -> bool:
    """Kill a program; gives whether what it had started has ended by itself."""
    try:
        helpers = psutil.Process(program.pid).children(recursive=True)
    except psutil.Error:
        helpers = []
    program.kill()
    program.wait()
    return not psutil.wait_procs(helpers, timeout=SECONDS)[1]


def wait_until(done: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> float:
    """Until a function says so; gives the seconds. Raises: TimeoutError."""
    begin = time.monotonic()
    while not done():
        if time.monotonic() - begin > seconds:
            raise TimeoutError(f"nothing came of it in {seconds:.0f} s")
        time.sleep(0.02)
    return time.monotonic() - begin


@dataclass
class Outcome:
    """What came of one kill."""

    broken: list[str]
    at_risk: int
    """Finished folds of work that was not done yet."""
    noticed: float
    begun: float
    """Seconds until the work went on once it was asked for."""


def one_kill(at: Trial, victim: str, random: Random) -> Outcome:
    """Kill once, resume, and compare."""
    seed, since = random.randrange(10**6), at.newest()
    if victim == "tell":
        return killed_tell(at, seed, random)
    program = started(at, victim, seed)
    aimed = random.random() < 0.9
    wanted = random.randrange(1, FOLDS - 1) if aimed else 0

    def reached() -> bool:
        return (len(at.folds(since)) >= wanted) if aimed else bool(at.states(since))

    wait_until(lambda: reached() or (program is not None and program.poll() is not None))
    time.sleep(random.uniform(0, 0.06 if aimed else 1.5))
    broken = []
    dead = workers_of(at.stays)
    if program is None:
        for process in dead:
            process.kill()
        alive = True
    else:
        alive = program.poll() is None
        if not end(program):
            broken.append("what it had started goes on")
    before, states = at.folds(since), at.states(since)
    at_risk = len(before) if alive and {"running", "queued"} & set(states.values()) else 0

    def noticed_by_others() -> bool:
        if program is None and set(workers_of(at.stays)) - set(dead):
            return True  # it goes on by itself
        return not {"running", "queued"} & set(at.states(since).values())

    noticed = wait_until(noticed_by_others)
    begun = go_on(at, victim, seed, since, by_page=random.random() < 0.5)
    return Outcome(broken + compared(at, victim, since, before, random), at_risk, noticed, begun)


def workers_of(program: subprocess.Popen[str]) -> list[psutil.Process]:
    """The worker processes of a dashboard; at most one lives."""
    found = []
    for process in psutil.Process(program.pid).children(recursive=True):
        with suppress(psutil.Error):
            if any("ecv_core.jobs.executors" in word for word in process.cmdline()):
                found.append(process)
    return found


def started(at: Trial, victim: str, seed: int) -> subprocess.Popen[str] | None:
    """The program that is to be killed; None for the worker of the dashboard that stays."""
    if victim == "worker":
        at.told(at.stays, f"start {seed}")
        return None
    if victim == "dashboard":
        program = at.program(_MANAGER)
        at.told(program, f"start {seed}")
        return program
    if victim == "resume":
        (run_id,) = at.store.create([spec_of(seed)], owner="nobody")
        at.store.finish(run_id, RunState.CANCELLED)
        return at.program([*_ECV, "resume", run_id])
    return at.program([*_ECV, *commands(seed, at.folder)[victim]])


def go_on(at: Trial, victim: str, seed: int, since: int, *, by_page: bool) -> float:
    """Have all of it finished; gives the seconds until it went on."""
    cut_off = [one for one, state in at.states(since).items() if state != "finished"]
    many, begun = len(at.folds(since)), 0.0
    again = commands(seed, at.folder).get(victim) if victim not in ("run", "resume") else None

    def goes_on() -> bool:
        return len(at.folds(since)) > many or "running" in at.states(since).values()

    if again is not None:
        begun = typed(at, again, goes_on)
        return begun if cut_off else 0.0
    for run_id in cut_off:
        if victim == "worker" and at.states(since)[run_id] in ("running", "queued"):
            wait_until(lambda: not {"running", "queued"} & set(at.states(since).values()))
            continue  # it went on by itself
        if by_page:
            at.told(at.stays, f"resume {run_id}")
            begun = wait_until(goes_on)
            wait_until(lambda: not {"running", "queued"} & set(at.states(since).values()))
        else:
            begun = typed(at, ["resume", run_id], goes_on)
    return begun


def typed(at: Trial, words: list[str], goes_on: Callable[[], bool]) -> float:
    """A command to its end; gives the seconds until it went on."""
    program = at.program([*_ECV, *words])
    begun = wait_until(lambda: goes_on() or program.poll() is not None)
    program.communicate(timeout=PATIENCE_SECONDS)
    return begun


def compared(at: Trial, victim: str, since: int, before: list[Row], random: Random) -> list[str]:
    """Promises that were not kept."""
    broken = []
    after, states = at.folds(since), at.states(since)
    # Of a selection or a tuning a run may not be needed any more: it can be resumed for good.
    done = {"finished", "interrupted"} if victim in ("select", "tune") else {"finished"}
    if left := {one: state for one, state in states.items() if state not in done}:
        broken.append(f"not finished: {left}")
    if missing := set(before) - set(after):
        broken.append(f"{len(missing)} finished folds were lost or changed")
    keys: dict[str, str] = dict(
        at.rows(f"select run_id, score_key from runs where sequence > {since}")
    )
    own = [row for row in after if not json.loads(row[3])["reused"]]
    computed = Counter((keys[row[1]], row[2]) for row in own)
    if twice := [key for key, count in computed.items() if count > 1]:
        broken.append(f"{len(twice)} folds were computed twice")
    if own:
        drawn = random.choice(own)
        spec = at.store.run(drawn[1]).spec
        if not spec.tracked and run_fold(spec, drawn[2]).score != json.loads(drawn[3])["score"]:
            broken.append("another score than undisturbed")
    return broken


def killed_tell(at: Trial, seed: int, random: Random) -> Outcome:
    """Folds are told by programs that come and go, one of which is killed."""
    since = at.newest()
    spec = spec_of(seed, algorithm=f"mine{seed}", tracked=True, k=TOLD)
    from ecv_core.jobs.plans.track import ask, begin
    from ecv_core.store.rows import OUTSIDE

    run_id = begin(at.store, spec, owner=OUTSIDE)
    fatal, broken, risk = random.randrange(1, TOLD), [], 0
    before: list[Row] = []
    for fold in range(TOLD):
        ask(at.store, run_id, at.folder / "asked")
        words = [*_ECV, "tell", run_id, str(fold), "--score", f"0.{3 + fold}"]
        program = at.program(words)
        if fold == fatal:
            time.sleep(random.uniform(0.3, 2.5))
            alive = program.poll() is None
            end(program)
            before = at.folds(since)
            risk = len(before) if alive else 0
            if len(before) == fold:
                program = at.program(words)
        program.communicate(timeout=PATIENCE_SECONDS)
    told = [json.loads(row[3])["score"] for row in at.folds(since)]
    if told != [float(f"0.{3 + fold}") for fold in range(TOLD)]:
        broken.append(f"told as {told}")
    return Outcome(broken + compared(at, "tell", since, before, random), risk, 0.0, 0.0)


@contextmanager
def databases(only: str) -> Iterator[dict[str, Trial]]:
    """A trial on each database that is on this machine."""
    made: dict[str, Trial] = {}
    with tempfile.TemporaryDirectory(prefix="ecv-kills-") as named:
        server = None
        try:
            if only in ("", "sqlite"):
                (folder := Path(named) / "sqlite").mkdir()
                made["SQLite"] = Trial(f"sqlite:///{folder / 'runs.sqlite'}", folder)
            if only in ("", "postgresql") and PROGRAMS is not None:
                (folder := Path(named) / "postgresql").mkdir()
                server = PostgresServer(PROGRAMS)
                made["PostgreSQL"] = Trial(server.database(), folder)
            yield made
        finally:
            for trial in made.values():
                trial.close()
            if server is not None:
                server.stop()


def main() -> None:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first kill")
    parser.add_argument("--database", default="", choices=["", "sqlite", "postgresql"])
    parser.add_argument("--manage", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.manage:
        manage()
        return
    done: list[tuple[str, str, Outcome]] = []
    with databases(asked.database) as trials:
        for number in range(asked.first, asked.first + asked.kills):
            victim = VICTIMS[number % len(VICTIMS)]
            database = list(trials)[number // len(VICTIMS) % len(trials)]
            try:
                found = one_kill(trials[database], victim, Random(f"{asked.seed}-{number}"))
            except (TimeoutError, subprocess.TimeoutExpired, InputError) as error:
                found = Outcome([str(error)], 0, 0.0, 0.0)
            for what, seconds in (("noticed", found.noticed), ("went on", found.begun)):
                if seconds > SECONDS:
                    found.broken.append(f"{what} after {seconds:.0f} s")
            done.append((victim, database, found))
            said = "; ".join(found.broken) or "as promised"
            print(
                f"kill {number} ({victim}, {database}, {found.at_risk} folds at risk, noticed in "
                f"{found.noticed:.1f} s, went on in {found.begun:.1f} s): {said}",
                file=sys.stderr,
                flush=True,
            )
    kinds = Counter(f"{victim} on {database}" for victim, database, _ in done)
    risky = [one for _, _, one in done if one.at_risk]
    bad = sum(bool(one.broken) for _, _, one in done)
    noticed = max((one.noticed for _, _, one in done), default=0.0)
    begun = max((one.begun for _, _, one in done), default=0.0)
    print(
        f"{len(done)} kills ({', '.join(f'{many} {kind}' for kind, many in kinds.items())}), "
        f"{len(risky)} of them with {sum(one.at_risk for one in risky)} finished folds at risk; "
        f"noticed within {noticed:.1f} s, went on within {begun:.1f} s; {bad} broke a promise"
    )
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
