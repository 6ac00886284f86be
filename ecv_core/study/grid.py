"""Datasets x algorithms as one study in the database: begun, looked at, gone on with, cancelled.

Cells whose folds are known already are not computed again: a run with all k folds answers for every
rule and alpha, whichever it was stopped by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ecv_core.errors import InputError
from ecv_core.records import SCORES, Role, Run, RunSpec, RunState
from ecv_core.store import PlannedCell, Store, keep_study, stored_study


class Queue(Protocol):
    """The part of a run manager that a study needs."""

    def start(self, specs: Sequence[RunSpec]) -> str:
        """Queue one run per spec; gives the id of their group."""

    def resume(self, run_id: str, *, full: bool = False) -> None:
        """Go on with a run at its next missing fold; `full` also after its stop."""

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop; its finished folds are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """One dataset x algorithm of a study, as it is now."""

    spec: RunSpec
    run: Run | None
    """None where its run has been deleted."""
    borrowed: bool = False
    """Whether the run was there before the study."""

    @property
    def to_do(self) -> bool:
        """Whether folds are missing that nobody is going to compute unasked."""
        return self.run is None or self.run.resumable

    @property
    def early(self) -> bool:
        """Whether it ended at its stop, with folds left that could check it."""
        return self.run is not None and self.run.can_be_checked


def begin(
    store: Store,
    queue: Queue,
    specs: Sequence[RunSpec],
    *,
    recorded: Iterable[Run] = (),
    anew: bool = False,
) -> str:
    """Start a study; gives its id.

    Args:
        store: where it is kept.
        queue: what runs it.
        specs: one per cell.
        recorded: runs outside the database that may fill a cell.
        anew: run every cell, even where an equal run is known.
    Raises: InputError without a cell.
    """
    if not specs:
        raise InputError("a study needs at least one dataset and one algorithm; pick some")
    known = [] if anew else [*store.runs(), *recorded]
    cells = [(spec, _filler(spec, known)) for spec in specs]
    return keep_study(store, _filled(store, queue, cells))


def grid_cells(store: Store, study_id: str, recorded: Iterable[Run] = ()) -> list[GridCell]:
    """A study's cells as they are now, in the order in which they were picked.

    Raises: InputError if there is no such study.
    """
    study = stored_study(store, study_id)
    runs = {run.run_id: run for run in recorded}
    runs |= {run.run_id: run for run in store.runs()}
    return [
        GridCell(
            spec=cell.spec,
            # A borrowed run may have been recorded again since, under another id.
            run=runs.get(cell.run_id)
            or (reusable(cell.spec, runs.values()) if cell.borrowed else None),
            borrowed=cell.borrowed,
        )
        for cell in study.cells
    ]


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
    cells = grid_cells(store, study_id, recorded)
    for cell in cells:
        if cell.run is not None and (cell.to_do or (full and cell.early)):
            queue.resume(cell.run.run_id, full=full or cell.spec.full)
    if gone := [cell.spec for cell in cells if cell.run is None]:
        again = {cell.spec: cell for cell in _filled(store, queue, [(one, None) for one in gone])}
        keep_study(
            store,
            [
                again[cell.spec]
                if cell.run is None
                else PlannedCell(spec=cell.spec, run_id=cell.run.run_id, borrowed=cell.borrowed)
                for cell in cells
            ],
            study_id,
        )


def cancel(queue: Queue, cells: Sequence[GridCell]) -> None:
    """Cancel every cell that is still to be computed: the queue first, or the next would start."""
    for cell in reversed(cells):
        if cell.run is not None and cell.run.state.active:
            queue.cancel(cell.run.run_id)


def reusable(spec: RunSpec, runs: Iterable[Run]) -> Run | None:
    """A finished run that answers for this spec; None if there is none."""
    return next((run for run in runs if _answers(run, spec)), None)


def _filler(spec: RunSpec, runs: Sequence[Run]) -> Run | None:
    """The run that fills a cell: one that is done, else the one begun that has most folds."""
    begun = [run for run in runs if _same(run.spec, spec)]
    return reusable(spec, runs) or max(begun, key=lambda run: len(run.folds), default=None)


def _filled(
    store: Store, queue: Queue, cells: Sequence[tuple[RunSpec, Run | None]]
) -> list[PlannedCell]:
    """Queue the cells without a run, as one group, and go on with those that were cut off."""
    missing = list(dict.fromkeys(spec for spec, run in cells if run is None))
    started: Mapping[RunSpec, str] = {}
    if missing:
        group = store.group(queue.start(missing))
        started = {run.spec: run.run_id for run in group}
    for spec, run in cells:
        if run is not None and not run.state.active and not _answers(run, spec):
            queue.resume(run.run_id, full=spec.full)
    return [
        PlannedCell(
            spec=spec,
            run_id=started[spec] if run is None else run.run_id,
            borrowed=run is not None,
        )
        for spec, run in cells
    ]


def _answers(run: Run, spec: RunSpec) -> bool:
    """Whether a run has every score that the spec asks for."""
    if run.spec.part(*SCORES) != spec.part(*SCORES):
        return False
    if run.complete:
        return True
    return not spec.full and run.state is RunState.FINISHED and _same(run.spec, spec)


def _same(one: RunSpec, other: RunSpec) -> bool:
    """Whether two specs ask for the same but for where it ends and what is only reported."""
    asked = replace(one, full=other.full).part(*SCORES, Role.STOP)
    return asked == other.part(*SCORES, Role.STOP)
