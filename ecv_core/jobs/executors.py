"""What computes tasks: the fold itself, in this very process, or in worker processes.

An executor knows nothing of plans, runs or the database. Another one (many cores, a cluster) is a
class with these four methods.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import IO, Any, NamedTuple, Protocol

import psutil

from ecv_core.energy.load import works_for
from ecv_core.fold.computing import run_fold
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.errors import EcvError, RunError, Terminated, what_to_install
from ecv_core.records.run import FoldResult, Node, Progress, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.environment import hardware, host
from ecv_core.untrusted.bounded import ending, start_python, take_standard_output, write_message

log = logging.getLogger(__name__)

Results = Generator[tuple[int, FoldResult], None, None]
"""The index of a spec in its task, and its result, as soon as it is known."""
Compute = Callable[[Sequence[RunSpec], int, Progress], Results]
"""What an executor does with a task: (specs, fold index, progress) -> results."""


def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Train and evaluate a fold of one run, or of several that share work, metered.

    Args:
        specs: As of `FoldTask.specs`.
        progress: Told every step; it may raise Cancelled.

    Raises:
        EcvError; any other error as a RunError that says what happened.
    """
    from ecv_core.energy.real_meters import meter_for
    from ecv_core.fold.computing import run_shared_fold

    meter = meter_for(specs[0])
    try:
        with machine_for(specs[0], progress):
            if len(specs) > 1:
                results = run_shared_fold(specs, index, meter=meter, progress=progress)
                for spec_index, result in results:
                    yield spec_index, _with_node(result)
                return
            result = run_fold(specs[0], index, meter=meter, progress=progress)
    # These errors say all that is to be known, or end this program.
    except (EcvError, KeyboardInterrupt, Terminated, GeneratorExit):
        raise
    except BaseException as error:
        # An exception of foreign code may not survive the way to the driver's process.
        if what_to_install(error) is None:
            log.exception("fold %d of %s failed", index, specs[0].algorithm)
        raise RunError(failure_sentence(error)) from None
    # The machine is given back before whoever asked takes the result.
    yield 0, _with_node(result)


def _with_node(result: FoldResult) -> FoldResult:
    """A result that has just come, with where it was computed and since when."""
    seconds = result.total_seconds
    # Where configurations shared their work, the seconds above are only a part of the time.
    if result.shared is not None:
        seconds = result.shared.alone_seconds
    return replace(result, node=node_here(seconds))


def node_here(seconds: float) -> Node:
    """Where a fold was computed that has just ended, after so many seconds."""
    began = datetime.now(UTC) - timedelta(seconds=seconds)
    return Node(host=host(), hardware=hardware(), began_at=began)


class WorkerDied(RunError):
    """The process that computed a fold is gone.

    It is made with how it ended: the signal, or its exit code.
    """

    def __str__(self) -> str:
        return (
            f"the worker process was killed ({super().__str__()}) before the fold was done, most "
            "likely because memory ran out; finished folds are kept: close other programs or pick "
            "a smaller dataset or model, and resume"
        )


class WrongAnswer(RunError):
    """Whoever computes a task has answered with what cannot be a fold of it.

    It is made with who has answered, and what is wrong with it.
    """

    def __str__(self) -> str:
        return (
            f"{super().__str__()}; finished folds are kept: check the program that computes them, "
            "then resume"
        )


def portable(error: Exception) -> EcvError:
    """An error that any other process of ours can read: its own class may be unknown there."""
    if isinstance(error, EcvError) and type(error).__module__.startswith("ecv_core."):
        return error
    return RunError(failure_sentence(error))


def failure_sentence(error: BaseException) -> str:
    """Why a run failed, in a sentence for its user."""
    if isinstance(error, EcvError):
        return str(error)
    install = what_to_install(error)
    if install is not None:
        return install
    if isinstance(error, MemoryError) or re.search("not enough memory|out of memory", str(error)):
        memory = "memory"
        way_out = "a machine with more memory"
        if "CUDA" in str(error):
            memory = "the GPU's memory"
            way_out = "the processor, with CUDA_VISIBLE_DEVICES= (empty)"
        return (
            f"{memory} ran out in this fold; finished folds are kept: "
            f"pick a smaller dataset or model, or {way_out}, and resume"
        )
    sentence = (
        f"an unexpected error ended this run ({type(error).__name__}: {error}); "
        "finished folds are kept, and the program's log has the details"
    )
    # `RunError` makes the sentence one line of signs that every database takes.
    return str(RunError(sentence))


