"""Driving one run, from its next missing fold to its end, against any executor."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ecv_core import stopping
from ecv_core.errors import Cancelled, EcvError, RunError, StoreError, Terminated
from ecv_core.records import FoldResult, Run, RunSpec, RunState
from ecv_core.runner.aids import adjusted_rule, aid_runs
from ecv_core.runner.giving_up import WAITS
from ecv_core.runner.owner import beating, this_process
from ecv_core.runner.worker import InProcess, Worker, failure, work
from ecv_core.runs.adjusting import aid_spec
from ecv_core.spec import rule_of
from ecv_core.stopping import StoppingRule
from ecv_core.store import GONE, Store

log = logging.getLogger(__name__)

CANCEL_POLL_SECONDS = 0.2
RETRY_SECONDS = 2.0
"""How long to wait before a finished fold that could not be saved is saved again."""

_Done = TypeVar("_Done")
Job = Callable[[str, str, RunSpec, int], FoldResult]
"""What an executor is given: (database URL, run id, spec, fold index) -> result."""


def execute(
    store: Store,
    run_id: str,
    worker: Worker | InProcess,
    *,
    job: Job = work,
    rule: StoppingRule | None = None,
    on_fold: Callable[[Run], None] = lambda run: None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
    closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
    waiting: tuple[str, ...] = (),
) -> None:
    """Drive a queued run until it is done, from its next missing fold on.

    Every fold is committed before the next one starts. However it ends, the run's state says so.

    Args:
        store: where the run is and its folds go.
        run_id: the run.
        worker: computes the folds.
        job: what it computes; see `Job`.
        rule: stops the run, where it is none that the spec could name.
        on_fold: called with the run after each fold is on disk.
        on_trouble: called with a sentence while a fold cannot be saved, and with None after.
        closing: whether this program is about to end; the run is interrupted then.
        seconds: by the clock, that all folds of a run may take together; then it is cancelled.
        waiting: a run that this one is computed for; cancelling that cancels this one.
    """
    if store.start(run_id, owner=this_process()):
        with beating(store):
            _drive(store, run_id, worker, job, rule, on_fold, on_trouble, closing, seconds, waiting)


def _drive(
    store: Store,
    run_id: str,
    worker: Worker | InProcess,
    job: Job,
    rule: StoppingRule | None,
    on_fold: Callable[[Run], None],
    on_trouble: Callable[[str | None], None],
    closing: Callable[[], bool],
    seconds: float | None,
    waiting: tuple[str, ...],
) -> None:
    def finish(state: RunState, error: str | None = None) -> None:
        insist(lambda: store.finish(run_id, state, error=error, owner=this_process()), on_trouble)

    with ending(finish, f"run {run_id}", closing):
        spec = store.run(run_id).spec
        if rule is None:
            run_aids(
                *(store, run_id, worker),
                job=job,
                on_trouble=on_trouble,
                closing=closing,
                seconds=seconds,
            )
            rule = adjusted_rule(store, spec) if stopping.cheap_models(spec) else None
        while (index := next_fold(store.run(run_id))) is not None:
            if cancelled(store, (run_id, *waiting)):
                raise Cancelled
            if closing():
                raise Terminated
            result = _one_fold(store, run_id, worker, job, index, seconds, waiting)
            if not save_fold(store, run_id, result, rule, on_trouble):
                return  # somebody has resumed it elsewhere, and goes on
            on_fold(store.run(run_id))
        finish(RunState.FINISHED)


@contextmanager
def ending(
    finish: Callable[[RunState, str | None], None],
    what: str,
    closing: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """However the block ends, whoever looks at the run is told; its caller hears of signals only.

    Args:
        finish: tells with which state, and error, a run has ended.
        what: has failed, for the log.
        closing: as of `execute`.
    Raises: KeyboardInterrupt, and Terminated while this program is not about to end anyway.
    """
    try:
        yield
    except Cancelled as error:
        finish(RunState.CANCELLED, str(error) or None)
    except KeyboardInterrupt:
        finish(RunState.CANCELLED, None)
        raise
    except Terminated:
        finish(RunState.INTERRUPTED, GONE)
        if not closing():
            raise
    except Exception as error:
        if closing():  # the worker has ended with this program
            finish(RunState.INTERRUPTED, GONE)
            return
        if not isinstance(error, EcvError | BrokenExecutor):
            log.exception("%s failed", what)
        finish(RunState.FAILED, failure(error))


def next_fold(run: Run) -> int | None:
    """The fold to run next; None when the rule has stopped the run or all folds are in."""
    if run.stopped_at is not None and not run.spec.full:
        return None
    done = {result.fold for result in run.folds}
    return next((fold for fold in run.spec.fold_order if fold not in done), None)


def run_aids(
    store: Store,
    run_id: str,
    worker: Worker | InProcess,
    *,
    job: Job = work,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
    closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
) -> None:
    """Run the cheap models that a run is adjusted by, where they are not there yet.

    Arguments as of `execute`.
    """
    run = store.run(run_id)
    for name, found in aid_runs(store, run.spec).items():
        if found is not None:
            continue
        aid = store.create(
            [aid_spec(run.spec, name)], owner=this_process(), started_by=run.started_by
        )[0]
        execute(
            *(store, aid, worker),
            job=job,
            on_trouble=on_trouble,
            closing=closing,
            seconds=seconds,
            waiting=(run_id,),
        )
        done = store.run(aid)
        if done.state is RunState.CANCELLED:
            raise Cancelled
        if closing():
            raise Terminated
        if done.state is not RunState.FINISHED:
            raise RunError(f"'{name}', which it is adjusted by, failed: {done.error}")


def cancelled(store: Store, run_ids: Iterable[str]) -> bool:
    """Whether someone asked one of these runs to stop."""
    return any(store.cancel_requested(run_id) for run_id in run_ids)


def _one_fold(
    store: Store,
    run_id: str,
    worker: Worker | InProcess,
    job: Job,
    index: int,
    seconds: float | None,
    waiting: tuple[str, ...],
) -> FoldResult:
    run = store.run(run_id)
    insist_on_time(run.seconds, seconds)
    future: Future[FoldResult] = worker.submit(job, store.url, run_id, run.spec, index)
    in_time = partial(insist_on_time, run.seconds, seconds)
    return outcome(future, store, (run_id, *waiting), worker, in_time)


def outcome(
    future: Future[_Done],
    store: Store,
    run_ids: Iterable[str],
    worker: Worker | InProcess,
    in_time: Callable[[float], None],
) -> _Done:
    """What a worker was given to do, once it is done; killed when one of these runs is cancelled.

    Raises: Cancelled; what `in_time`, which is told the seconds so far, and what the work raised.
    """
    begin = time.monotonic()
    try:
        while not wait([future], timeout=CANCEL_POLL_SECONDS).done:
            if cancelled(store, run_ids):
                raise Cancelled
            in_time(time.monotonic() - begin)
        return future.result()
    except (Cancelled, BrokenExecutor):
        if isinstance(worker, Worker):
            worker.kill()
        raise


def insist_on_time(before: float, most: float | None, now: float = 0.0) -> None:
    """End a run that has had its time. Raises: Cancelled, with the reason."""
    if most is not None and before + now >= most:
        raise Cancelled(f"a run has {most:g} s here, and this one has had them")


def save_fold(
    store: Store,
    run_id: str,
    result: FoldResult,
    rule: StoppingRule | None,
    on_trouble: Callable[[str | None], None],
    *,
    owner: str = "",
) -> bool:
    """Commit a fold and what the rule makes of it; a full disk delays this, but loses nothing.

    Args:
        store: where it goes.
        run_id: whose fold.
        result: the fold.
        rule: stops the run, where it is none that the spec alone could name.
        on_trouble: as of `execute`.
        owner: who has the run; by default this process.
    Returns: whether the owner still has the run.
    """
    run = store.run(run_id)
    folds = [fold for fold in run.folds if fold.fold != result.fold]
    needs_user_scores = (
        stopping.rule(run.spec.rule).needs_user_scores
        if rule is None
        else bool(getattr(rule, "needs_user_scores", False))
    )
    if needs_user_scores:
        scores = store.user_scores(run_id)
        folds = [replace(fold, user_scores=scores.get(fold.fold)) for fold in folds]
    rule = rule_of(run.spec) if rule is None else rule
    moments = stopping.moments(rule, [*folds, result], run.spec.confidence)
    stopped_at = stopping.stop_of(moments, run.k)
    return insist(
        lambda: store.add_fold(
            run_id,
            result,
            stopped_at=stopped_at,
            moment=moments[-1],
            owner=owner or this_process(),
        ),
        on_trouble,
    )


def insist(write: Callable[[], _Done], on_trouble: Callable[[str | None], None]) -> _Done:
    """Write, again and again until it is done; a sentence while it cannot be."""
    while True:
        try:
            done = write()
        except StoreError as error:
            log.error("%s", error)
            on_trouble(f"{error}{WAITS}")
            time.sleep(RETRY_SECONDS)
        else:
            on_trouble(None)
            return done
