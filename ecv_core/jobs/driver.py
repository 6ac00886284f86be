"""The one loop that has folds computed: of a run, a study, a selection, a tuning, on any executor.

Every fold is committed before the executor goes on where it can wait, and however it ends the state
of each run says so.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing as closed_after
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

from ecv_core.jobs.answers import check_answer, missing_answer
from ecv_core.jobs.executors import (
    Begun,
    Computed,
    Ended,
    Executor,
    Here,
    WorkerDied,
    WrongAnswer,
    failure,
)
from ecv_core.jobs.heartbeat import signs_of_life
from ecv_core.jobs.plan import FoldTask, Plan, folds_of
from ecv_core.jobs.plan_runs import PlanRuns, ProgressWriter
from ecv_core.records.errors import (
    Cancelled,
    EcvError,
    RunError,
    StoreError,
    Terminated,
    shown,
)
from ecv_core.records.run import Progress, RunState, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import waiting_for_database
from ecv_core.store.ownership import GONE

log = logging.getLogger(__name__)

CANCEL_POLL_SECONDS = 0.2
BY_HAND = "it was stopped by hand, with Ctrl-C"
TRIES = 3
"""How often a fold is computed whose process dies, or whose answer cannot be this fold: memory may
be short only for a while, and another node may do better."""


def drive(
    plan: Plan,
    plan_runs: PlanRuns,
    executor: Executor | None = None,
    *,
    closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
    gives_way: bool = False,
) -> None:
    """Have a plan's folds computed until it is done, is cancelled, or a fold fails.

    Args:
        plan: says which folds come next.
        plan_runs: keeps them; its runs say how they ended, and `check_finished` raises what failed.
        executor: computes them; by default this very process, here and now.
        closing: whether this program is about to end; what goes is interrupted then.
        seconds: by the clock, that all folds of a run may take together, those that were cut off
            too; then it is cancelled. A worker's start and waiting for the machine do not count.
        gives_way: return as soon as none of the plan's runs is claimed, though it is not done, so
            that others who wait come first.
    Raises: KeyboardInterrupt, and Terminated while this program is not about to end anyway;
        InputError where the plan cannot go on, as where only other code can compute a fold;
        RunError and StoreError where something else than a fold fails, as saving one in the end;
        the folds of these runs are in a file of their own then, which the error names.
    """
    executor = executor or Here()
    with (
        signs_of_life(plan_runs.store),
        _ending(plan_runs, closing),
        waiting_for_database(plan_runs.callbacks.trouble),
        closed_after(ProgressWriter(plan_runs.store)) as writer,
    ):
        plan_runs.start()
        drive = _Drive(plan, plan_runs, executor, writer, closing, seconds)
        try:
            drive.to_its_end(gives_way=gives_way)
        finally:
            drive.cancel_rest()
        plan_runs.end(RunState.INTERRUPTED)
        plan_runs.check_kept()


class _UnderWay:
    """A task that the executor has, and how long."""

    def __init__(self, seconds: float, progress: Progress) -> None:
        """Nothing of it is done yet.

        Args:
            seconds: that it may take.
            progress: told every step.
        """
        self._seconds_allowed = seconds
        self._progress = progress
        self._began: float | None = None
        """When its first step began; None while it waits."""
        self._last_kept: float | None = None
        """When its newest result was kept, or it began."""
        self.answered: set[int] = set()
        """Places of the specs whose results are kept."""
        self.node = "a worker"
        """Which node computes it, for a sentence."""

    def report(self, phase: str, step: int, steps: int, /) -> None:
        """Pass a step on; the first one that is no waiting begins the task."""
        if self._began is None and not phase.startswith("wait"):
            self._began = time.monotonic()
            self._last_kept = self._began
        self._progress(phase, step, steps)

    def kept(self, place: int) -> None:
        """The result of the spec at this place is kept, with its seconds."""
        self.answered.add(place)
        self._last_kept = time.monotonic()

    def missing(self, task: FoldTask) -> tuple[RunSpec, ...]:
        """The specs of the task that have no result yet."""
        specs = []
        for place, spec in enumerate(task.specs):
            if place not in self.answered:
                specs.append(spec)
        return tuple(specs)

    @property
    def lost_seconds(self) -> float:
        """The seconds since its newest result, or since it began."""
        return _seconds_since(self._last_kept)

    @property
    def over(self) -> bool:
        """Whether it has had its time."""
        return _seconds_since(self._began) >= self._seconds_allowed


def _seconds_since(moment: float | None) -> float:
    if moment is None:
        return 0.0
    return time.monotonic() - moment


@dataclass
class _Drive:
    """What is under way of one plan."""

    _plan: Plan
    _plan_runs: PlanRuns
    _executor: Executor
    _writer: ProgressWriter
    _closing: Callable[[], bool]
    _seconds: float | None
    _begun: dict[FoldTask, _UnderWay] = field(default_factory=dict)
    _tries: Counter[tuple[RunSpec, int]] = field(default_factory=Counter)
    """How often folds were computed in vain."""

    def to_its_end(self, *, gives_way: bool) -> None:
        """Until nothing is left to do."""
        while True:
            self._check_goes_on()
            if self._begin_more():
                continue
            if not self._begun:
                break
            self._take_what_is_finished()
            if gives_way and not self._plan_runs.running:
                break

    def cancel_rest(self) -> None:
        """End what is still under way."""
        for task in list(self._begun):
            self._end(task)

    def _begin_more(self) -> bool:
        """Begin with the plan's next folds, if there is a free place; whether there were any."""
        free_places = self._executor.places - len(self._begun)
        if free_places <= 0:  # below 0 where a node has left
            return False
        tasks = list(islice(self._plan.next(self._plan_runs, tuple(self._begun)), free_places))
        for task in tasks:
            if not self._plan_runs.claim(task):
                return True  # its run has ended here: the plan is to see that
            if self._plan_runs.reuse(task):
                self._plan_runs.settle(task.specs, self._begun)
                self._drop_needless()
                return True
            self._begin(task)
        return bool(tasks)

    def _begin(self, task: FoldTask) -> None:
        """Give a task to the executor, unless it was cancelled or its run has had its time."""
        seconds = math.inf
        if self._seconds is not None:
            seconds = self._plan_runs.seconds_left(task, self._seconds)
        begun = _UnderWay(seconds, self._plan_runs.progress_of(task, self._writer))
        if self._may_go_on(task, begun):
            self._executor.submit(task, begun.report)
            self._begun[task] = begun

    def _take_what_is_finished(self) -> None:
        """Keep what has come of the tasks, then end those that were cancelled or take too long."""
        with closed_after(self._executor.finished(CANCEL_POLL_SECONDS)) as messages:
            for message in messages:
                if isinstance(message, Begun):
                    self._take_begin(message)
                elif isinstance(message, Computed):
                    self._take_result(message)
                elif message.task in self._begun:
                    self._take_end(message)
        cancelled = self._plan.independent and self._plan_runs.cancelled()
        for task, begun in list(self._begun.items()):
            if (cancelled or begun.over) and not self._may_go_on(task, begun):
                self._end(task)

    def _take_begin(self, message: Begun) -> None:
        """Note which node has begun with a task."""
        node = shown(message.node)
        if message.task in self._begun:
            self._begun[message.task].node = f"the node {node}"
        self._plan_runs.begin_on(message.task, node)

    def _take_result(self, computed: Computed) -> None:
        """Keep a result; one that cannot be of its task ends this try of it."""
        begun = self._begun.get(computed.task)
        if begun is None:  # nobody needs it any more, and it is kept all the same
            begun = _UnderWay(math.inf, no_progress)
        try:
            check_answer(computed, begun.answered, begun.node)
        except WrongAnswer as error:
            if computed.task in self._begun:
                self._end(computed.task)
                self._count_try(computed.task, begun, error)
                self._drop_needless()
            return
        self._writer.forget()
        self._plan_runs.commit(computed.task, computed.place, computed.result)
        begun.kept(computed.place)
        self._check_goes_on()

    def _drop_needless(self) -> None:
        """End what the plan no longer wants, by what is known now; and what has failed already."""
        wanted_folds: set[tuple[RunSpec, int]] = set()
        if any(task.bet for task in self._begun):
            wanted_folds = folds_of(self._plan.next(self._plan_runs, ()))
        for task in list(self._begun):
            is_needless = task.bet and wanted_folds.isdisjoint(task.folds)
            if is_needless or all(self._plan_runs.ended(spec) for spec in task.specs):
                self._end(task)
                self._plan_runs.forgo(task, self._begun)

    def _end(self, task: FoldTask) -> None:
        """End a task that is under way; what it has taken so far counts all the same."""
        self._executor.cancel(task)
        self._plan_runs.lose(task, self._begun.pop(task).lost_seconds)

    def _take_end(self, ended: Ended) -> None:
        """Finish the runs of a task that has ended, or do what its error asks for.

        Raises: Terminated; Cancelled where the whole plan ends with the task.
        """
        begun = self._begun.pop(ended.task)
        error = ended.error
        missing = begun.missing(ended.task)
        if error is None and missing:
            error = missing_answer(missing, ended.task, begun.node)
        if error is None:
            self._plan_runs.settle(ended.task.specs, self._begun)
            self._drop_needless()
            return
        self._plan_runs.lose(ended.task, begun.lost_seconds)
        if self._closing():  # the worker has ended with this program
            raise Terminated
        elif isinstance(error, Cancelled):
            self._cancel(ended.task, error)
        elif isinstance(error, WorkerDied | WrongAnswer):
            self._count_try(ended.task, begun, error)
        else:
            if not isinstance(error, EcvError):
                log.error("fold %d failed", ended.task.fold, exc_info=error)
            self._plan_runs.end(RunState.FAILED, failure(error), ended.task.specs)
        self._drop_needless()

    def _count_try(self, task: FoldTask, begun: _UnderWay, error: RunError) -> None:
        """Note that folds were computed in vain; after the last try their runs end."""
        log.warning("fold %d: %s", task.fold, error)
        specs = begun.missing(task)
        if not specs:  # what went wrong came after the last result
            self._plan_runs.settle(task.specs, self._begun)
            return
        folds = FoldTask(specs=specs, fold=task.fold).folds
        self._tries.update(folds)
        if max(self._tries[fold] for fold in folds) >= TRIES:  # else the plan gives them again
            why = f"{TRIES} times in a row {error}"
            self._plan_runs.end(RunState.INTERRUPTED, why, specs)

    def _check_goes_on(self) -> None:
        """Raises: Terminated where this program ends, Cancelled where the whole plan was."""
        if self._closing():
            raise Terminated
        if not self._plan.independent and self._plan_runs.cancelled():
            raise Cancelled

    def _may_go_on(self, task: FoldTask, begun: _UnderWay) -> bool:
        """Whether nobody has cancelled the task, and it has time left; else its runs end."""
        if self._plan.independent and self._plan_runs.cancelled(task.specs):
            self._cancel(task, Cancelled())
        elif begun.over:
            self._cancel(
                task,
                Cancelled(
                    f"a run may take {self._seconds:g} s here, and this run has taken that long"
                ),
            )
        else:
            return True
        return False

    def _cancel(self, task: FoldTask, cancelled: Cancelled) -> None:
        """Cancel the runs of a task. Raises: the error, where the whole plan ends with them."""
        if not self._plan.independent:
            raise cancelled
        self._plan_runs.end(RunState.CANCELLED, str(cancelled) or None, task.specs)


