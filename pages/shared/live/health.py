"""Whether this dashboard works, and what it does, for those who leave it running.

`/healthz` answers 200, or 503 with what is wrong; `/metrics` is Prometheus' text format, and told
to this machine only where others than one person use the dashboard. systemd is told both that the
dashboard is ready and, again and again, that it is not stuck.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

import psutil
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ecv_core.access.settings import Mode, settings
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunState
from ecv_core.store.activity import Totals
from pages.shared.live.state import manager, store
from pages.shared.live.tabs import tabs

_PATIENCE_SECONDS = 10.0
"""For a database to answer."""
_HERE = ("127.0.0.1", "::1", "testclient")
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-real-ip")
"""Headers with which a proxy says for whom it asks."""
_M_ARENA_MAX = -8
"""Of mallopt(3): how many heaps there are."""
_GIVE_BACK_SECONDS = 20.0
_totals = Totals()
"""Of this process, which reads each fold once."""


async def healthz(_request: Request) -> Response:
    """200 and 'ok', or 503 and a sentence; it has no address and no name in it."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            problem = await asyncio.to_thread(_problem)
    except TimeoutError:
        problem = "The database has not answered in time."
    if problem:
        return PlainTextResponse(problem, 503)
    return PlainTextResponse("ok")


def _problem() -> str:
    """What is wrong with this dashboard, in a sentence; empty where it works."""
    try:
        settings()
        runner = manager()
        store().active()
    except EcvError:
        return "The database cannot be used, or a setting is invalid; the log says which."
    if not runner.alive:
        return "Nothing is computed any more: the thread that computes runs has ended."
    if runner.trouble:
        return "What is finished cannot be saved; the log says why."
    return ""


async def metrics(request: Request) -> Response:
    """Runs by state, queue, folds, their seconds, tabs, uploads, memory. 403 for other machines."""
    try:
        if settings().mode is not Mode.PRIVATE and not _is_of_this_machine(request):
            return PlainTextResponse("Only this machine may read these numbers.", 403)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            totals = await asyncio.to_thread(_totals.read, store())
    except (EcvError, TimeoutError):
        return PlainTextResponse("The database cannot be used; the log says why.", 503)
    by_state = {f'{{state="{state}"}}': totals.runs.get(state, 0) for state in RunState}
    # A family in Prometheus' format has labels -> number, and no labels where it is one number.
    families = [
        _family("runs", "gauge", "Runs by state.", by_state),
        _family("queue", "gauge", "Runs that wait.", {"": totals.runs.get(RunState.QUEUED, 0)}),
        _family("folds_total", "counter", "Folds that were finished.", {"": totals.folds}),
        _family("fold_seconds_total", "counter", "Seconds that they took.", {"": totals.seconds}),
        _family("sessions", "gauge", "Tabs that are open.", {"": len(tabs)}),
        _family("upload_bytes", "gauge", "Files that tabs hold.", {"": tabs.held_bytes}),
        _family("memory_bytes", "gauge", "Of the dashboard, and of its workers.", _memory()),
    ]
    return PlainTextResponse("".join(families), media_type="text/plain; version=0.0.4")


def _is_of_this_machine(request: Request) -> bool:
    """Whether a program of this machine asks, and no proxy of it for somebody else.

    What a proxy says of addresses is not believed: it may pass on what it was told.
    """
    for header in _OF_PROXIES:
        if header in request.headers:
            return False
    return request.client is not None and request.client.host in _HERE


def _family(name: str, kind: str, meaning: str, values: Mapping[str, float]) -> str:
    """The lines of one metric.

    Args:
        name: The name of the metric, without what all begin with.
        kind: 'gauge' or 'counter'.
        meaning: In a sentence.
        values: Labels, as Prometheus writes them -> the value.
    """
    lines = [f"# HELP ecv_{name} {meaning}\n# TYPE ecv_{name} {kind}\n"]
    for labels, value in values.items():
        lines.append(f"ecv_{name}{labels} {value:.15g}\n")
    return "".join(lines)


def _memory() -> dict[str, float]:
    """Bytes of the dashboard and of its workers, by their labels."""
    dashboard = psutil.Process()
    workers = 0
    for child in dashboard.children(recursive=True):
        try:
            workers += child.memory_info().rss
        except psutil.Error:  # the process has just ended
            continue
    return {
        '{process="dashboard"}': dashboard.memory_info().rss,
        '{process="workers"}': workers,
    }


async def give_back_memory() -> None:
    """Give the system what threads have freed; until it is cancelled, and with glibc alone.

    Each session draws in a thread of its own. glibc gives threads up to eight heaps for each
    processor, of which every one keeps what was freed in it; two hold half as much.
    """
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 2)
        trim = libc.malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    while True:
        await asyncio.sleep(_GIVE_BACK_SECONDS)
        await asyncio.to_thread(trim, 0)


async def tell_systemd() -> None:
    """Say that the server is ready, and that it is not stuck as often as it is asked to.

    A database that is away is waited for, and no reason to be started anew.
    """
    _notify("READY=1")
    # Systemd wants a sign of life at least this often.
    microseconds = int(os.environ.get("WATCHDOG_USEC", "0"))
    while microseconds:
        await asyncio.sleep(microseconds / 2e6)
        try:
            runner = await asyncio.to_thread(manager)
            alive = runner.alive
        except EcvError:
            alive = True
        if alive:
            _notify("WATCHDOG=1")


def _notify(message: str) -> None:
    """Send systemd a message, as sd_notify(3) does; nothing where no systemd listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket, whose name begins with a zero byte
        address = f"\0{address[1:]}"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.connect(address)
        systemd.sendall(message.encode())
