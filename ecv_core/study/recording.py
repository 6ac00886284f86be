"""Datasets x algorithms x splits -> one whole run per cell, recorded; resumable at every fold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ecv_core.errors import InputError, RunError
from ecv_core.files import replacing
from ecv_core.records import SCORES, Role, Run, RunSpec, RunState, UserScores
from ecv_core.runner import InProcess, execute, this_process, work
from ecv_core.runner.drive import Job
from ecv_core.runs.document import run_document
from ecv_core.runs.environment import environment
from ecv_core.runs.recorded import FOLDER, recorded_path, user_scores_path
from ecv_core.runs.user_scores import write_user_scores
from ecv_core.spec import make_spec
from ecv_core.store import Store

USUAL_SPLIT = "user-k-fold"
"""The paper's, where no other is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One dataset x algorithm x split of a study."""

    spec: RunSpec
    path: Path

    @property
    def done(self) -> bool:
        """Whether its complete run is on disk."""
        return self.path.exists()


def cells(
    datasets: Iterable[str],
    algorithms: Iterable[str],
    splits: Iterable[str] = (),
    *,
    seed: int = 42,
    folder: Path = FOLDER,
) -> list[Cell]:
    """The cells of a study, each a whole run with every parameter at its default.

    Args:
        datasets: ids.
        algorithms: ids.
        splits: ids of strategies, each with its own default number of folds; single splits too.
            Without any it is a study of datasets x algorithms, under the usual split.
        seed: of all runs, so that algorithms share their folds.
        folder: where runs are recorded.
    Raises: InputError for an unknown name.
    """
    algorithms = list(algorithms)
    ways: list[str | None] = list(splits) or [None]
    return [
        Cell(
            spec=make_spec(
                dataset=dataset,
                algorithm=algorithm,
                split=USUAL_SPLIT if split is None else split,
                seed=seed,
                full=True,
            ),
            path=recorded_path(folder, dataset, algorithm, split),
        )
        for dataset in datasets
        for split in ways
        for algorithm in algorithms
    ]


def run_cells(
    store: Store,
    todo: Iterable[Cell],
    *,
    job: Job = work,
    on_fold: Callable[[Run], None] = lambda run: None,
    also: Sequence[str] = (),
) -> Iterator[tuple[Cell, Run]]:
    """Run the cells that are not recorded yet, in this process; gives each with its run.

    A cell that was cut off goes on at its next missing fold. A cell that fails is given with its
    failed run, and the study goes on.

    Args:
        store: where folds are kept as they come.
        todo: the cells.
        job: computes a fold.
        on_fold: called after each.
        also: metrics whose per-user scores are recorded besides the run's own.
    Raises: RunError if a file cannot be written.
    """
    for cell in todo:
        if cell.done:
            continue
        run_id = _run_of(store, cell.spec)
        execute(store, run_id, InProcess(), job=job, on_fold=on_fold)
        run = store.run(run_id)
        if run.state is RunState.FINISHED:
            record(run, cell.path, store.user_scores(run_id), also)
        yield cell, run


def record(
    run: Run,
    path: Path,
    users: Mapping[int, UserScores] | None = None,
    also: Sequence[str] = (),
) -> None:
    """Write a complete run with what it ran on, as a whole or not at all.

    Args:
        run: with all its folds.
        path: of the JSON document; per-user scores go beside it.
        users: fold -> per-user scores, where they are known.
        also: metrics such as 'recall@10' to keep of them, besides the run's own.
    Raises: InputError if folds are missing; RunError if the file cannot be written.
    """
    if not run.complete:
        raise InputError(f"run {run.run_id} has only {len(run.folds)} folds; finish it first")
    text = json.dumps(run_document(run) | {"made_with": environment()}, indent=1)
    users = users or {}
    try:
        wanted = dict.fromkeys([run.spec.metric_name, *also])
        known = [name for name in wanted if all(name in one.metrics for one in users.values())]
        if users and known:
            write_user_scores(users, known, user_scores_path(path))
        with replacing(path) as part:
            part.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; free it and go on") from None


def _run_of(store: Store, spec: RunSpec) -> str:
    """A queued run of this spec: one that was cut off, else a new one."""
    asked = (*SCORES, Role.STOP)
    for run in store.runs():
        if not run.state.active and run.spec.part(*asked) == spec.part(*asked):
            store.requeue(run.run_id, run.spec, owner=this_process())
            return run.run_id
    return store.create([spec], owner=this_process())[0]
