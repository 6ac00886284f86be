"""The begin and end of the dashboard: it asks for nothing, takes a queue over, and loses no run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from websockets.sync.client import connect

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.ownership import beat, this_process
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.browser.test_main_job import computing, wait_for

LONG = make_spec(
    dataset="synthetic", algorithm="nmf", params={"factors": 512, "epochs": 10_000}, rule="never"
)


@pytest.mark.parametrize(
    "name",
    ["SIGTERM", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGINT", "SIGHUP"))],
)
def test_a_first_start_asks_nothing_begins_what_was_queued_and_ends_within_seconds(
    tmp_path: Path, data_dir: Path, name: str
) -> None:
    if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here, as under nohup, and a dashboard inherits that")
    dashboard = Dashboard(tmp_path, data_dir)
    store = open_store(dashboard.database_url)
    gone = f"{this_process().rsplit(':', 2)[0]}:4194300:0"  # a dashboard on this machine, once
    first, second = store.create([LONG, LONG], owner=gone)
    beat(store, gone, is_dashboard=True)
    dashboard.start(first_time=True)
    try:
        assert "Email" not in dashboard.log.read_text()
        wait_for(dashboard, first, computing)  # though nobody has opened a page
        assert dashboard.process is not None
        family = psutil.Process(dashboard.process.pid).children(recursive=True)
        with connect(dashboard.url.replace("http", "ws") + "/events") as page:
            page.send("all")
            page.recv()
            begin = time.monotonic()
            os.kill(dashboard.process.pid, getattr(signal, name))
            dashboard.process.wait(30)
        assert time.monotonic() - begin < 10
        _, left = psutil.wait_procs(family, timeout=10)
        assert left == []
        assert store.run(first).state is RunState.INTERRUPTED
        assert store.run(second).state is RunState.QUEUED
    finally:
        dashboard.stop()
    assert dashboard.complaints() == []
