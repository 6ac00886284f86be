"""Two dashboards and commands on one database, with clocks 30 seconds apart."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ecv_core.records.run import RunState
from ecv_core.store.ownership import owner_of
from ecv_core.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 300.0


def started(program: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        f"from tests.jobs.clock_programs import command, dashboard; {program}",
    ]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_no_run_is_marked_or_taken_where_clocks_are_30_seconds_apart(store: Store) -> None:
    with (
        started("dashboard('ahead/1', 15)") as ahead,
        started("dashboard('behind/2', -15)") as behind,
    ):
        try:
            watch_to_the_end(store, [ahead, behind])
        finally:
            ahead.kill()
            behind.kill()


def watch_to_the_end(store: Store, dashboards: list[subprocess.Popen[str]]) -> None:
    """Have commands look, and try to take a run, until the dashboards have computed theirs."""
    owner_of_run: dict[str, str | None] = {}
    for dashboard in dashboards:
        assert dashboard.stdout is not None
        for run_id in dashboard.stdout.readline().split():
            owner_of_run[run_id] = owner_of(store, run_id)
    assert len(owner_of_run) == 2
    first = next(iter(owner_of_run))
    states = set()
    deadline = time.monotonic() + LONGEST
    while any(dashboard.poll() is None for dashboard in dashboards):
        assert time.monotonic() < deadline
        commands = [
            started("command('here/3', 0, 'runs')"),
            started("command('far/4', 60, 'runs')"),
            started(f"command('far/5', -60, 'resume', '{first}')"),
        ]
        for command in commands:
            command.communicate(timeout=LONGEST)
        for run_id, owner in owner_of_run.items():
            states.add(store.run(run_id).state)
            assert owner_of(store, run_id) == owner
    assert [dashboard.returncode for dashboard in dashboards] == [0, 0]
    assert states <= {RunState.QUEUED, RunState.RUNNING, RunState.FINISHED}
    for run_id in owner_of_run:
        run = store.run(run_id)
        assert run.state is RunState.FINISHED
        assert [fold.fold for fold in run.folds] == [0, 1, 2, 3, 4]
