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
    failure_sentence,
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
    is_closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
    gives_way: bool = False,
) -> None:
    """Have a plan's folds computed until it is done, is cancelled, or a fold fails.

    Args:
        plan: Says which folds come next.
        plan_runs: Keeps them; its runs say how they ended, and `check_finished` raises what failed.
        executor: Computes them; by default this very process, here and now.
        is_closing: Whether this program is about to end; what goes is interrupted then.
        seconds: By the clock, that all folds of a run may take together, those that were cut off
            too; then it is cancelled. A worker's start and waiting for the machine do not count.
        gives_way: Return as soon as none of the plan's runs is claimed, though it is not done, so
            that others who wait come first.

    Raises:
        KeyboardInterrupt, and Terminated while this program is not about to end anyway.
        InputError: Where the plan cannot go on, as where only other code can compute a fold.
        RunError: And StoreError where something else than a fold fails, as saving one in the end;
            the folds of these runs are in a file of their own then, which the error names.
    """
    executor = executor or Here()
    # Whatever ends the block, signs of life are given until every run has its state; the thread
    # that writes progress ends first, so that it writes none of a run that has ended. Whoever has
    # given up waiting for a database does not wait once more before the folds are in a file.
    with (
        signs_of_life(plan_runs.store),
        waiting_for_database(None),
        _ending_runs(plan_runs, is_closing),
        waiting_for_database(plan_runs.tell_connection),
        closed_after(ProgressWriter(plan_runs.store)) as writer,
    ):
        plan_runs.start()
        drive_of_plan = _Drive(plan, plan_runs, executor, writer, is_closing, seconds)
        try:
            drive_of_plan.run_to_end(gives_way=gives_way)
        finally:
            drive_of_plan.cancel_submitted_tasks()
        plan_runs.end(RunState.INTERRUPTED)
        if not gives_way:
            plan_runs.leave_queue()
        plan_runs.check_stored()


class _Submission:
    """A task while the executor has it: what came of it, and how long it takes."""

    def __init__(self, seconds_allowed: float, progress: Progress) -> None:
        """Nothing of it is done yet.

        Args:
            seconds_allowed: The seconds that it may take.
            progress: Told every step.
        """
        self._seconds_allowed = seconds_allowed
        self._progress = progress
        self._began_at: float | None = None
        """When its first step began, by `time.monotonic`; None while it waits."""
        self._unkept_since: float | None = None
        """Since when its work is not kept: its newest result, or its beginning."""
        self.answered_indices: set[int] = set()
        """Indices of the specs whose results are kept."""
        self.node = "a worker"
        """Which node computes it, for a sentence."""

    def report(self, phase: str, step: int, steps: int, /) -> None:
        """Pass a step on; the first one that is no waiting begins the task."""
        if self._began_at is None and not phase.startswith("wait"):
            self._began_at = time.monotonic()
            self._unkept_since = self._began_at
        self._progress(phase, step, steps)

    def note_kept_result(self, spec_index: int) -> None:
        """The result of the spec with this index is kept, with its seconds."""
        self.answered_indices.add(spec_index)
        self._unkept_since = time.monotonic()

    def missing_specs(self, task: FoldTask) -> tuple[RunSpec, ...]:
        """The specs of the task that have no result yet."""
        specs = []
        for spec_index, spec in enumerate(task.specs):
            if spec_index not in self.answered_indices:
                specs.append(spec)
        return tuple(specs)

    @property
    def lost_seconds(self) -> float:
        """The seconds since its newest result, or since it began."""
        return _seconds_since(self._unkept_since)

    @property
    def is_out_of_time(self) -> bool:
        """Whether it has had its time."""
        return _seconds_since(self._began_at) >= self._seconds_allowed


def _seconds_since(time_before: float | None) -> float:
    """Seconds since a time of `time.monotonic`; 0 for None."""
    if time_before is None:
        return 0.0
    return time.monotonic() - time_before


