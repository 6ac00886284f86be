"""Datasets x splits x algorithms -> the runs of a study, and which runs that are there fill them.

A run with all k folds answers for every rule and alpha, whichever it was stopped by. Whether two
specs ask for the same is said by the roles of their settings: `RunSpec.same_scores`, `same_run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ecv_core.datasets as datasets
from ecv_core import splits
from ecv_core.errors import DatasetError
from ecv_core.fold import check_needs, data_of
from ecv_core.records import Run, RunSpec, RunState, Task
from ecv_core.runs.recorded import recorded_path
from ecv_core.spec import make_spec
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store import Cell

PAPER_ALGORITHMS = ("popular", "item-knn", "implicit-mf", "multi-vae", "neu-mf")
PAPER_DATASETS = (
    *("amazon-cell-phones", "amazon-apps", "amazon-instant-video"),
    *("hetrec-lastfm", "ml-100k", "ml-1m"),
)
"""The paper's 30 cells are each of these algorithms on each of these datasets."""

USUAL_SPLIT = "user-k-fold"
"""The paper's, where no other is asked for; every prepared dataset can be split so."""


def planned(
    datasets_of: Iterable[str],
    algorithms: Iterable[str],
    splits_of: Iterable[str] = (),
    *,
    folder: Path | None = None,
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[Cell]:
    """The runs of a study, every parameter at its default; nothing fills them yet.

    Args:
        datasets_of: ids.
        algorithms: ids.
        splits_of: ids of strategies, each with its own default number of folds; single splits too.
            Without any it is a study of datasets x algorithms, under each algorithm's usual split.
        folder: where the runs are to be recorded, if they are: those that their rule ends early
            apart, unless the whole run is there.
        settings: of all runs, as of `make_spec`; one seed for all, so that algorithms share folds.
    Raises: InputError for an unknown name, or a setting that cannot be.
    """
    algorithms = list(algorithms)
    ways: list[str | None] = list(splits_of) or [None]
    cells = []
    for dataset in datasets_of:
        for split in ways:
            for algorithm in algorithms:
                spec = make_spec(dataset=dataset, algorithm=algorithm, split=split, **settings)
                stops = split is None and spec.rule != NEVER_STOPS and not spec.full
                path = folder and recorded_path(folder, dataset, algorithm, split)
                if folder and path and stops and not path.exists():
                    path = recorded_path(folder, dataset, algorithm, stops=True)
                cells.append(Cell(spec=spec, path=path))
    return cells


def of_the_paper(spec: RunSpec) -> bool:
    """Whether it is one of the paper's 30 cells."""
    return spec.dataset in PAPER_DATASETS and spec.algorithm in PAPER_ALGORITHMS


def with_obstacles(cells: Iterable[Cell]) -> Iterator[tuple[Cell, str | None]]:
    """Each with why it cannot be run on the data that are on disk; None where it can.

    Reads and splits a dataset once, and only where that can tell.
    """
    known: dict[tuple[str, str, int, Task], str | None] = {}
    for cell in cells:
        spec = cell.spec
        way = spec.dataset, spec.split, spec.k, spec.task
        if way not in known:
            known[way] = _unable(spec)
        why = known[way]
        if why is None:
            try:
                check_needs(spec)
            except DatasetError as error:
                why = str(error)
        yield cell, why


def _unable(spec: RunSpec) -> str | None:
    """Why a dataset cannot be read or split; None where it can."""
    if not datasets.available(datasets.entry(spec.dataset)):
        return f"{spec.dataset} is not on disk"
    usual = spec.split == USUAL_SPLIT
    return None if usual else splits.obstacle(data_of(spec), spec.split, spec.k)


def filled(cells: Iterable[Cell], own: Sequence[Run], recorded: Sequence[Run] = ()) -> list[Cell]:
    """The same, each with the run that answers for it, or else the one begun that has most folds.

    Args:
        cells: of a study.
        own: runs of the database, which can go on.
        recorded: runs outside it, which cannot.
    """
    found = []
    for cell in cells:
        begun = [run for run in own if run.spec.same_run(cell.spec)]
        run = reusable(cell.spec, [*own, *recorded])
        run = run or max(begun, key=lambda one: len(one.folds), default=None)
        found.append(
            cell if run is None else replace(cell, run=run, run_id=run.run_id, borrowed=True)
        )
    return found


def reusable(spec: RunSpec, runs: Iterable[Run]) -> Run | None:
    """A finished run that answers for this spec; None if there is none."""
    return next((run for run in runs if answers(run, spec)), None)


def answers(run: Run, spec: RunSpec) -> bool:
    """Whether a run has every score that the spec asks for."""
    if not run.spec.same_scores(spec):
        return False
    if {result.fold for result in run.folds} >= set(spec.fold_order):
        return True
    return not spec.full and run.state is RunState.FINISHED and run.spec.same_run(spec)
