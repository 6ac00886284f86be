"""A study of many runs: begun, looked at, gone on with, cancelled; or computed here and recorded.

However it is started, what is there already is not computed again (see `cells`), and a run that was
cut off goes on at its next missing fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.runner import GivesUp, InProcess, Queue, execute, recover, work
from ecv_core.runner.drive import Job
from ecv_core.runs.recorded import record
from ecv_core.store import Cell, Store, keep_study, stored_study
from ecv_core.study.cells import answers, filled, reusable


def begin(
    store: Store,
    queue: Queue,
    cells: Sequence[Cell],
    *,
    recorded: Sequence[Run] = (),
    anew: bool = False,
    started_by: str = "",
    may_go_on: Callable[[Run], bool] = lambda run: True,
) -> str:
    """Keep a study and queue what is missing; gives its id.

    Args:
        store: where it is kept.
        queue: of whoever computes it.
        cells: as `cells.planned` gives them.
        recorded: runs outside the database that may fill a cell.
        anew: run every cell, even where an equal run is known.
        started_by: the id of a person, as of `Store.create`.
        may_go_on: which runs of the database may be gone on with; others answer where they can.
    Raises: InputError without a cell.
    """
    if not cells:
        raise InputError("a study needs at least one dataset and one algorithm; pick some")
    if not anew:
        runs = store.runs()
        cells = filled(cells, [run for run in runs if may_go_on(run)], [*runs, *recorded])
    return keep_study(store, _queued(store, queue, cells), started_by=started_by)


def look(store: Store, study_id: str, recorded: Iterable[Run] = ()) -> list[Cell]:
    """A study's cells with their runs as they are now, in the order in which they were picked.

    Raises: InputError if there is no such study.
    """
    runs = {run.run_id: run for run in recorded}
    runs |= {run.run_id: run for run in store.runs()}
    found = []
    for cell in stored_study(store, study_id).cells:
        run = runs.get(cell.run_id)
        if run is None and cell.borrowed:  # it may have been recorded again, under another id
            run = reusable(cell.spec, runs.values())
        found.append(replace(cell, run=run, run_id=run.run_id if run else cell.run_id))
    return found


def go_on(
    store: Store,
    queue: Queue,
    study_id: str,
    *,
    recorded: Iterable[Run] = (),
    full: bool = False,
) -> None:
    """Queue what is missing: each cell goes on at its next missing fold, a deleted one from none.

    Args:
        full: also the folds after each stop.
    """
    cells = look(store, study_id, recorded)
    for cell in cells:
        if cell.run is not None and (cell.to_do or (full and cell.early)):
            queue.resume(cell.run_id, full=full or cell.spec.full)
    if any(cell.run is None for cell in cells):
        keep_study(store, _started(store, queue, cells), study_id)


def cancel(queue: Queue, cells: Sequence[Cell]) -> None:
    """Cancel every cell that is still to be computed: the queue first, or the next would start."""
    for cell in reversed(cells):
        if cell.active:
            queue.cancel(cell.run_id)


def compute(
    store: Store,
    cells: Iterable[Cell],
    *,
    job: Job = work,
    on_fold: Callable[[Run], None] = lambda run: None,
    say: Callable[[str], None] = lambda sentence: None,
    also: Sequence[str] = (),
) -> Iterator[Cell]:
    """Run what is not recorded yet, cell after cell in this process, and record it; gives each.

    Only the same run goes on or is recorded, not any that has the scores: its document says the
    rule. A cell that fails is given with its failed run, and the study goes on.

    Args:
        store: where folds are kept as they come.
        cells: as `cells.planned` gives them.
        job: computes a fold.
        on_fold: called after each.
        say: called with a sentence while a fold cannot be saved.
        also: metrics whose per-user scores are recorded besides the run's own.
    Raises: RunError if a fold or a file cannot be written in the end, so that the study ends.
    """
    queue = Queue(store)
    recover(store)
    for cell in cells:
        if cell.recorded:
            continue
        same = [run for run in store.runs() if run.spec.same_run(cell.spec)]
        idle = [run for run in same if not run.state.active]
        (begun,) = _queued(store, queue, filled([cell], idle))
        if begun.to_do:  # every fold is there, but the program ended before it could say so
            queue.resume(begun.run_id, full=cell.spec.full)
        trouble = GivesUp(say)
        execute(store, begun.run_id, InProcess(), job=job, on_fold=on_fold, on_trouble=trouble)
        if trouble.error is not None:
            raise trouble.error
        run = store.run(begun.run_id)
        if run.state is RunState.FINISHED and cell.path is not None:
            record(run, cell.path, store.user_scores(run.run_id), also)
        yield replace(begun, run=run)


def _queued(store: Store, queue: Queue, cells: Sequence[Cell]) -> list[Cell]:
    """Queue the cells without a run, as one group, and go on with those that were cut off."""
    cells = _started(store, queue, cells)
    for cell in cells:
        if cell.run and not cell.active and not answers(cell.run, cell.spec):
            queue.resume(cell.run_id, full=cell.spec.full)
    return cells


def _started(store: Store, queue: Queue, cells: Sequence[Cell]) -> list[Cell]:
    """Queue the cells without a run, as one group."""
    missing = list(dict.fromkeys(cell.spec for cell in cells if cell.run is None))
    started: Mapping[RunSpec, Run] = {}
    if missing:
        started = {run.spec: run for run in store.group(queue.start(missing))}
    return [
        cell
        if cell.run is not None
        else replace(cell, run=(run := started[cell.spec]), run_id=run.run_id, borrowed=False)
        for cell in cells
    ]
