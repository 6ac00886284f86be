"""Reading what people give, in a process whose memory and time are bounded.

A child is a fresh Python, so it takes a third of a second to start: what is small is read here. It
answers with a value or an error that can be pickled, and may tell how far it is. At most two of
them read at once, whoever asks.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import ecv_core.untrusted.limits as limits
from ecv_core.records.errors import EcvError, InputError
from ecv_core.untrusted.files import opened

log = logging.getLogger(__name__)

T = TypeVar("T")
Report = Callable[..., None]

_PLACES_FOR_CHILDREN = threading.BoundedSemaphore(2)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"PAR1")
"""How GZ, ZIP and Parquet begin."""
_ALLOCATOR_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own allocator, mimalloc, reserves far more address space than it uses, which counts
against the limit: a CSV of 40 MB was refused that takes 240 MB to read."""
_PROGRAM = "from ecv_core.untrusted.bounded import serve_task; serve_task()"
_DONE = "done"
_REFUSED = "refused"
_REPORT = "report"
_MEMORY = "memory"
_FAILED = "failed"
_DIED = "died"
_LATE = "late"


class _Task(NamedTuple):
    """What a child is to do; its fields are as the arguments of `run_in_child`."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    load_first: Callable[[], object] | None
    takes_report: bool
    """Whether the function is given a `Report` as its last argument."""
    megabytes: int
    """Of memory that it may take."""
    seconds: int
    """That it may take."""


class _Answer(NamedTuple):
    """What came of a task, or how far it is."""

    kind: str
    """_DONE, _REFUSED, ..."""
    value: Any = None
    """What the function returned; the error with which it refused; the arguments of a report; the
    traceback of a failure; how the process died."""


def is_small(path: Path) -> bool:
    """Whether a file is plain text of at most `untrusted.limits.READ_HERE_BYTES`.

    What cannot be read at all is small too: whoever reads it says why.
    """
    try:
        with opened(path) as file:
            is_packed = file.read(4).startswith(_PACKED)
            size = file.seek(0, os.SEEK_END)
    except OSError:
        return True
    return not is_packed and size <= limits.READ_HERE_BYTES


def read(
    function: Callable[..., T],
    path: Path,
    *arguments: object,
    error: type[InputError] = InputError,
    load_first: Callable[[], object] | None = None,
) -> T:
    """`function(path, *arguments)`, here for a small file, else as `run_in_child`."""
    if is_small(path):
        # A small file can do no harm, and a process of its own would take longer.
        return function(path, *arguments)
    what = f"the file {path.name}"
    size = os.path.getsize(path)
    return run_in_child(
        function, path, *arguments, what=what, size=size, error=error, load_first=load_first
    )


def run_in_child(
    function: Callable[..., T],
    *arguments: object,
    what: str,
    size: int = 0,
    error: type[InputError] = InputError,
    load_first: Callable[[], object] | None = None,
    report: Report | None = None,
) -> T:
    """Call a function of a module in a process of its own, within `max_read_mb` and `_seconds`.

    Args:
        function: With its arguments and its value it can be pickled.
        arguments: The arguments of the function.
        what: Is read, for messages: "the file x.csv".
        size: The size of the file, as it was given, in bytes; a larger one may take more memory.
        error: Raised where it cannot be read within the limits.
        load_first: Called first, for what the function needs and keeps: its memory does not count.
        report: Given to the function as its last argument, but called here; what it raises ends
            the reading.

    Raises:
        `error` beyond a limit, or where the process dies; else what the function raises, if it is
            an EcvError.
    """
    task = _Task(
        function=function,
        arguments=arguments,
        load_first=load_first,
        takes_report=report is not None,
        megabytes=limits.max_read_mb(size),
        seconds=limits.max_read_seconds(),
    )
    with _PLACES_FOR_CHILDREN:
        # Only few children at once share the memory.
        answer = _answer_of_child(task, report)
    if answer.kind == _LATE:
        raise error(
            f"{what} takes longer than {task.seconds:,} seconds to read; take a part of it "
            "(ECV_MAX_READ_SECONDS says how long)"
        )
    if answer.kind == _MEMORY:
        raise error(
            f"{what} needs more than {task.megabytes:,} MB of memory to read; take a part of it "
            "(ECV_MAX_READ_MB says how much)"
        )
    if answer.kind == _REFUSED:
        raise answer.value
    if answer.kind == _FAILED:
        log.error("reading %s failed: %s", what, answer.value)
        raise RuntimeError(f"reading {what} failed: {answer.value.splitlines()[-1]}")
    if answer.kind == _DIED:
        raise error(
            f"{what} ended the process that read it ({answer.value}): it is damaged, or needs "
            f"more than {task.megabytes:,} MB of memory; get it again, or take a part"
        )
    return answer.value


def _answer_of_child(task: _Task, report: Report | None) -> _Answer:
    """Start a child, give it the task, hand on its reports, and wait for what comes of it.

    Raises:
        What `report` raises, which ends the child.
    """
    is_late = threading.Event()
    # What a library says as it ends its process is not shown.
    with start_python(_PROGRAM, _ALLOCATOR_ENVIRONMENT, stderr=subprocess.DEVNULL) as process:
        # `start_python` makes pipes of both.
        assert process.stdin is not None
        assert process.stdout is not None

        def end() -> None:
            is_late.set()
            process.kill()

        clock = threading.Timer(task.seconds, end)
        clock.start()
        try:
            # A child that ends before it has read its task breaks the pipe, as the task is written
            # or as the pipe is closed. Then there is no answer to read below, and so it has died.
            with suppress(BrokenPipeError):
                pickle.dump(task, process.stdin)
            with suppress(BrokenPipeError):
                process.stdin.close()
            answer = _read_answer(process.stdout, report)
        except (EOFError, pickle.UnpicklingError):
            answer = _Answer(_DIED)
        finally:
            clock.cancel()
            process.kill()
    if is_late.is_set():
        return _Answer(_LATE)
    if answer.kind == _DIED:
        # The end of the `with` block has waited for the process, so that its exit code is known.
        return _Answer(_DIED, ending(process.returncode))
    return answer


def _read_answer(pipe: IO[bytes], report: Report | None) -> _Answer:
    """Hand on the reports of a child until its answer comes, and give that.

    Raises:
        EOFError, and pickle.UnpicklingError: Where the child has died before it or within it.
        What `report` raises.
    """
    while True:
        answer: _Answer = pickle.load(pipe)
        if answer.kind != _REPORT:
            return answer
        if report is not None:
            report(*answer.value)


def start_python(
    program: str, extra_environment: dict[str, str], *, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """A Python of its own that reads from and writes to this one.

    Args:
        program: Python; it may import what can be imported here.
        stderr: As of `subprocess.Popen`.
        extra_environment: What its environment has beside that of this process.
    """
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path} | extra_environment
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
    )


def ending(code: int) -> str:
    """How a process has ended, by its exit code: 'SIGKILL', 'exit code 1'."""
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit code {code}"


def serve_task() -> None:
    """In the child: do what standard input says, and write what came of it to standard output."""
    output_pipe = take_standard_output()
    task: _Task = pickle.load(sys.stdin.buffer)

    def tell(kind: str, value: object = None) -> None:
        write_message(output_pipe, _Answer(kind, value))

    def report(*step: object) -> None:
        tell(_REPORT, step)

    arguments = task.arguments
    if task.takes_report:
        arguments = (*arguments, report)
    try:
        if task.load_first is not None:
            # What is loaded before the limit is set does not count as memory that reading takes.
            task.load_first()
        _limit_this_process(task.megabytes, task.seconds)
        tell(_DONE, task.function(*arguments))
    except MemoryError:
        tell(_MEMORY)
    except EcvError as refusal:
        if _comes_from_lack_of_memory(refusal):
            tell(_MEMORY)
        else:
            tell(_REFUSED, refusal)
    except Exception:  # noqa: BLE001  the parent raises it
        tell(_FAILED, traceback.format_exc())
    # The process ends at once, as tidying up what was read would take time.
    os._exit(0)


def take_standard_output() -> IO[bytes]:
    """Standard output, for messages alone: what a library prints goes to standard error instead."""
    standard_output = 1
    standard_error = 2
    # The pipe stays open under another number, and standard error takes its own.
    output_pipe = os.fdopen(os.dup(standard_output), "wb")
    os.dup2(standard_error, standard_output)
    return output_pipe


def write_message(pipe: IO[bytes], message: object) -> None:
    """Write what can be pickled, so that whoever reads the pipe has it at once."""
    pickle.dump(message, pipe)
    pipe.flush()


def _comes_from_lack_of_memory(error: BaseException) -> bool:
    """Whether it was raised because memory ran out: Arrow says so as of any damage.

    Where there is no room for the stack of a thread, it says that the thread cannot begin.
    """
    cause: BaseException | None = error
    while cause is not None:
        lacks_thread = "Failed to launch worker thread" in str(cause)
        if lacks_thread or isinstance(cause, MemoryError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _limit_this_process(megabytes: int, seconds: int) -> None:
    """No more memory than this beside what is held already; no outliving of a parent that died."""
    try:
        import resource
    except ImportError:
        # Windows has no limits of this kind.
        return
    import psutil

    # On macOS psutil does not say what is held.
    held_bytes = getattr(psutil.Process().memory_info(), "data", 0)
    # The parent ends a child that takes too long. If the parent has died, this limit ends the
    # child. It is higher, because it counts the time of all processors, which several threads use
    # up faster than the clock goes.
    highest_values = {
        resource.RLIMIT_DATA: held_bytes + megabytes * limits.MEGABYTE,
        resource.RLIMIT_CPU: 4 * seconds + 60,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in highest_values.items():
        with suppress(ValueError, OSError):
            # A lower limit is in force already.
            resource.setrlimit(kind, (value, value))
