"""Folds for a loop of one's own: handed out, metered, reported, kept, until the rule says stop."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Unpack

from ecv_core.energy.meter import EnergyMeter
from ecv_core.energy.real_meters import meter_for
from ecv_core.fold.costs import FoldClock
from ecv_core.jobs.heartbeat import signs_of_life
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.plan import next_fold
from ecv_core.jobs.plan_runs import SaveAttempts, keep_reported_fold
from ecv_core.jobs.plans.track import CANCELLED, LEFT, begin_or_go_on, go_on
from ecv_core.jobs.reported_scores import measure
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.library.contenders import YOUR_CODE
from ecv_core.library.run import Run
from ecv_core.library.settings import Settings, spec_for
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import Cancelled, InputError, RunError, StoreError
from ecv_core.records.run import FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import StoppingRule
from ecv_core.store.engine import waiting_for_database
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store

log = logging.getLogger(__name__)

_loops: weakref.WeakValueDictionary[str, Tracked] = weakref.WeakValueDictionary()
"""Run id -> who loops over it in this process, or did last."""


@kinds_checked
def track(
    name: str,
    *,
    dataset: object,
    rule: StoppingRule | str | None = None,
    resume: bool = True,
    keep: bool = True,
    **settings: Unpack[Settings],
) -> Tracked:
    """Evaluate any code, fold by fold: loop over what this gives, and report each fold.

        cv = ecv.track("my model", dataset="ml-100k", k=10, metric="ndcg@10", rule="e-fold")
        for fold in cv:  # ends when the rule says stop
            model = my_fit(fold.train)
            cv.report(my_scores(model, fold.test))

    The same call again goes on where the newest run with this name and these settings was cut off,
    with the folds that it has.

    Args:
        name: What the model is called everywhere; not that of an algorithm of e-fold.
        dataset: As of `evaluate`.
        rule: As of `evaluate`.
        resume: False for a new run in any case.
        keep: As of `evaluate`.
        settings: As of `evaluate`; metric 'rmse' or 'mae' for ratings, and one of your own for
            scores that are none of the project's; `params` may say what is to be known of the
            model, name -> value.

    Raises:
        InputError: For what cannot be run.

    >>> import ecv_core as ecv
    >>> cv = ecv.track("mine", dataset="synthetic", k=3, metric="ndcg", rule="never", keep=False)
    >>> for fold in cv:
    ...     cv.report(0.25)
    >>> cv.run.mean
    0.25
    """
    spec, own_rule = spec_for(dataset, name, rule, {**settings, "tracked": True})
    return Tracked(
        spec,
        own_rule,
        keep=keep and own_rule is None,
        resume=resume,
        has_named_metric=settings.get("metric") is not None,
    )


def _no_loop() -> None:
    """In place of a reference to a loop, while there is none."""


@dataclass
class _OpenFold:
    """The fold whose body of the loop runs now."""

    fold: TrackedFold
    meter: EnergyMeter
    clock: FoldClock
    is_reported: bool = False


class Tracked:
    """A run whose folds a loop computes: `for fold in cv`, and `cv.report(...)` in its body.

    The body is metered from its start to its report. Each fold is on disk once it is reported.

    >>> import ecv_core as ecv
    >>> ecv.track("mine", dataset="synthetic", k=3, keep=False)
    <tracked: mine>
    """

    def __init__(
        self,
        spec: RunSpec,
        rule: StoppingRule | None,
        *,
        keep: bool,
        resume: bool,
        has_named_metric: bool,
    ) -> None:
        self.spec = spec
        """Everything that was set."""
        self._rule = rule
        self._resume = resume
        self._has_named_metric = has_named_metric
        address = None
        if not keep:
            # The run is in a temporary database, which is deleted with this object.
            folder = tempfile.mkdtemp(prefix="ecv-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            address = f"sqlite:///{folder}/run.sqlite"
        self._store: Store = open_store(address)
        self._run_id: str | None = None
        self._open_fold: _OpenFold | None = None
        # Gives the generator of the loop that runs now; None while there is none.
        self._loop: Callable[[], Generator[TrackedFold] | None] = _no_loop
        # Data that cannot be split are refused here, and not only when the loop begins.
        TrackedFold(spec, spec.fold_order[0])

    @property
    def run(self) -> Run:
        """The run as it is now: `mean`, `stopped_at`, `interval`, `frame()`, ...

        Raises:
            InputError: Before the loop has begun.
        """
        if self._run_id is None:
            raise InputError("no fold has been asked for yet; loop over it: for fold in cv: ...")
        return Run(self._store.run(self._run_id))

    def __iter__(self) -> Iterator[TrackedFold]:
        running_loop = self._loop()
        if running_loop is not None:
            raise InputError(
                f"'{self.spec.algorithm}' is being looped over already; one loop at a time"
            )
        folds = self._folds()
        # The reference is weak: only the caller's `for` holds the generator, so that it ends when
        # that loop is left, and another one can begin.
        self._loop = weakref.ref(folds)
        return folds

    def report(self, reported: object) -> None:
        """What the fold gave; it is on disk, with what the rule makes of it, when this returns.

        Args:
            reported: User -> score (a dict or a Series), for every user of `fold.test`; or the
                fold's score as one number; or recommendations, a table with `user_id` and
                `item_id` and where rows are not in order `rank` or `score`, which are evaluated
                here under full ranking; or predicted ratings, with `prediction`; or the scores of
                all users and items, in the order of `fold.matrices`, shape (users, items).

        Raises:
            InputError: For what cannot be a report of this fold, or outside the loop.
        """
        fit_ended_at = time.perf_counter()
        current = self._open_fold
        if current is None:
            raise InputError("there is no fold to report; call report in the body of the loop")
        index = current.fold.index
        if current.is_reported:
            raise InputError(f"fold {index} has been reported already; report once a fold")
        measured = measure(
            current.fold, reported, rule=self._rule, has_named_metric=self._has_named_metric
        )
        clock = current.clock
        seconds = clock.seconds_until_now(fit_began_at=clock.began_at, fit_ended_at=fit_ended_at)
        energy = current.meter.stop()
        current.is_reported = True
        if measured.note:
            log.warning("%s", measured.note)
        self._save(measured.result(index, energy=energy, **seconds))

    def _save(self, result: FoldResult) -> None:
        """Commit a fold, and end the run if its rule says stop or all folds are in."""
        # A fold is reported only in the body of a loop, which has made the run as it began.
        assert self._run_id is not None
        # Nobody else has the fold, so that it waits for a database that is away.
        attempts = SaveAttempts(log.warning)
        with waiting_for_database(attempts):
            run = self._store.run(self._run_id)
            keep_reported_fold(self._store, run, result, rule=self._rule, trouble=attempts)

    def close(self) -> None:
        """End the loop where it is, if there is one; the same `track` goes on there."""
        folds = self._loop()
        if folds is not None:
            folds.close()

    def forget_if_empty(self) -> None:
        """End the loop after an error, and keep nothing of a run that has no fold."""
        self.close()
        with suppress(StoreError):
            # Where the database is away, the run stays, and the caller has the first error to tell.
            if self._run_id is not None and not self._store.run(self._run_id).folds:
                self._store.delete(self._run_id)
                self._run_id = None

    def __repr__(self) -> str:
        if self._run_id is None:
            return f"<tracked: {self.spec.algorithm}>"
        return f"<tracked: {self.run!r}>"

    def _folds(self) -> Generator[TrackedFold]:
        try:
            run_id = self._begin()
            with signs_of_life(self._store):
                while True:
                    # Only this look waits for a database that is away. The caller's own code,
                    # which runs at the `yield`, is to find it as ever.
                    with waiting_for_database(SaveAttempts(log.warning)):
                        index = self._next_fold(run_id)
                    if index is None:
                        return
                    with self._measure_fold(run_id, index) as fold:
                        yield fold
        finally:
            self._loop = _no_loop
            try:
                self._mark_interrupted()
            except StoreError as error:
                # Whoever goes on with the run sees that nobody has it any more.
                log.warning("nobody was told that the loop has ended: %s", error)

    def _next_fold(self, run_id: str) -> int | None:
        """The fold that is to be computed next; None where there is none, and the run is finished.

        Raises:
            Cancelled: And RunError, as of `_raise_if_ended_by_others`.
        """
        run = self._store.run(run_id)
        if run.state is RunState.FINISHED:
            return None
        self._raise_if_ended_by_others(run)
        index = next_fold(run)
        if index is None:
            self._store.finish(run_id, RunState.FINISHED, owner=this_process())
        return index

    def _begin(self) -> str:
        if self._run_id is None:
            self._give_up_others()
            self._run_id = begin_or_go_on(
                self._store, self.spec, owner=this_process(), resume=self._resume
            )
        else:
            run = self._store.run(self._run_id)
            if run.resumable:
                go_on(self._store, run, owner=this_process())
        _loops[self._run_id] = self
        return self._run_id

    def _give_up_others(self) -> None:
        """End a loop over the same run that this process has left open, as a notebook may."""
        for other in list(_loops.values()):
            is_same_database = other._store.url == self._store.url
            if is_same_database and other.spec.same_run(self.spec):
                other.close()

    def _raise_if_ended_by_others(self, run: RunRecord) -> None:
        """Cancel the run where somebody has asked for it.

        Raises:
            Cancelled: Once it is cancelled.
            RunError: Where another program has ended it.
        """
        if self._store.cancel_requested(run.run_id):
            self._store.finish(run.run_id, RunState.CANCELLED, owner=this_process())
            raise Cancelled(f"run {run.run_id} was {CANCELLED}")
        if run.state is not RunState.RUNNING:
            raise RunError(
                f"run {run.run_id} is {run.state} by now, by another program; finished folds are "
                "kept"
            )

    @contextmanager
    def _measure_fold(self, run_id: str, index: int) -> Iterator[TrackedFold]:
        fold = TrackedFold(self.spec, index)
        meter = meter_for(self.spec)

        def write_progress(phase: str, step: int, steps: int, /) -> None:
            try:
                self._store.set_progress(run_id, index, phase, step, steps)
            except StoreError as error:
                # The fold goes on: it is worth more than what a page shows of its progress.
                log.warning("progress was not written: %s", error)

        # A meter measures the whole machine, so this waits for folds of other programs to end.
        with machine_for(self.spec, write_progress):
            write_progress(YOUR_CODE, 0, 0)
            meter.start()
            open_fold = _OpenFold(fold, meter, FoldClock())
            self._open_fold = open_fold  # `report` marks this fold as reported.
            try:
                yield fold
            finally:
                self._open_fold = None
                if not open_fold.is_reported:
                    meter.stop()
            if not open_fold.is_reported:
                raise InputError(
                    f"fold {index} was not reported: call report once in the body of the loop; "
                    "the same track goes on with this fold"
                )

    def _mark_interrupted(self) -> None:
        """Have a run that could go on say so, however its loop ended."""
        if self._run_id is None:
            return
        run = self._store.run(self._run_id)
        if run.state is RunState.RUNNING:
            self._store.finish(self._run_id, RunState.INTERRUPTED, error=LEFT, owner=this_process())


@atexit.register
def _close_all() -> None:
    """A loop that is open when the program ends says so, as long as modules can be imported."""
    for tracked in list(_loops.values()):
        tracked.close()
