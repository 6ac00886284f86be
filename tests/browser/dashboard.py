"""A real dashboard in a process of its own, and the Chromium that looks at it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil

from ecv_core.records.errors import InputError
from ecv_core.store.plans import SELECTION, STUDY, forget_plan, stored_plans
from ecv_core.store.store import open_store
from tests.ports import unused_port

ROOT = Path(__file__).resolve().parents[2]


def _browser(*names: str) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


HEADLESS = _browser("chromium-headless-shell")
CHROMIUM = _browser("chromium", "chromium-browser", "google-chrome") or HEADLESS
"""As a person has it, for pictures and benchmarks; None: Playwright's own."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FOR_TESTS = HEADLESS or CHROMIUM
"""The same Chromium without what only a person needs, where there is one."""
TEST_FLAGS = [
    *FLAGS,
    "--renderer-process-limit=1",  # tabs share what one of them compiled
    "--js-flags=--no-turbofan --no-maglev",  # no page stays open until optimising pays
]


class Dashboard:
    """The dashboard as `make run` starts it, on its own database; it can be killed."""

    script = "app.py"

    def __init__(self, folder: Path, data_dir: Path, **settings: str) -> None:
        self.folder = folder
        self.database_url = f"sqlite:///{folder / 'runs.sqlite'}"
        self.log = folder / "streamlit.log"
        self._environment = os.environ | {
            "ECV_DATABASE_URL": self.database_url,
            "ECV_DATA_DIR": str(data_dir),
            **settings,
        }
        self.port = unused_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self._read = 0  # lines of the log that were looked through

    def start(self, *, first_time: bool = False) -> None:
        """Start it; `first_time` as for a person who never ran Streamlit before."""
        command = [sys.executable, "-m", "streamlit", "run", self.script]
        command += ["--server.port", str(self.port)]
        if first_time:
            self._environment |= {"HOME": str(self.folder), "BROWSER": "true"}
        else:
            command += ["--server.headless", "true"]
        command += ["--server.address", "127.0.0.1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=10) as answer:
                    if answer.read() == b"ok":
                        return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError(f"the dashboard did not start:\n{self.log.read_text()}")

    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def empty(self) -> None:
        """Delete all that is kept; what runs may end first, for cancelling costs the worker."""
        store = open_store(self.database_url)
        for kind in (STUDY, SELECTION):
            for plan in stored_plans(store, kind):
                forget_plan(store, plan.plan_id)
        begin = time.monotonic()
        while runs := store.runs():
            waited = time.monotonic() - begin
            assert waited < 60, f"{[run.run_id for run in runs]} cannot be deleted"
            for run in runs:
                # A selection that is computing begins its next run between a look and a deletion.
                with contextlib.suppress(InputError):
                    store.delete(run.run_id)
                if waited > 5:
                    store.request_cancel(run.run_id)
            time.sleep(0.1)

    def workers(self) -> list[psutil.Process]:
        assert self.process is not None
        return [
            child
            for child in psutil.Process(self.process.pid).children(recursive=True)
            if any("ecv_core.jobs.executors" in word for word in child.cmdline())
        ]

    def hold_workers(self) -> None:
        """What they compute goes on without an end, and takes no processor from others."""
        for worker in self.workers():
            worker.suspend()

    def kill(self) -> None:
        """As when the machine goes down: nobody gets to say goodbye."""
        assert self.process is not None
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it may end by itself meanwhile
                child.send_signal(signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.is_up():
            self.kill()

    def complaints(self) -> list[str]:
        """New lines of the server's log that nobody should ever see."""
        lines = self.log.read_text().splitlines()[self._read :] if self.log.exists() else []
        self._read += len(lines)
        return [
            line
            for line in lines
            if "Traceback" in line or "Warning" in line or "deprecat" in line.lower()
        ]
