"""Driving several runs at once whose folds share work, in this process or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing as closed_after
from functools import partial

from ecv_core.errors import Cancelled, Terminated
from ecv_core.records import FoldResult, Run, RunSpec, RunState
from ecv_core.runner.drive import (
    cancelled,
    ending,
    insist,
    insist_on_time,
    next_fold,
    outcome,
    save_fold,
)
from ecv_core.runner.owner import beating, this_process
from ecv_core.runner.worker import Worker
from ecv_core.store import Store, open_store

SharedJob = Callable[
    [str, Sequence[str], Sequence[RunSpec], int], Generator[tuple[int, FoldResult], None, None]
]
"""(database URL, run ids, their specs, fold index) -> places of runs and their results."""


def execute_shared(
    store: Store,
    run_ids: Sequence[str],
    *,
    job: SharedJob,
    worker: Worker | None = None,
    on_fold: Callable[[Run], None] = lambda run: None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
    closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
) -> None:
    """Drive queued runs until all are done: of each fold, all runs that lack it together.

    Every result is committed as soon as it is known, before the next one is computed. However it
    ends, the state of each run says so. Cancelling one of them cancels all.

    Args:
        store: where the runs are and their folds go.
        run_ids: runs that `shared_fold.shares_with` says the same of, with the rule 'never'.
        job: computes a fold of several of them.
        worker: a process that computes and saves the folds; None for this one.
        on_fold: called with a run after each of its folds is on disk.
        on_trouble, closing: as of `drive.execute`.
        seconds: that each run may take in a worker; what they share is shared out equally.
    """
    mine = [run_id for run_id in run_ids if store.start(run_id, owner=this_process())]
    with beating(store):
        left = list(mine)

        def finish(state: RunState, error: str | None = None) -> None:
            for run_id in left:
                whole = next_fold(store.run(run_id)) is None
                ends = (RunState.FINISHED, None) if whole else (state, error)
                insist(partial(_finish, store, run_id, *ends), on_trouble)

        with ending(finish, f"runs {', '.join(mine)}", closing):
            _drive(store, left, job, worker, on_fold, on_trouble, closing, seconds)
            finish(RunState.FINISHED)


def _finish(store: Store, run_id: str, state: RunState, error: str | None) -> None:
    store.finish(run_id, state, error=error, owner=this_process())


def _drive(
    store: Store,
    left: list[str],
    job: SharedJob,
    worker: Worker | None,
    on_fold: Callable[[Run], None],
    on_trouble: Callable[[str | None], None],
    closing: Callable[[], bool],
    seconds: float | None,
) -> None:
    """Compute every fold; a run that somebody else has by now is left to that one."""
    specs = {run_id: store.run(run_id).spec for run_id in left}
    done = {run_id: {one.fold for one in store.run(run_id).folds} for run_id in left}
    for index in dict.fromkeys(fold for run_id in left for fold in specs[run_id].fold_order):
        now = [
            run_id
            for run_id in left
            if index in specs[run_id].fold_order and index not in done[run_id]
        ]
        if not now:
            continue
        if cancelled(store, left):
            raise Cancelled
        if closing():
            raise Terminated
        given = (store.url, now, [specs[one] for one in now], index)
        if worker is not None:
            took = max(store.run(run_id).seconds for run_id in now)
            insist_on_time(took, seconds)
            future = worker.submit(save_together, *given, job, this_process())
            in_time = partial(_shared_out, len(now), took, seconds)
            for run_id in outcome(future, store, now, worker, in_time):
                left.remove(run_id)
            for run_id in (one for one in now if one in left):
                on_fold(store.run(run_id))
            continue
        with closed_after(job(*given)) as results:
            for place, result in results:
                run_id = now[place]
                if not save_fold(store, run_id, result, None, on_trouble):
                    left.remove(run_id)
                    continue
                on_fold(store.run(run_id))
                if cancelled(store, left):
                    raise Cancelled


def _shared_out(runs: int, before: float, most: float | None, now: float) -> None:
    insist_on_time(before, most, now / runs)


def save_together(
    database_url: str,
    run_ids: Sequence[str],
    specs: Sequence[RunSpec],
    index: int,
    job: SharedJob,
    owner: str,
) -> list[str]:
    """In a worker: compute a fold of several runs, and save each result as soon as it is known.

    Returns: the runs that somebody else than the owner has by now.
    """
    store = open_store(database_url)
    lost = []
    with closed_after(job(database_url, run_ids, specs, index)) as results:
        for place, result in results:
            # A full disk is tried again until it is not, or someone cancels: that ends the worker.
            if not save_fold(store, run_ids[place], result, None, lambda said: None, owner=owner):
                lost.append(run_ids[place])
    return lost
