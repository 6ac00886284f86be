"""Driving several runs at once whose folds share work, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial

from ecv_core.errors import Cancelled
from ecv_core.records import FoldResult, Run, RunSpec, RunState
from ecv_core.runner.drive import cancelled, ending, insist, next_fold, save_fold
from ecv_core.runner.owner import beating, this_process
from ecv_core.store import Store

SharedJob = Callable[
    [str, Sequence[str], Sequence[RunSpec], int], Generator[tuple[int, FoldResult], None, None]
]
"""(database URL, run ids, their specs, fold index) -> places of runs and their results."""


def execute_shared(
    store: Store,
    run_ids: Sequence[str],
    *,
    job: SharedJob,
    on_fold: Callable[[Run], None] = lambda run: None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
) -> None:
    """Drive queued runs until all are done: of each fold, all runs that lack it together.

    Every result is committed as soon as it is known, before the next one is computed. However it
    ends, the state of each run says so.

    Args:
        store: where the runs are and their folds go.
        run_ids: runs that `shared_fold.shares_with` says the same of, with the rule 'never'.
        job: computes a fold of several of them.
        on_fold: called with a run after each of its folds is on disk.
        on_trouble: as of `drive.execute`.
    """
    mine = [run_id for run_id in run_ids if store.start(run_id, owner=this_process())]
    with beating(store):
        left = list(mine)

        def finish(state: RunState, error: str | None = None) -> None:
            for run_id in left:
                whole = next_fold(store.run(run_id)) is None
                ends = (RunState.FINISHED, None) if whole else (state, error)
                insist(partial(_finish, store, run_id, *ends), on_trouble)

        with ending(finish, f"runs {', '.join(mine)}"):
            _drive(store, left, job, on_fold, on_trouble)
            finish(RunState.FINISHED)


def _finish(store: Store, run_id: str, state: RunState, error: str | None) -> None:
    store.finish(run_id, state, error=error, owner=this_process())


def _drive(
    store: Store,
    left: list[str],
    job: SharedJob,
    on_fold: Callable[[Run], None],
    on_trouble: Callable[[str | None], None],
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
        with closing(job(store.url, now, [specs[one] for one in now], index)) as results:
            for place, result in results:
                run_id = now[place]
                if not save_fold(store, run_id, result, None, on_trouble):
                    left.remove(run_id)
                    continue
                on_fold(store.run(run_id))
                if cancelled(store, left):
                    raise Cancelled
