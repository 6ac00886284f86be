"""Queued runs: the queue in the database, the plan behind a run, and the dashboard's manager.

The manager is one thread, with worker processes or a cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial

from ecv_core import models
from ecv_core.jobs.cluster.choose import HERE, executor_on, place_asked
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import (
    NICENESS,
    Compute,
    Executor,
    Workers,
    compute,
    failure_sentence,
    unmetered_workers,
)
from ecv_core.jobs.heartbeat import Heartbeat, interrupt_abandoned_runs
from ecv_core.jobs.plan import Plan
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import SPECULATE, RunPlan
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.records.errors import DamagedRun, EcvError, StoreError, Terminated
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.engine import AGAIN_SECONDS, waiting_for_database
from ecv_core.store.ownership import owner_of, this_process
from ecv_core.store.plans import SELECTION, plan_behind
from ecv_core.store.quota import Quota
from ecv_core.store.rescue import import_rescued_runs
from ecv_core.store.store import Store


class Queue:
    """Runs that wait for this process; who computes them is another's business."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.owner = this_process()
        """Whose queue this is."""

    def wake(self) -> None:
        """Tell whoever computes it that something was put here; of a queue alone nobody does."""

    def start(
        self,
        specs: Sequence[RunSpec],
        *,
        started_by: str = "",
        quota: Quota | None = None,
        plan_id: str = "",
        anew: bool = False,
        compute_on: str = "",
    ) -> str:
        """Queue one run per spec; gives the id of their group.

        Args and errors: as of `Store.create`.
        """
        run_ids = self._store.create(
            specs,
            owner=self.owner,
            started_by=started_by,
            quota=quota,
            plan_id=plan_id,
            anew=anew,
            compute_on=compute_on,
        )
        self.wake()
        return plan_id or run_ids[0]

    def resume(
        self, run_id: str, *, full: bool = False, started_by: str = "", quota: Quota | None = None
    ) -> bool:
        """Go on with a run at its next missing fold; `full` runs the folds after the stop too.

        One that is queued or going already, here or elsewhere, or that has no fold left to compute
        is left as it is.
        Args and other errors: as of `Store.requeue`.

        Returns:
            Whether it is queued here now.

        Raises:
            InputError: For one that other code computes.
        """
        run = self._store.run(run_id)
        spec = run.spec
        # This is called only for its check. It refuses a run whose folds other code computes.
        models.computing(spec)
        # A run that is going now may have ended by the time at which it would be queued again.
        if not run.can_go_on(full=full):
            return False
        if full:
            spec = replace(spec, full=True)
        resumed = self._store.requeue(
            run_id, spec, owner=self.owner, started_by=started_by, quota=quota
        )
        if resumed:
            self.wake()
        return resumed

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop; its finished folds are kept."""
        self._store.request_cancel(run_id)


def plan_of(
    store: Store,
    run: RunRecord,
    callbacks: Callbacks,
    *,
    speculate: int = SPECULATE,
    with_queue: bool = False,
) -> tuple[Plan, PlanRuns]:
    """The plan that goes on with a queued run, and the plan's runs.

    Of a selection, runs that were taken out of the queue since are left out.

    Args:
        speculate: As of `RunPlan`.
        with_queue: Whether runs that wait in the same queue are in the plan too.
    """
    # A selection decides which folds its runs need, so that it goes on as a whole. Other runs are
    # computed by themselves, or beside those that wait in the same queue.
    record = plan_behind(store, run.group)
    if record is not None and record.kind == SELECTION:
        from ecv_core.jobs.plans.select import SelectPlan, selection_runs

        # These runs of the selection were taken out of the queue since this run was put there.
        cancelled_ids = store.runs_that_left_queue(record.plan_id, run.run_id)
        selection = SelectPlan.of(record, speculate=speculate)
        return selection, selection_runs(store, record, callbacks, cancelled_ids=cancelled_ids)
    runs = [run]
    plan: Plan = RunPlan(run.spec, speculate=speculate)
    if with_queue:
        # Folds of the runs that wait can be computed at the same time.
        runs += _other_runs_to_compute_beside(store, run)
        plan = StudyPlan([run.spec for run in runs], speculate=speculate)
    return plan, PlanRuns(
        store,
        runs=runs,
        started_by=run.started_by,
        compute_every_fold=run.anew,
        callbacks=callbacks,
    )


def _other_runs_to_compute_beside(store: Store, first: RunRecord) -> list[RunRecord]:
    """The runs that wait behind a run and may be computed beside it; one of each spec."""
    conditions = _conditions_of(store, first)
    run_of_spec: dict[RunSpec, RunRecord] = {}
    for run in store.active():
        # A run of the same spec waits, and then uses the folds of this one again.
        if run.state is not RunState.QUEUED or run.spec == first.spec:
            continue
        # A selection decides itself which folds its runs need.
        plan = plan_behind(store, run.group)
        is_of_selection = plan is not None and plan.kind == SELECTION
        if not is_of_selection and _conditions_of(store, run) == conditions:
            run_of_spec.setdefault(run.spec, run)
    return list(run_of_spec.values())


def _conditions_of(store: Store, run: RunRecord) -> tuple[object, ...]:
    """What two runs must have in common for their folds to be computed at the same time."""
    return (
        owner_of(store, run.run_id),
        store.place_of(run.group),
        run.started_by,
        run.anew,
        run.spec.no_energy,
    )


log = logging.getLogger(__name__)
RUN: ContextVar[str] = ContextVar("run", default="")
"""The id of the run that this thread computes: every line of a log may have it."""

CLOSE_SECONDS = 3.0
"""How long the end of the program may wait for the state of the run to be written."""


class RunManager(Queue):
    """Computes what is queued, in the background; one per process.

    It computes one fold at a time; where nothing is metered, as many as there are cores; and on a
    cluster, where one was chosen or ECV_CLUSTER names one, as many as there are nodes.
    """

    def __init__(
        self, store: Store, *, compute: Compute = compute, seconds: float | None = None
    ) -> None:
        """Start the thread.

        Args:
            compute: What the worker process does with a task.
            seconds: The seconds that a run may take, as of `drive`; None for any.
        """
        super().__init__(store)
        self._seconds_per_run = seconds
        self._compute_fold = compute
        self._local_workers = Workers(compute)
        self._executors: dict[str, Executor] = {}
        self._wake = threading.Event()
        """Set when the queue is to be looked at again."""
        self._closing = False
        self.trouble: str | None = None
        """A sentence to show while something finished cannot be saved; None when all is well."""
        # Programs that have ended may have left something behind. Their runs can go on, the queue
        # of a dashboard among them is taken over, and folds that were rescued from a damaged
        # database come back.
        interrupt_abandoned_runs(store, takes_over_queues=True)
        import_rescued_runs(store)
        self._heartbeat = Heartbeat(store, is_dashboard=True, on_takeover=self._wake.set)
        self._thread = threading.Thread(target=self._loop, name="ecv-runner", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look into the queue again: something was put there under `owner`."""
        self._heartbeat.beat_now()
        self._wake.set()

    def warm_up(self) -> None:
        """Start the worker process, so that the first fold does not wait for it."""
        if place_asked() == HERE:
            self._local_workers.warm_up()

    @property
    def alive(self) -> bool:
        """Whether what is queued is computed."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End the thread and the worker; the run that is going is interrupted, the queue waits."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        self._local_workers.close()
        self._thread.join(CLOSE_SECONDS)
        for executor in self._executors.values():
            executor.close()
        self._heartbeat.stop()

    def _loop(self) -> None:
        while not self._closing:
            try:
                run_id = self._store.next_queued(self.owner)
                if run_id is not None:
                    with self._logging_of(run_id):
                        self._compute(run_id)
                    continue
                self._wake.wait()
                self._wake.clear()
            except Terminated:
                return
            except StoreError as error:
                # The thread outlives a database that is away for a while.
                log.error("%s", error)
                self._show_trouble(str(error))
                time.sleep(AGAIN_SECONDS)

    @contextmanager
    def _logging_of(self, run_id: str) -> Iterator[None]:
        """Say that a run begins and how it ended, and its id in every line meanwhile."""
        token = RUN.set(run_id)
        began = time.monotonic()
        try:
            log.info("computing begins")
            yield
            with suppress(EcvError):  # The run may be deleted by now.
                run = self._store.run(run_id)
                seconds = time.monotonic() - began
                log.info("%s, with %d folds, after %.1f s", run.state, len(run.folds), seconds)
        finally:
            RUN.reset(token)

    def _compute(self, run_id: str) -> None:
        """Compute a run, or a fold of the selection that has queued it; queue what comes next.

        Raises:
            StoreError: Where the database is away: the run waits until it is there again.
        """
        plan_runs: PlanRuns | None = None
        # These runs are to compute the next fold of the same plan.
        queued_ids = []
        refusal: str | None = None
        try:
            run = self._store.run(run_id)
            executor = self._executor_on(self._store.place_of(run.group) or place_asked(), run)
            callbacks = Callbacks(trouble=self._wait_for_database)
            plan, plan_runs = plan_of(self._store, run, callbacks, with_queue=executor.capacity > 1)
            queued_ids = self._drive(plan, plan_runs, executor)
        except DamagedRun as error:
            # A damaged run is a StoreError too, but one that waiting does not mend.
            refusal = str(error)
        except StoreError:
            raise
        except EcvError as error:
            # The run's page shows why it cannot go on, so that the log only notes it.
            log.info("%s", error)
            refusal = str(error)
        except Exception as error:
            # Whatever went wrong with this run, the queue goes on.
            log.exception("run %s could not be computed", run_id)
            refusal = failure_sentence(error)
        # A run that was computed here has its state, whatever went wrong after that.
        has_ended = plan_runs is not None and plan_runs.has_ended(run_id)
        if self._closing or has_ended or run_id in queued_ids:
            return
        # The run is still in the queue, and would be taken from there again and again.
        self._leave_queue(run_id, refusal)

    def _leave_queue(self, run_id: str, refusal: str | None) -> None:
        """End a run that waits still: as refused, or where there is no refusal, as not needed."""
        state = RunState.FINISHED
        if refusal is not None:
            state = RunState.FAILED
        self._store.leave_queue(run_id, state, error=refusal, owner=self.owner)

    def _drive(self, plan: Plan, plan_runs: PlanRuns, executor: Executor) -> list[str]:
        """Compute what the plan needs now; gives the ids of the runs that it has queued then."""
        drive(
            plan,
            plan_runs,
            executor,
            is_closing=lambda: self._closing,
            seconds=self._seconds_per_run,
            gives_way=True,
        )
        if self._closing or not plan_runs.all_finished:
            return []
        with waiting_for_database(plan_runs.tell_connection):
            return plan_runs.queue_next(plan)

    def _executor_on(self, place: str, run: RunRecord) -> Executor:
        """The executor of a place, made once.

        Raises:
            InputError: For a cluster that does not answer; it is asked again.
        """
        if place == HERE and not run.spec.no_energy:
            return self._local_workers  # A metered fold has the machine alone.
        if place not in self._executors:
            all_cores = partial(unmetered_workers, self._compute_fold, niceness=NICENESS)
            self._executors[place] = executor_on(
                place, make_local=all_cores, compute=self._compute_fold
            )
        return self._executors[place]

    def _show_trouble(self, sentence: str | None) -> None:
        self.trouble = sentence

    def _wait_for_database(self, sentence: str | None) -> None:
        """As `Callbacks.trouble`. Raises: Terminated where this program is about to end."""
        self._show_trouble(sentence)
        if sentence and self._closing:
            raise Terminated
