"""A program that is told to end, or dies: its run can be resumed, its queue waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from ecv_core.jobs.manager import RunManager
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import Store, open_store
from tests.fake_folds import quick

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
PROGRAM = """
import signal, sys, threading
from ecv_core.jobs.manager import RunManager
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store
from tests.fake_folds import sleepy

told = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: told.set())
manager = RunManager(open_store(), compute=sleepy)
spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
manager.start([spec, spec])
while not told.wait(0.1):
    pass
manager.close()
"""
"""A dashboard as far as runs go: it closes its manager when it is told to end."""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        yield process
        process.kill()


PATIENCE_SECONDS = 120


def soon(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def under_way(store: Store) -> bool:
    return any(run.state is RunState.RUNNING and run.folds for run in store.runs())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGTERM, True)],
    ids=["SIGTERM", "SIGINT to the group", "SIGTERM to the group"],
)
def test_told_to_end_the_run_is_interrupted_and_the_queue_waits(program, number, to_all):
    store = open_store()
    soon(lambda: under_way(store))
    family = psutil.Process(program.pid).children(recursive=True)
    (os.killpg if to_all else os.kill)(program.pid, number)
    _, said = program.communicate(timeout=PATIENCE_SECONDS)
    waiting, first = store.runs()
    assert (first.state, len(first.folds)) == (RunState.INTERRUPTED, 1)
    assert waiting.state is RunState.QUEUED
    assert "Traceback" not in said
    _, left = psutil.wait_procs(family, timeout=PATIENCE_SECONDS)
    assert left == []

    manager = RunManager(store, compute=quick)  # the next start
    try:
        soon(lambda: store.run(waiting.run_id).state is RunState.FINISHED)
    finally:
        manager.close()
    assert store.run(first.run_id).state is RunState.INTERRUPTED


@pytest.mark.slow
def test_killed_its_worker_ends_by_itself_and_the_run_is_found_interrupted(program):
    store = open_store()
    soon(lambda: under_way(store))
    family = psutil.Process(program.pid).children(recursive=True)
    assert family
    program.kill()
    _, left = psutil.wait_procs(family, timeout=PATIENCE_SECONDS)
    assert left == []
    manager = RunManager(store, compute=quick)
    try:
        assert store.runs()[1].state is RunState.INTERRUPTED
    finally:
        manager.close()


@pytest.mark.slow
def test_a_worker_whose_dashboard_died_before_it_was_ready_ends_too():
    program = "from ecv_core.jobs.executors import work; work()"
    words = [sys.executable, "-c", program]
    nobody = subprocess.DEVNULL  # its input has ended by the time it reads it
    done = subprocess.run(words, stdin=nobody, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 1


@pytest.mark.slow
def test_a_command_that_is_told_to_end_leaves_a_run_to_resume(tmp_path):
    command = [sys.executable, "-m", "ecv_core", "run", "synthetic", "multi-vae", "--rule", "never"]
    command += ["--param", "epochs=500"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        store = open_store()
        soon(lambda: any(run.progress for run in store.runs()))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert "resume" in said
    assert store.runs()[0].state is RunState.INTERRUPTED
