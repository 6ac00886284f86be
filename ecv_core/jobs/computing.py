"""A task computed: its folds trained and evaluated, the machine to itself, errors as sentences."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ecv_core.fold import run_fold
from ecv_core.jobs.machine import machine_for
from ecv_core.records.errors import EcvError, RunError, what_to_install
from ecv_core.records.run import FoldResult, Node, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.environment import hardware, host

log = logging.getLogger(__name__)

Results = Generator[tuple[int, FoldResult], None, None]
"""Place of the spec and its result, as soon as it is known."""
Compute = Callable[[Sequence[RunSpec], int, Progress], Results]
"""What an executor does with a task: (specs, fold index, progress) -> results."""


def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Train and evaluate a fold of one run, or of several that share work, metered.

    Args:
        specs: as of `Task.specs`.
        index: the held-out fold.
        progress: told every step; it may raise Cancelled.
    Raises: EcvError; any other error as a RunError that says what happened.
    """
    from ecv_core.fold import run_shared_fold
    from ecv_core.jobs.metering import meter_for

    meter = meter_for(specs[0])
    try:
        with machine_for(specs[0], progress):
            if len(specs) > 1:
                for place, result in run_shared_fold(specs, index, meter=meter, progress=progress):
                    alone = result.shared.alone_seconds if result.shared else 0.0
                    yield place, replace(result, node=node_here(alone))
                return
            result = run_fold(specs[0], index, meter=meter, progress=progress)
    except EcvError:
        raise
    except Exception as error:  # a stranger's exception may not survive the way to the driver
        if what_to_install(error) is None:
            log.exception("fold %d of %s failed", index, specs[0].algorithm)
        raise RunError(failure(error)) from None
    yield 0, replace(result, node=node_here(result.total_seconds))


def node_here(seconds: float) -> Node:
    """Where a fold was computed that has just ended, after so many seconds."""
    began = datetime.now(UTC) - timedelta(seconds=seconds)
    return Node(host=host(), hardware=hardware(), began_at=began)


class WorkerDied(RunError):
    """The process that computed a fold is gone."""

    def __init__(self, how: str) -> None:
        """Args: how: the signal, or its exit code."""
        self.how = how
        super().__init__(
            f"the worker process was killed ({how}) before the fold was done, most likely because "
            "memory ran out; finished folds are kept: close other programs or pick a smaller "
            "dataset or model, and resume"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return WorkerDied, (self.how,)


def failure(error: BaseException) -> str:
    """Why a run failed, as one sentence for its user."""
    if isinstance(error, EcvError):
        return str(error)
    if said := what_to_install(error):
        return said
    if isinstance(error, MemoryError) or re.search("not enough memory|out of memory", str(error)):
        return (
            "memory ran out in this fold; finished folds are kept: "
            "pick a smaller dataset or model, or a machine with more memory, and resume"
        )
    said = (
        f"an error nobody expected ended this run ({type(error).__name__}: {error}); "
        "finished folds are kept, and the program's log has the details"
    )
    return str(RunError(said))  # one line that every database takes
