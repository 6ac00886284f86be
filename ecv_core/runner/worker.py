"""What computes folds: a worker process that can be killed, or this very process."""

from __future__ import annotations

import getpass
import importlib
import logging
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from ecv_core.errors import EcvError, RunError, StoreError
from ecv_core.fold import run_fold
from ecv_core.records import FoldResult, Progress, RunSpec, no_progress
from ecv_core.store import Store, open_store

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.25
"""In-fold progress is written to the database at most this often."""
ORPHAN_SECONDS = 1.0
"""How often the worker looks whether its dashboard is still there."""
WORKER_NICENESS = 10
"""The dashboard goes first: on a small machine a fit would otherwise delay every click."""


def work(
    database_url: str, run_id: str, spec: RunSpec, index: int, also: Progress = no_progress
) -> FoldResult:
    """Run one fold, metered, and write where it is to the database as it goes on.

    Args:
        database_url: where progress goes; "" for nowhere.
        run_id: whose progress it is.
        spec: the run.
        index: the held-out fold.
        also: told every step too; it may raise Cancelled.
    """
    from ecv_core.energy import meter_for

    with _told(database_url, run_id, index, also) as report, machine_alone(report):
        try:
            return run_fold(spec, index, meter=meter_for(spec), progress=report)
        except EcvError:
            raise
        except Exception as error:  # a stranger's exception may not survive the way to the parent
            log.exception("fold %d of run %s failed", index, run_id)
            raise RunError(failure(error)) from None


def work_shared(
    database_url: str,
    run_ids: Sequence[str],
    specs: Sequence[RunSpec],
    index: int,
    also: Progress = no_progress,
) -> Generator[tuple[int, FoldResult], None, None]:
    """As `work`, of one fold of several runs that share work; see `shared_fold.run_shared_fold`.

    Progress is that of the first run.
    """
    from ecv_core.energy import meter_for
    from ecv_core.shared_fold import run_shared_fold

    with _told(database_url, run_ids[0], index, also) as report, machine_alone(report):
        try:
            yield from run_shared_fold(specs, index, meter=meter_for(specs[0]), progress=report)
        except EcvError:
            raise
        except Exception as error:
            log.exception("fold %d of runs %s failed", index, ", ".join(run_ids))
            raise RunError(failure(error)) from None


_News = tuple[str, int, int, Sequence[float]]


@contextmanager
def _told(database_url: str, run_id: str, index: int, also: Progress) -> Iterator[Progress]:
    """Progress that a thread of its own writes to the database: no fold ever waits for it."""
    if not database_url:
        yield also
        return
    store = _store(database_url)
    news: list[_News] = []
    arrived, closing = threading.Event(), threading.Event()

    def write() -> None:
        while not closing.is_set() or news:
            arrived.wait()
            arrived.clear()
            latest, news[:] = news[-1:], []
            for one in latest:
                try:
                    store.set_progress(run_id, index, *one)
                except StoreError as error:
                    log.warning("progress was not written: %s", error)  # a fold is worth more
            closing.wait(PROGRESS_SECONDS)

    def report(phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()) -> None:
        also(phase, step, steps, curve=curve)
        news.append((phase, step, steps, curve))
        arrived.set()

    writer = threading.Thread(target=write, name="ecv-progress", daemon=True)
    writer.start()
    try:
        yield report
    finally:
        news.clear()  # the fold itself comes next
        closing.set()
        arrived.set()
        writer.join()


@lru_cache(maxsize=1)
def _store(url: str) -> Store:
    """The database of the last fold, open still."""
    return open_store(url)


@contextmanager
def machine_alone(report: Progress) -> Iterator[None]:
    """Have the machine alone: meters measure all of it, so two folds at once would count twice.

    A lock that cannot be had at all, such as a file of somebody else, is no reason to fail. Who has
    it already, as the body of a tracked loop that evaluates something, need not wait for itself.
    """
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    path = Path(tempfile.gettempdir()) / f"ecv-fold-{user}.lock"
    machine = FileLock(path, is_singleton=True)
    held = False
    try:
        while not held:
            try:
                machine.acquire(timeout=PROGRESS_SECONDS)
                held = True
            except Timeout:
                report("wait for another program's fold", 0, 0)
            except OSError as error:
                log.warning("folds of other programs are not waited for: %s", error)
                break
        yield
    finally:
        if held:
            machine.release()


def prepare_worker(parent: int) -> None:
    """Let the worker yield to the dashboard, end when it does, and leave signals to it.

    Args:
        parent: the dashboard's process, which may be gone already by the time this one is ready.
    """
    psutil.Process().nice(WORKER_NICENESS)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # they may be sent to the whole group
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os._exit(1)


def warm_up() -> None:
    """Import what folds need and let the meter find its hardware, before anyone waits for it."""
    for module in ("torch", "lenskit.als"):
        importlib.import_module(module)
    from ecv_core.energy import CodeCarbonMeter

    meter = CodeCarbonMeter("DEU")  # CodeCarbon keeps what it finds for all meters of the process
    meter.start()
    meter.stop()


class InProcess(Executor):
    """An executor that works here and now: for the command line."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Call the function and give its outcome as a finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  the future carries it to whoever asks
            future.set_exception(error)
        return future


class Worker:
    """One worker process, started when it is first needed; killed when it has to stop."""

    def __init__(self) -> None:
        """Nothing starts yet. Kill it before the program ends, which would wait for its fold."""
        self._executor: Executor | None = None
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], *args: object) -> Future[Any]:
        """Give the process something to do; a new process if the last one is gone."""
        try:
            return self._running().submit(fn, *args)
        except BrokenExecutor:  # it died while it was idle
            self.kill()
            return self._running().submit(fn, *args)

    def _running(self) -> Executor:
        from loky import ProcessPoolExecutor

        with self._lock:
            if self._executor is None:
                self._executor = ProcessPoolExecutor(
                    max_workers=1, initializer=prepare_worker, initargs=(os.getpid(),)
                )
            return self._executor

    def kill(self) -> None:
        """End the process now; the next submit starts another."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]  # loky's


def failure(error: BaseException) -> str:
    """Why a run failed, as one sentence for its user."""
    if isinstance(error, EcvError):
        return str(error)
    if isinstance(error, BrokenExecutor):
        name = re.search(r"SIG[A-Z]+", str(error))
        return (
            f"the worker process was killed ({name[0] if name else 'no signal known'}) before "
            "the fold was done, most likely because memory ran out; finished folds are kept: close "
            "other programs or pick a smaller dataset or model, and resume"
        )
    if isinstance(error, MemoryError) or re.search("not enough memory|out of memory", str(error)):
        return (
            "memory ran out in this fold; finished folds are kept: "
            "pick a smaller dataset or model, or a machine with more memory, and resume"
        )
    return (
        f"an error nobody expected ended this run ({type(error).__name__}: {error}); "
        "finished folds are kept, and the program's log has the details"
    )