@dataclass
class _Drive:
    """A plan, with those of its tasks that the executor has."""

    _plan: Plan
    _plan_runs: PlanRuns
    _executor: Executor
    _writer: ProgressWriter
    _is_closing: Callable[[], bool]
    _seconds_per_run: float | None
    _submissions: dict[FoldTask, _Submission] = field(default_factory=dict)
    """Of the tasks that the executor has."""
    _failed_tries: Counter[tuple[RunSpec, int]] = field(default_factory=Counter)
    """How often folds were computed in vain."""

    def run_to_end(self, *, gives_way: bool) -> None:
        """Until nothing is left to do."""
        while True:
            self._raise_if_ending()
            if self._begin_more():  # The plan may have more tasks now.
                continue
            if not self._submissions:
                break
            self._take_messages()
            # A plan that gives way ends here as soon as it has no run, so that others who wait in
            # the queue come first.
            if gives_way and not self._plan_runs.running:
                break

    def cancel_submitted_tasks(self) -> None:
        """End what the executor still has."""
        for task in list(self._submissions):
            self._cancel_task(task)

    def _begin_more(self) -> bool:
        """Begin with the plan's next folds, if there is a free place; whether to ask it again."""
        free_capacity = self._executor.capacity - len(self._submissions)
        if free_capacity <= 0:  # It is below 0 where a node has left.
            return False
        next_tasks = self._plan.next(self._plan_runs, tuple(self._submissions))
        tasks = list(islice(next_tasks, free_capacity))
        for task in tasks:
            # Where a run has ended, or has a fold more, the plan may want other tasks than these.
            if not self._plan_runs.claim(task):
                return True
            if self._plan_runs.reuse(task):
                # Another run has computed the fold already, and its result is used.
                self._plan_runs.finish_runs_without_missing_folds(task.specs, self._submissions)
                self._cancel_needless_tasks()
                return True
            self._begin(task)
        return bool(tasks)

    def _begin(self, task: FoldTask) -> None:
        """Give a task to the executor, unless it was cancelled or its run has had its time."""
        seconds_allowed = math.inf
        if self._seconds_per_run is not None:
            seconds_allowed = self._plan_runs.seconds_left(task, self._seconds_per_run)
        submission = _Submission(seconds_allowed, self._plan_runs.progress_of(task, self._writer))
        if not self._cancel_runs_if_due(task, submission):
            self._executor.submit(task, submission.report)
            self._submissions[task] = submission

    def _take_messages(self) -> None:
        """Keep what has come of the tasks, then end those that were cancelled or take too long."""
        with closed_after(self._executor.finished(CANCEL_POLL_SECONDS)) as messages:
            for message in messages:
                if isinstance(message, Begun):
                    self._take_begin(message)
                elif isinstance(message, Computed):
                    self._take_result(message)
                elif message.task in self._submissions:
                    self._take_end(message)
        # Runs of an independent plan are cancelled one by one. Any other plan ends as a whole, by
        # `_raise_if_ending`.
        is_any_cancelled = self._plan.independent and self._plan_runs.cancelled()
        for task, submission in list(self._submissions.items()):
            may_have_to_end = is_any_cancelled or submission.is_out_of_time
            if may_have_to_end and self._cancel_runs_if_due(task, submission):
                self._cancel_task(task)

    def _take_begin(self, message: Begun) -> None:
        """Note which node has begun with a task."""
        node = shown(message.node)
        if message.task in self._submissions:
            self._submissions[message.task].node = f"the node {node}"
        self._plan_runs.note_node(message.task, node)

    def _take_result(self, computed: Computed) -> None:
        """Keep a result; one that cannot be of its task ends this try of it."""
        submission = self._submissions.get(computed.task)
        if submission is None:
            # The task was cancelled, but its result is kept all the same.
            submission = _Submission(seconds_allowed=math.inf, progress=no_progress)
        try:
            check_answer(computed, submission.answered_indices, submission.node)
        except WrongAnswer as error:
            if computed.task in self._submissions:
                self._cancel_task(computed.task)
                self._count_failed_try(computed.task, submission, error)
                self._cancel_needless_tasks()
            return
        # The fold is kept: how far it was is not to be written after it.
        self._writer.drop_reports()
        self._plan_runs.commit(computed.task, computed.spec_index, computed.result)
        submission.note_kept_result(computed.spec_index)
        self._raise_if_ending()

    def _cancel_needless_tasks(self) -> None:
        """Cancel bets that the plan would not make any more, and tasks whose runs have failed."""
        # A bet is a fold that may turn out not to be needed, as when a rule stops before it.
        wanted_folds = set()
        if any(task.bet for task in self._submissions):
            wanted_folds = folds_of(self._plan.next(self._plan_runs, ()))
        for task in list(self._submissions):
            is_lost_bet = task.bet and wanted_folds.isdisjoint(task.folds)
            have_runs_failed = all(map(self._plan_runs.has_ended_incomplete, task.specs))
            if is_lost_bet or have_runs_failed:
                self._cancel_task(task)
                self._plan_runs.withdraw(task, self._submissions)

    def _cancel_task(self, task: FoldTask) -> None:
        """End a task that is under way; what it has taken so far counts all the same."""
        self._executor.cancel(task)
        self._plan_runs.add_lost_seconds(task, self._submissions.pop(task).lost_seconds)

    def _take_end(self, ended: Ended) -> None:
        """Finish the runs of a task that has ended, or do what its error asks for.

        Raises:
            Terminated, and Cancelled, as of `_take_failure`.
        """
        submission = self._submissions.pop(ended.task)
        error = ended.error
        missing_specs = submission.missing_specs(ended.task)
        if error is None and missing_specs:
            error = missing_answer(missing_specs, ended.task, submission.node)
        if error is None:
            self._plan_runs.finish_runs_without_missing_folds(ended.task.specs, self._submissions)
        else:
            self._take_failure(ended.task, submission, error)
        self._cancel_needless_tasks()

    def _take_failure(self, task: FoldTask, submission: _Submission, error: Exception) -> None:
        """Try the task again, or end its runs.

        Raises:
            Terminated: Where this program is about to end.
            Cancelled: Where the whole plan ends with the task.
        """
        self._plan_runs.add_lost_seconds(task, submission.lost_seconds)
        if self._is_closing():  # The worker has ended with this program.
            raise Terminated
        if isinstance(error, Cancelled):
            self._cancel_runs(task, error)
        elif isinstance(error, WorkerDied | WrongAnswer):
            self._count_failed_try(task, submission, error)
        else:
            if not isinstance(error, EcvError):
                log.error("fold %d failed", task.fold, exc_info=error)
            self._plan_runs.end(RunState.FAILED, failure_sentence(error), task.specs)

    def _count_failed_try(self, task: FoldTask, submission: _Submission, error: RunError) -> None:
        """Note that folds were computed in vain; after the last try their runs end."""
        log.warning("fold %d: %s", task.fold, error)
        specs = submission.missing_specs(task)
        if not specs:
            # All results came before the error.
            self._plan_runs.finish_runs_without_missing_folds(task.specs, self._submissions)
            return
        folds = FoldTask(specs=specs, fold=task.fold).folds
        self._failed_tries.update(folds)
        # Before the last try the runs go on: the plan gives their missing folds again.
        if max(self._failed_tries[fold] for fold in folds) >= TRIES:
            reason = f"{TRIES} times in a row {error}"
            self._plan_runs.end(RunState.INTERRUPTED, reason, specs)

    def _raise_if_ending(self) -> None:
        """Raises: Terminated where this program ends, Cancelled where the whole plan was."""
        if self._is_closing():
            raise Terminated
        if not self._plan.independent and self._plan_runs.cancelled():
            raise Cancelled

    def _cancel_runs_if_due(self, task: FoldTask, submission: _Submission) -> bool:
        """End the runs of a task that somebody has cancelled, or that has had its time; whether so.

        Raises:
            Cancelled: Where the whole plan ends with them.
        """
        if self._plan.independent and self._plan_runs.cancelled(task.specs):
            reason = Cancelled()
        elif submission.is_out_of_time:
            reason = Cancelled(
                f"a run may take {self._seconds_per_run:g} s here, and this run has taken that long"
            )
        else:
            return False
        self._cancel_runs(task, reason)
        return True

    def _cancel_runs(self, task: FoldTask, cancelled: Cancelled) -> None:
        """Cancel the runs of a task. Raises: the error, where the whole plan ends with them."""
        if not self._plan.independent:
            raise cancelled
        self._plan_runs.end(RunState.CANCELLED, str(cancelled) or None, task.specs)