PROGRESS_SECONDS = 0.25
"""How often a worker tells of steps, at most; another phase it tells at once."""
NICENESS = 2
"""Of a dashboard's workers: a page that is clicked on comes first. Beside one program of others a
fit gets two fifths of a core by Linux's weights; with 10 it would get a tenth."""


THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""What the libraries of the models take their number of threads from."""


def share_of_cores(process_count: int) -> dict[str, str]:
    """Environment variables that give each of these processes its share; what is set stays."""
    threads = max(1, (os.cpu_count() or 1) // process_count)
    return {name: os.environ.get(name, str(threads)) for name in THREAD_VARIABLES}


START_SECONDS = 2.0
"""For so long after the first task there is one process: each loads models for itself."""
_PROGRAM = "from ecv_core.jobs.executors import work; work({})"
_WARM_UP = None
"""To a worker, instead of a task."""


@dataclass(frozen=True, kw_only=True)
class Computed:
    """One result of a task; there may be more."""

    task: FoldTask
    spec_index: int
    """Of the spec in `task.specs` that it is of."""
    result: FoldResult


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A node of a cluster has begun with a task."""

    task: FoldTask
    node: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Nothing more comes of this task."""

    task: FoldTask
    error: Exception | None = None


Finished = Generator[Begun | Computed | Ended, None, None]
"""What has come of tasks, in the order in which it came."""


class Executor(Protocol):
    """Computes tasks somewhere."""

    @property
    def capacity(self) -> int:
        """How many tasks it computes at once."""

    def submit(self, task: FoldTask, progress: Progress) -> None:
        """Begin with a task, or have it wait until another has ended.

        Args:
            progress: Told where it is, from any thread; it must return at once.
        """

    def finished(self, seconds: float) -> Finished:
        """What has come of the tasks since the last call; waits at most so long for the first."""

    def cancel(self, task: FoldTask) -> None:
        """End it now; nothing more is told of it."""

    def close(self) -> None:
        """End everything."""


class Here:
    """Computes in the thread that asks what is finished: for the command line and notebooks."""

    capacity = 1

    def __init__(self, compute: Compute = compute) -> None:
        self._compute = compute
        self._waiting: dict[FoldTask, Progress] = {}

    def submit(self, task: FoldTask, progress: Progress) -> None:
        self._waiting[task] = progress

    def finished(self, seconds: float) -> Finished:
        """Computes; what the caller does with a result comes before the next one is computed."""
        while self._waiting:
            task = next(iter(self._waiting))
            progress = self._waiting.pop(task)
            error: Exception | None = None
            with closing(self._compute(task.specs, task.fold, progress)) as results:
                try:
                    for spec_index, result in results:
                        yield Computed(task=task, spec_index=spec_index, result=result)
                except Exception as raised:  # noqa: BLE001  the driver says what it means
                    error = raised
            yield Ended(task=task, error=error)

    def cancel(self, task: FoldTask) -> None:
        """What has begun is over when this can be called."""
        self._waiting.pop(task, None)

    def close(self) -> None:
        self._waiting.clear()


# What a worker process writes.


class _Step(NamedTuple):
    """Where the task is."""

    phase: str
    step: int
    steps: int


class _Result(NamedTuple):
    """A result of the task, and the index of its spec."""

    spec_index: int
    result: FoldResult


class _End(NamedTuple):
    """Nothing more comes of the task."""

    error: Exception | None
    process_is_gone: bool = False


@dataclass(eq=False)
class _Process:
    """One worker process, and what it computes."""

    popen: subprocess.Popen[bytes]
    task: FoldTask | None = None
    progress: Progress = no_progress

    def begin(self, compute: Compute, task: FoldTask, progress: Progress) -> None:
        self.task = task
        self.progress = progress
        self.send((compute, task.specs, task.fold))

    def send(self, message: object) -> None:
        # `start_python` makes a pipe of standard input, as of standard output.
        assert self.popen.stdin is not None
        write_message(self.popen.stdin, message)


class Workers:
    """One process, or several, started when they are first needed; killed when they have to stop.

    A process reads tasks from its standard input and writes what comes of them to its standard
    output. When this program dies its input ends, and so does it.
    """

    def __init__(
        self, compute: Compute = compute, *, max_processes: int = 1, niceness: int = NICENESS
    ) -> None:
        """Nothing starts yet.

        Args:
            compute: A function of a module, done with each task.
            max_processes: How many compute at once; they share the cores, and cannot be metered
                where there are several.
        """
        self.compute = compute
        """May change from task to task."""
        self.environment: dict[str, str] = {}
        """Variables beside those of this process, for processes that start from now on."""
        if max_processes > 1:
            self.environment = share_of_cores(max_processes)
        self._max_processes = max_processes
        self._niceness = niceness
        self._largest_bytes = 0
        """Memory that a process has had at most."""
        self._first_submitted_at: float | None = None
        """When the first task was submitted, on the clock of `time.monotonic`."""
        self._processes_lock = threading.Lock()
        self._processes: list[_Process] = []
        self._messages: queue.SimpleQueue[tuple[_Process, _Result | _End]] = queue.SimpleQueue()

    @property
    def capacity(self) -> int:
        """One at first, then as many as processes; no more than are busy where memory is short."""
        if self._max_processes == 1 or self._first_submitted_at is None:
            return 1
        # Each process loads the models for itself, which pays only for work that goes on.
        if time.monotonic() - self._first_submitted_at < START_SECONDS:
            return 1
        busy = [process for process in self._processes if process.task is not None]
        # The largest memory is remembered: one more process may come to need as much.
        for process in busy:
            with suppress(psutil.Error):  # The process may have ended by now.
                used_bytes = psutil.Process(process.popen.pid).memory_info().rss
                self._largest_bytes = max(self._largest_bytes, used_bytes)
        has_memory_for_one_more = psutil.virtual_memory().available > self._largest_bytes
        if has_memory_for_one_more:
            return self._max_processes
        return max(1, min(self._max_processes, len(busy)))

    def warm_up(self) -> None:
        """Start a process, so that the first fold does not wait for it."""
        if not self._processes:
            self._idle_process()

    def submit(self, task: FoldTask, progress: Progress) -> None:
        """Give a process something to do; a new one if none is free, or the last one is gone."""
        self._first_submitted_at = self._first_submitted_at or time.monotonic()
        try:
            self._idle_process().begin(self.compute, task, progress)
        except (OSError, ValueError):
            # The process has died while it was idle, and its input may be closed already.
            self.cancel(task)  # The dead process no longer has the task.
            self._idle_process().begin(self.compute, task, progress)

    def finished(self, seconds: float) -> Finished:
        end = time.monotonic() + seconds
        while any(process.task is not None for process in self._processes):
            try:
                process, message = self._messages.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            task = process.task
            if task is None:
                continue  # The task was cancelled, and its process killed.
            if isinstance(message, _Result):
                yield Computed(task=task, spec_index=message.spec_index, result=message.result)
                continue
            process.task = None
            if message.process_is_gone:
                self._kill(process)
                # Memory has most likely run out, so fewer compute at once from now on.
                self._max_processes = max(1, self._max_processes - 1)
            yield Ended(task=task, error=message.error)

    def cancel(self, task: FoldTask) -> None:
        """Kill its process; the next submit starts another."""
        for process in list(self._processes):
            if process.task == task:
                self._kill(process)

    def close(self) -> None:
        for process in list(self._processes):
            self._kill(process)

    def _idle_process(self) -> _Process:
        """A process that computes nothing; started where there is none."""
        with self._processes_lock:
            for process in list(self._processes):
                if process.task is None:
                    if process.popen.poll() is None:
                        return process
                    self._processes.remove(process)
            process = _Process(start_python(_PROGRAM.format(self._niceness), self.environment))
            self._processes.append(process)
            if self.compute is compute and self._max_processes == 1:
                # Warming up loads the libraries and the meter of the usual computation before any
                # task, so that no fold's time counts it.
                process.send(_WARM_UP)
            threading.Thread(
                target=self._read_messages, args=(process,), name="ecv-worker", daemon=True
            ).start()
            return process

    def _read_messages(self, process: _Process) -> None:
        """In a thread: pass on what a process writes, until it ends."""
        popen = process.popen
        # `start_python` makes pipes of both.
        assert popen.stdout is not None
        assert popen.stdin is not None
        try:
            while True:
                message = pickle.load(popen.stdout)
                if not isinstance(message, _Step):
                    self._messages.put((process, message))
                elif process.task is not None:
                    process.progress(*message)
        except (EOFError, pickle.UnpicklingError):
            # The process has ended, between two messages or in the middle of one.
            error: RunError = WorkerDied(ending(popen.wait()))
        except (Exception, SystemExit) as raised:
            # SystemExit is caught too, as it would end the thread in silence.
            log.exception("the answer of a worker process cannot be read")
            popen.kill()
            popen.wait()
            error = WrongAnswer(
                "the answer of the worker process cannot be read "
                f"({type(raised).__name__}: {raised})"
            )
        self._messages.put((process, _End(error, process_is_gone=True)))
        popen.stdout.close()
        with suppress(OSError):
            # Closing the pipe writes what the process has not read, and fails now that it is gone.
            popen.stdin.close()

    def _kill(self, process: _Process) -> None:
        """Kill a process and its children."""
        with self._processes_lock:
            if process in self._processes:
                self._processes.remove(process)
        process.task = None
        with suppress(psutil.Error):
            for child in psutil.Process(process.popen.pid).children(recursive=True):
                child.kill()
        process.popen.kill()
        process.popen.wait()


def unmetered_workers(compute: Compute, *, niceness: int = 0) -> Workers:
    """For folds that no meter looks at: as many at once as there are cores."""
    return Workers(compute, max_processes=os.cpu_count() or 1, niceness=niceness)


def work(niceness: int) -> None:
    """In the worker process: compute the tasks that standard input says, one after the other.

    The process ends when standard input does, once the program is gone: see `_receive_tasks`.
    """
    output_pipe = take_standard_output()
    input_pipe = _take_standard_input()
    _lower_priority(niceness)
    _ignore_signals()
    program = psutil.Process().parent()
    if program is not None:
        # What the program itself uses does not count as load of others then.
        works_for(program)

    def report(phase: str, step: int, steps: int) -> None:
        write_message(output_pipe, _Step(phase, step, steps))

    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive_tasks, args=(input_pipe, tasks), daemon=True).start()
    while True:
        task = tasks.get()
        if task is _WARM_UP:
            warm_up()
            continue
        compute_task, specs, fold = task  # `_Process.begin` has sent it.
        error: Exception | None = None
        try:
            results = compute_task(specs, fold, Throttled(report, PROGRESS_SECONDS))
            for spec_index, result in results:
                write_message(output_pipe, _Result(spec_index, result))
        except Exception as raised:  # noqa: BLE001  the driver says what it means
            error = portable(raised)
        write_message(output_pipe, _End(error))


def _take_standard_input() -> IO[bytes]:
    """Standard input, for tasks alone: whoever else reads it finds its end at once.

    On Windows, a library that looks at standard input as it is loaded would wait for whoever reads
    it, as the thread that receives tasks always does.
    """
    standard_input = 0
    # The pipe stays open under another number, and an empty file takes its own.
    input_pipe = os.fdopen(os.dup(standard_input), "rb")
    empty_file = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty_file, standard_input)
    os.close(empty_file)
    return input_pipe


def _lower_priority(niceness: int) -> None:
    """Raise the niceness to this one; only root may lower one that is higher.

    Windows has classes of priority instead: one below the normal is taken.
    """
    if sys.platform == "win32":
        if niceness > 0:
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    niceness_now = os.nice(0)
    os.nice(max(niceness - niceness_now, 0))


def _ignore_signals() -> None:
    """Ignore what a terminal sends to all processes of a program: the program ends its workers."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _receive_tasks(input_pipe: IO[bytes], tasks: queue.SimpleQueue[Any]) -> None:
    """In a thread: queue the tasks that come, and end the process when no more can come."""
    try:
        while True:
            tasks.put(pickle.load(input_pipe))
    except (EOFError, OSError):
        pass  # The program that this process works for is gone.
    except Exception:
        log.exception("the task of a worker process cannot be read")
    finally:
        os._exit(1)


