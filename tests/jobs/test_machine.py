"""Who has the machine, who waits for it, and in which order they get it: with real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

import ecv_core as ecv
from ecv_core.cli import parse
from ecv_core.cli.options import OF_MACHINE, values_of
from ecv_core.energy.load import Load
from ecv_core.fold.spec import make_spec
from ecv_core.jobs import machine
from ecv_core.jobs.machine import machine_alone, machine_for
from ecv_core.records.run import no_progress
from ecv_core.store.document import run_document
from ecv_core.store.listing import RunList
from ecv_core.store.store import open_store
from ecv_core.untrusted.private import private_folder

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, time
from pathlib import Path
from ecv_core.jobs import machine
name, folder = sys.argv[1], Path(sys.argv[2])
machine.ASLEEP_SECONDS = float(sys.argv[3])
def progress(phase, step, steps):
    (folder / f"{name}-waits").write_text(phase)
with machine.machine_alone(progress, metered=not name.startswith("free")):
    with (folder / "order").open("a") as order:
        order.write(name + " ")
    while not (folder / f"{name}-go").exists():
        time.sleep(0.02)
"""


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program that takes the machine until it is told to go on.

    It takes another that is silent for so many seconds for asleep; on a busy machine one that is
    awake may be silent for a while, too.
    """
    programs = []
    (tmp_path / "program.py").write_text(PROGRAM)

    def started(name: str, asleep_seconds: float = 60.0) -> subprocess.Popen[str]:
        words = [name, str(tmp_path), str(asleep_seconds)]
        program = subprocess.Popen(
            [sys.executable, str(tmp_path / "program.py"), *words],
            env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": tempfile.gettempdir()},
            stderr=subprocess.PIPE,
            text=True,
        )
        programs.append(program)
        until(lambda: name in order(tmp_path) or (tmp_path / f"{name}-waits").exists())
        return program

    yield started
    for program in programs:
        program.kill()
        program.communicate()


def order(folder: Path) -> list[str]:
    there = folder / "order"
    return there.read_text().split() if there.exists() else []


def go(folder: Path, name: str) -> None:
    (folder / f"{name}-go").touch()


@pytest.mark.slow
def test_folds_come_in_the_order_of_arrival(begin, tmp_path):
    for name in ("first", "second", "third", "fourth"):
        begin(name)
    assert order(tmp_path) == ["first"]
    for done, comes in enumerate(("first", "second", "third"), start=2):
        go(tmp_path, comes)
        until(lambda done=done: len(order(tmp_path)) >= done)
    assert order(tmp_path) == ["first", "second", "third", "fourth"]


def test_who_waits_says_for_whom_and_since_when_without_a_terminal_too(begin, tmp_path):
    first, second = begin("first"), begin("second")
    said = (tmp_path / "second-waits").read_text()
    assert re.match(rf"waits for process {first.pid} since \d\d:\d\d: program\.py first", said)
    assert len(said) <= 64  # as the database keeps it
    logged = second.stderr.readline()  # comes once that this is no matter of a moment
    go(tmp_path, "first")
    go(tmp_path, "second")
    _, logged_later = second.communicate(timeout=30)
    line = (
        rf"waits for process {first.pid} since \d\d:\d\d: program\.py first {tmp_path} .*; --share"
    )
    assert re.match(line, logged)
    assert logged_later == ""


@pytest.mark.slow
def test_killed_holders_and_waiters_keep_nobody_waiting(begin, tmp_path):
    first, second = begin("first"), begin("second")
    begin("third")
    second.send_signal(signal.SIGKILL)
    second.wait()
    first.send_signal(signal.SIGKILL)
    first.wait()
    until(lambda: order(tmp_path) == ["first", "third"])
    folder = next(Path(tempfile.gettempdir()).glob("ecv-*/folds/"))
    assert len(list(folder.glob("*.json"))) == 1  # those of the dead are gone


@pytest.mark.slow
def test_a_suspended_program_that_waits_holds_nobody_up(begin, tmp_path):
    begin("first")
    second = begin("second")
    begin("third", asleep_seconds=1.0)
    second.send_signal(signal.SIGSTOP)
    go(tmp_path, "first")
    until(lambda: order(tmp_path) == ["first", "third"])
    second.send_signal(signal.SIGCONT)
    go(tmp_path, "third")
    until(lambda: order(tmp_path) == ["first", "third", "second"])


@pytest.mark.slow
def test_a_program_that_is_suspended_while_it_looks_holds_nobody_up(begin, tmp_path):
    with FileLock(private_folder() / "folds.lock"):
        begin("first", asleep_seconds=1.0)
        begin("second", asleep_seconds=1.0)
        assert order(tmp_path) == ["first"]


def test_who_has_the_machine_has_it_within_again():
    with machine_alone(no_progress), machine_alone(no_progress, metered=False):
        pass


def test_folds_without_a_meter_compute_together_and_none_beside_one_with(begin, tmp_path):
    cores = os.cpu_count() or 1
    names = [f"free-{at}" for at in range(cores)]
    for name in names:
        begin(name)
    assert order(tmp_path) == names
    begin("metered")
    begin("free-later")  # comes later than one that waits
    begin("free-last")
    assert order(tmp_path) == names
    go(tmp_path, names[0])
    until(lambda: (tmp_path / "metered-waits").exists())
    for name in names[1:]:
        assert order(tmp_path) == names
        go(tmp_path, name)
    until(lambda: len(order(tmp_path)) > cores)
    assert order(tmp_path) == [*names, "metered"]
    go(tmp_path, "metered")
    if cores > 1:
        until(lambda: order(tmp_path) == [*names, "metered", "free-later", "free-last"])


def test_a_shared_machine_is_not_waited_for_and_its_energy_is_said_to_be_shared(begin):
    begin("first")
    run = ecv.evaluate("synthetic", "popular", k=3, rule="never", share_machine=True)
    assert [fold["energy"]["machine_shared"] for fold in run.document()["folds"]] == [True] * 3
    kept = open_store().run(run.run_id)
    assert kept.other_work.startswith("3 of 3 folds shared the machine with folds of other")
    assert run_document(kept)["other_work"] == kept.other_work
    assert [row.other_work for row in RunList(open_store()).rows()] == [True]


def test_a_fold_waits_until_the_machine_is_quiet_and_says_so(monkeypatch, caplog):
    shares = iter([0.73, 0.0, 0.4, *[0.05] * 8, 1.0])
    monkeypatch.setattr("ecv_core.jobs.machine.time.sleep", lambda seconds: None)
    monkeypatch.setattr(Load, "share_of_others_since", lambda now, before: next(shares))
    told = []
    spec = make_spec(dataset="synthetic", algorithm="popular", wait_for_quiet=True)
    with machine_for(spec, lambda phase, step, steps: told.append(phase)):
        pass
    assert told == [
        "waits for a quiet machine: others use 73 %",
        "waits for a quiet machine: others use 40 %",
    ]
    assert list(shares) == [1.0]  # after eight quiet looks in a row it begins
    assert caplog.messages == [
        "waits for a quiet machine: others use 73 % of it, and it is quiet at 5 %"
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "synthetic", "popular"),
        ("study", "--datasets", "synthetic", "--algorithms", "popular"),
        ("select", "synthetic", "popular", "ease"),
        ("tune", "synthetic", "item-knn"),
    ],
)
@pytest.mark.parametrize("option", ["--share-machine", "--wait-for-quiet", "--no-energy"])
def test_every_command_that_computes_can_share_the_machine_or_wait_for_it(words, option):
    asked = values_of(parse([*words, option]), OF_MACHINE)
    assert asked == {
        "share_machine": option == "--share-machine",
        "wait_for_quiet": option == "--wait-for-quiet",
        "no_energy": option == "--no-energy",
    }


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (["/usr/bin/python3.11", "-m", "ecv_core", "run", "ml-100k"], "ecv run ml-100k"),
        (["python", "-m", "pytest", "-q"], "pytest -q"),
        (["/usr/bin/python3", "/home/ada/study.py", "ease"], "study.py ease"),
        (["/usr/local/bin/ecv", "run"], "ecv run"),
        (["python"], "python"),
    ],
)
def test_a_worker_is_known_by_the_program_that_somebody_has_called(monkeypatch, called, shown):
    parent = SimpleNamespace(cmdline=lambda: called)
    monkeypatch.setattr(machine.psutil, "Process", lambda: SimpleNamespace(parent=lambda: parent))
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert machine._command_of_user() == shown
