"""An hour of visitors on a free host: what memory a public dashboard takes, and its first page.

python -m benchmarks.free_host [--minutes 60] [--visitors 30] [--python light/bin/python]
    [--group /sys/fs/cgroup/memory/e-fold] [--limit 1000]

The dashboard of deploy/cloud is started with a Python that has the packages of its requirements;
none is in memory from before. Visitors open pages, look at each for a while, and now and
then start a run of `synthetic`. Printed are the seconds until the first page is drawn, and each
minute the memory of the dashboard with its workers. The program ends with 1 where that ever was
above the limit, or a page was not drawn.

To have the system enforce the limit, make a control group, write the limit into it, and name it
with --group: the dashboard is put into it before it starts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from websockets.exceptions import WebSocketException

from benchmarks.sessions import Session
from tests.browser.stranger import Stranger

ROOT = Path(__file__).parents[1]
APP = Path("deploy", "cloud", "streamlit_app.py")
PAGES = ("", "learn", "data", "run", "best", "folds", "baselines", "splits", "runs", "replay")
MEGABYTE = 1_000_000
FIRST_PAGE_SECONDS = 10.0
"""At most, from the start of the program to the end of the first drawing."""
STAY_SECONDS = (10.0, 110.0)
"""So long a visitor looks at a page."""
RUN_SHARE = 0.05
"""Of the pages that a visitor opens: a run is started there."""


@dataclass(slots=True)
class Visits:
    """What all visitors have done and seen."""

    pages: int = 0
    runs: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """Until each page was drawn."""


def forget_files(python: Path) -> None:
    """Ask the system to drop what it keeps in memory of the files of a Python's packages."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in (python.parents[1] / "lib").rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def start(python: Path, port: int, folder: Path, group: Path | None) -> subprocess.Popen[bytes]:
    """Start a public dashboard on a database of its own; it need not answer yet."""
    environment = os.environ | {
        "ECV_DATABASE_URL": f"sqlite:///{folder / 'runs.sqlite'}",
        "ECV_DATA_DIR": str(folder / "data"),
    }
    command = [str(python), "-m", "streamlit", "run", str(APP), "--server.headless=true"]
    command += [f"--server.port={port}"]
    if group is not None:
        join = f'echo $$ > "{group}/cgroup.procs"; exec "$@"'
        command = ["sh", "-c", join, "sh", *command]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


async def until_it_answers(url: str) -> None:
    """Wait until the dashboard takes requests."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=10):
                return
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError("the dashboard did not start within a minute")


def memory(dashboard: psutil.Process) -> int:
    """Bytes of a dashboard and its workers; what they share is counted once."""
    size = 0
    for process in [dashboard, *dashboard.children(recursive=True)]:
        try:
            size += process.memory_full_info().pss
        except psutil.Error:  # it has just ended
            continue
    return size


async def visit(url: str, number: int, seed: int, visits: Visits) -> None:
    """Open one page after the other until cancelled."""
    chance = random.Random(seed * 1000 + number)
    address = f"203.0.113.{number + 1}"
    await asyncio.sleep(chance.uniform(0, 60))
    while True:
        page = Session(url, chance.choice(PAGES), visitor=address)
        try:
            if chance.random() < RUN_SHARE:
                await asyncio.to_thread(start_run, url, chance.randrange(10**6), address, visits)
            await page.stay(chance.uniform(*STAY_SECONDS))
        except (OSError, TimeoutError, WebSocketException, KeyError) as error:
            visits.errors[repr(error)] += 1
            continue
        visits.pages += 1
        visits.errors.update(page.errors)
        if page.ready.is_set():
            visits.seconds.append(page.ready_seconds)
        else:
            visits.errors["a page was not drawn"] += 1


def start_run(url: str, seed: int, address: str, visits: Visits) -> None:
    """Press the button of the page Run, where it can be pressed."""
    query = f"dataset=synthetic&algorithm=popular&seed={seed}"
    port = int(url.rpartition(":")[2])
    with Stranger(port, page="run", query=query, address=address) as tab:
        if "Start" in tab.buttons:
            tab.run("Start")
            visits.runs += 1


async def watch(dashboard: psutil.Process, minutes: int, visits: Visits) -> int:
    """Print the memory once a minute, and give the most bytes of any second moment."""
    most = 0
    for minute in range(1, minutes + 1):
        of_minute = 0
        for _ in range(30):
            of_minute = max(of_minute, memory(dashboard))
            await asyncio.sleep(2)
        most = max(most, of_minute)
        print(
            f"minute {minute}: {of_minute / MEGABYTE:.0f} MB, {visits.pages} pages, "
            f"{visits.runs} runs, errors: {dict(visits.errors)}",
            flush=True,
        )
    return most


async def measure(options: argparse.Namespace, folder: Path) -> bool:
    """Whether memory and first page kept to their limits, and all pages were drawn."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    forget_files(options.python)
    begin = time.perf_counter()
    process = start(options.python, port, folder, options.group)
    try:
        await until_it_answers(url)
        first = Session(url)
        await first.stay(15)
        first_page = first.opened_at + first.ready_seconds - begin
        print(f"first page after {first_page:.1f} s", flush=True)
        visits = Visits()
        visitors = []
        for number in range(options.visitors):
            task = asyncio.create_task(visit(url, number, options.seed, visits))
            visitors.append(task)
        most = await watch(psutil.Process(process.pid), options.minutes, visits)
        for task in visitors:
            if task.done():  # an error that no visitor expects
                task.result()
            task.cancel()
    finally:
        process.kill()
        process.wait()
    print(f"most memory {most / MEGABYTE:.0f} MB; errors: {dict(visits.errors)}")
    if visits.seconds:
        median = statistics.median(visits.seconds)
        print(f"a page was drawn after {median:.2f} s (median), {max(visits.seconds):.2f} s (most)")
    kept = first_page <= FIRST_PAGE_SECONDS and most <= options.limit * MEGABYTE
    return kept and not visits.errors


def main() -> None:
    """Measure and print; exit code 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=1000, help="megabytes")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--group", type=Path, help="folder of a control group")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = asyncio.run(measure(options, Path(folder)))
    sys.exit(not kept)


if __name__ == "__main__":
    main()