class Throttled:
    """Progress, not more of it than anybody looks at: another phase at once, steps now and then."""

    def __init__(
        self, report: Callable[[str, int, int], object], seconds_between_steps: float
    ) -> None:
        """Nothing is reported yet.

        Args:
            report: Called with what is passed on.
            seconds_between_steps: Between two steps that are passed on, at least.
        """
        self._report = report
        self._seconds_between_steps = seconds_between_steps
        self._phase = ""
        self._reported_at = 0.0

    def __call__(self, phase: str, step: int, steps: int, /) -> None:
        now = time.monotonic()
        if phase != self._phase or now - self._reported_at >= self._seconds_between_steps:
            self._phase = phase
            self._reported_at = now
            self._report(phase, step, steps)


def warm_up() -> None:
    """Import what folds need and let the meter find its hardware, before anyone waits for it.

    Where PyTorch is not installed, the models that need it say so, and all others work.
    """
    if find_spec("torch") is not None:
        import torch  # noqa: F401  it takes seconds, and stays loaded for the folds

    from ecv_core.energy.meter import CodeCarbonMeter

    # CodeCarbon keeps the hardware that it finds for all meters of the process; the country of this
    # one does not matter, as its reading is thrown away.
    meter = CodeCarbonMeter("DEU")
    meter.start()
    meter.stop()
