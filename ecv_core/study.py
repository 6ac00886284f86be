"""Datasets x algorithms -> one complete run per cell, recorded as JSON; resumable at every fold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ecv_core.document import run_document
from ecv_core.errors import InputError, RunError
from ecv_core.per_user import write_user_scores
from ecv_core.recorded import FOLDER, user_scores_path
from ecv_core.records import Run, RunSpec, RunState, UserScores
from ecv_core.runner import InProcess, execute, this_process, work
from ecv_core.runner.drive import Job
from ecv_core.spec import make_spec
from ecv_core.store import Store
from ecv_core.surroundings import surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One dataset x algorithm of a study."""

    spec: RunSpec
    path: Path

    @property
    def done(self) -> bool:
        """Whether its complete run is on disk."""
        return self.path.exists()


def cells(
    datasets: Iterable[str], algorithms: Iterable[str], *, seed: int = 42, folder: Path = FOLDER
) -> list[Cell]:
    """The cells of a study, each a whole 10-fold run with every parameter at its default.

    Raises: InputError for an unknown name.
    """
    algorithms = list(algorithms)
    return [
        Cell(
            spec=make_spec(dataset=dataset, algorithm=algorithm, seed=seed, full=True),
            path=folder / f"{dataset}--{algorithm}.json",
        )
        for dataset in datasets
        for algorithm in algorithms
    ]


def run_cells(
    store: Store,
    todo: Iterable[Cell],
    *,
    job: Job = work,
    on_fold: Callable[[Run], None] = lambda run: None,
) -> Iterator[tuple[Cell, Run]]:
    """Run the cells that are not recorded yet, in this process; gives each with its run.

    A cell that was cut off goes on at its next missing fold. A cell that fails is given with its
    failed run, and the study goes on.

    Raises: RunError if a file cannot be written.
    """
    for cell in todo:
        if cell.done:
            continue
        run_id = _run_of(store, cell.spec)
        execute(store, run_id, InProcess(), job=job, on_fold=on_fold)
        run = store.run(run_id)
        if run.state is RunState.FINISHED:
            record(run, cell.path, store.user_scores(run_id))
        yield cell, run


def record(run: Run, path: Path, users: Mapping[int, UserScores] | None = None) -> None:
    """Write a complete run with what it ran on, as a whole or not at all.

    Args:
        run: with all its folds.
        path: of the JSON document; per-user scores go beside it.
        users: fold -> per-user scores, where they are known.
    Raises: InputError if folds are missing; RunError if the file cannot be written.
    """
    if len(run.folds) < len(run.spec.fold_order):
        raise InputError(f"run {run.run_id} has only {len(run.folds)} folds; finish it first")
    text = json.dumps(run_document(run) | {"made_with": surroundings()}, indent=1)
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if users and all(run.spec.metric_name in one.metrics for one in users.values()):
            write_user_scores(users, run.spec.metric_name, user_scores_path(path))
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise RunError(f"{path} cannot be written: {error.strerror}; free it and go on") from None


def _run_of(store: Store, spec: RunSpec) -> str:
    """A queued run of this spec: one that was cut off, else a new one."""
    for run in store.runs():
        if not run.state.active and replace(run.spec, country=spec.country) == spec:
            store.requeue(run.run_id, run.spec, owner=this_process())
            return run.run_id
    return store.create([spec], owner=this_process())[0]