@contextmanager
def _ending_runs(plan_runs: PlanRuns, is_closing: Callable[[], bool]) -> Iterator[None]:
    """However the block ends, whoever looks at the runs is told. Raises: as `drive`."""
    try:
        yield
    except Cancelled as error:
        plan_runs.end(RunState.CANCELLED, str(error) or None)
    except KeyboardInterrupt:
        with suppress(StoreError):  # The database may be away.
            plan_runs.end(RunState.INTERRUPTED, BY_HAND)
        raise
    except Terminated:
        with suppress(StoreError):
            plan_runs.end(RunState.INTERRUPTED, GONE)
        if not is_closing():
            raise
    except Exception as error:  # noqa: BLE001  it is raised again, or the program ends anyway
        _end_runs_after_error(error, plan_runs, is_closing)


def _end_runs_after_error(
    error: Exception, plan_runs: PlanRuns, is_closing: Callable[[], bool]
) -> None:
    """Keep the folds that an error would lose, and have the runs say why they ended.

    Raises:
        EcvError: Unless this program is about to end: the error itself, where its folds are now, or
            what happened.
    """
    if isinstance(error, StoreError | RunError):
        error_with_place = plan_runs.save_unstored_folds(error)
        if error_with_place is not None:
            # This error says in which file the folds are now.
            with suppress(StoreError, RunError):  # The database may be gone.
                plan_runs.end(RunState.FAILED, str(error_with_place))
            raise error_with_place from error
    if is_closing():
        plan_runs.end(RunState.INTERRUPTED, GONE)
        return
    plan_runs.end(RunState.FAILED, failure_sentence(error))
    if isinstance(error, EcvError):
        raise error
    log.error("a plan failed", exc_info=error)
    raise RunError(failure_sentence(error)) from error
