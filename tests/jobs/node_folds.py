"""What nodes of a cluster compute in tests, in a module that costs them nothing to import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ecv_core.jobs.cluster.node import Answer, Call
from ecv_core.jobs.executors import Results
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec
from tests.fake_folds import FAR_TOO_LONG, SCORES, fold_result


def pid_as_score(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    yield 0, fold_result(index, float(os.getpid()))


def killed_once(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Fold 1 kills the worker that it is on, once."""
    mark = Path(os.environ["ECV_DATABASE_URL"].removeprefix("sqlite:///")).with_name("died")
    if index == 1 and not mark.exists():
        mark.touch()
        psutil.Process().parent().kill()
        time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def killed_always(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    if index == 1:
        psutil.Process().kill()
    yield 0, fold_result(index, SCORES[index])


def asleep(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    if index:
        Path(os.environ["ASLEEP"]).joinpath(str(os.getpid())).touch()
        time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def cannot_say(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    raise KeyError(lambda: None)
    yield


def waits_for_go(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    marks = Path(os.environ["MARKS"])
    (marks / f"begun-{index}-{time.time_ns()}").touch()
    while not (marks / "go").exists():
        time.sleep(0.05)
    yield 0, fold_result(index, SCORES[index])


def quick_once(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    marks = Path(os.environ["MARKS"])
    again = any(marks.iterdir())
    (marks / str(os.getpid())).touch()
    if again:
        time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def quick_there(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    yield 0, fold_result(index, SCORES[index])


def node_dies_once(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Fold 1 takes all of its node with it, once: slurmd, and each process of the job."""
    mark = Path(os.environ["ECV_DATABASE_URL"].removeprefix("sqlite:///")).with_name("died")
    if index == 1 and not mark.exists():
        node = os.environ["SLURMD_NODENAME"]
        mark.write_text(node)
        pid = Path(os.environ["SLURM_CONF"]).with_name(f"slurmd-{node}.pid")
        os.kill(int(pid.read_text()), signal.SIGKILL)
        above = [one for one in psutil.Process().parents() if one.pid > 1]
        steps = [one.name() for one in above].index("slurmstepd")
        for one in above[steps::-1]:
            one.kill()
        time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def tells_and_sleeps(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    progress("asleep", 0, 0)
    time.sleep(FAR_TOO_LONG)
    yield 0, fold_result(index, SCORES[index])


def another_fold(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Fold 1 is said to be fold 2; each time a mark is left."""
    Path(os.environ["MARKS"]).joinpath(f"{index}-{time.time_ns()}").touch()
    number = index
    if index == 1:
        number = 2
    yield 0, fold_result(number, SCORES[index])


class Stranger(Exception):
    """Of a plug-in that the node alone has: it can be read there, and nowhere else."""

    def __reduce__(self) -> tuple[object, ...]:
        return read_stranger, (os.getpid(), str(self))


def read_stranger(pid: int, text: str) -> Stranger:
    if os.getpid() != pid:
        raise ModuleNotFoundError("No module named 'plugin_of_the_node'")
    return Stranger(text)


def raises_a_stranger(call: Call) -> Answer:
    raise Stranger("the licence server said 503")


def answers_with_a_stranger(call: Call) -> Answer:
    return [(0, Stranger("no fold"))]