@contextmanager
def _ending(plan_runs: PlanRuns, closing: Callable[[], bool]) -> Iterator[None]:
    """However the block ends, whoever looks at the runs is told. Raises: as `drive`."""
    try:
        yield
    except Cancelled as error:
        plan_runs.end(RunState.CANCELLED, str(error) or None)
    except KeyboardInterrupt:
        plan_runs.end(RunState.INTERRUPTED, BY_HAND)
        raise
    except Terminated:
        plan_runs.end(RunState.INTERRUPTED, GONE)
        if not closing():
            raise
    except Exception as error:  # noqa: BLE001  it is raised again, or the program ends anyway
        _end_after(error, plan_runs, closing)


def _end_after(error: Exception, plan_runs: PlanRuns, closing: Callable[[], bool]) -> None:
    """Keep the folds that an error would lose, and have the runs say why they ended.

    Raises: EcvError, unless this program is about to end: the error itself, where its folds are
        now, or what happened.
    """
    if isinstance(error, StoreError | RunError):
        rescued = plan_runs.rescue(error)
        if rescued is not None:
            with suppress(StoreError, RunError):
                plan_runs.end(RunState.FAILED, str(rescued))
            raise rescued from error
    if closing():
        plan_runs.end(RunState.INTERRUPTED, GONE)
        return
    plan_runs.end(RunState.FAILED, failure(error))
    if isinstance(error, EcvError):
        raise error
    log.error("a plan failed", exc_info=error)
    raise RunError(failure(error)) from error
