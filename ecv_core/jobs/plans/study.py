"""A study: datasets x splits x algorithms as runs, filled with what is there, computed where not.

A run with all k folds answers for every rule and alpha, whichever it was stopped by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from ecv_core import dataset as datasets
from ecv_core import splits
from ecv_core.analysis.tradeoff.curves import PAPER_ALGORITHMS
from ecv_core.fold import check_needs, data_of
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
from ecv_core.jobs.plan import FoldTask, PlanResults, folds_of, next_fold
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import SPECULATE, RunPlan
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.plans import STUDY, PlannedRun, PlanRecord, keep_plan, stored_plan
from ecv_core.store.recorded import is_recorded, record, recorded_path
from ecv_core.store.rescue import import_rescued_runs
from ecv_core.store.results import Results
from ecv_core.store.store import Store

PAPER_DATASETS = (
    "amazon-cell-phones",
    "amazon-apps",
    "amazon-instant-video",
    "hetrec-lastfm",
    "ml-100k",
    "ml-1m",
)
"""The paper's 30 cells are each of these algorithms on each of these datasets."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run that a study asks for, and the run that fills its place."""

    spec: RunSpec
    run: RunRecord | None = None
    """As it was when it was looked up; None where there is none, or it has been deleted."""
    is_reused: bool = False
    """Whether the run was not started for this study."""
    path: Path | None = None
    """Where it is recorded once it has ended, as of `recorded_path`; None where it stays in the
    database only."""

    @property
    def recorded(self) -> bool:
        """Whether its run is recorded, with all folds that were asked for."""
        return self.path is not None and is_recorded(self.path)

    @property
    def active(self) -> bool:
        """Whether its folds are being computed, or wait for it."""
        return self.run is not None and self.run.state.active

    @property
    def is_unfinished(self) -> bool:
        """Whether folds are missing that nobody is going to compute unasked."""
        return self.run is None or self.run.resumable

    @property
    def has_every_score(self) -> bool:
        """Whether its run has every score that is asked for."""
        return self.run is not None and answers(self.run, self.spec)

    @property
    def ended_early(self) -> bool:
        """Whether it ended at its stop, with folds left that could check it."""
        return self.run is not None and self.run.can_be_checked


class StudyPlan:
    """Several runs, each to its own stop; one that fails ends only itself."""

    independent = True

    def __init__(self, specs: Iterable[RunSpec], *, speculate: int = SPECULATE) -> None:
        """Of runs with these specs; `speculate` as of RunPlan."""
        self._run_plans = [RunPlan(spec, speculate=speculate) for spec in specs]
        """Of the runs that are not done."""

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Iterator[FoldTask]:
        """What the first run is sure to need, then the second, and so on; then what are bets."""
        tasks_of_spec: dict[RunSpec, list[FoldTask]] = defaultdict(list)
        for task in submitted_tasks:
            tasks_of_spec[task.specs[0]].append(task)
        begun_folds = folds_of(submitted_tasks)  # two runs may need a fold of the same cheap model
        bets = []
        for run_plan in list(self._run_plans):
            own_tasks = tasks_of_spec[run_plan.spec]
            tasks = run_plan.next(results, own_tasks)
            # A run that needs no more fold leaves the plan. One that has failed stays, and goes on
            # where the plan is driven again.
            has_failed = results.has_ended_incomplete(run_plan.spec)
            if not tasks and not own_tasks and not has_failed:
                self._run_plans.remove(run_plan)
            # A bet is a fold that may turn out not to be needed, as its run may stop before it:
            # the folds that any run is sure to need come before all bets.
            for task in tasks:
                if task.bet:
                    bets.append(task)
                elif begun_folds.isdisjoint(task.folds):
                    begun_folds |= task.folds
                    yield task
        yield from bets


def planned_cells(
    dataset_ids: Iterable[str],
    algorithms: Iterable[str | Mapping[str, Any]],
    split_ids: Iterable[str] = (),
    *,
    folder: Path | None = None,
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[Cell]:
    """The runs of a study, every parameter at its default; nothing fills them yet.

    Args:
        algorithms: Ids; or settings of `make_spec` that say which model it is.
        split_ids: The split ids of strategies, each with its own default number of folds; single
            splits too. Without any it is a study of datasets x algorithms, under each algorithm's
            usual split.
        folder: Where the runs are to be recorded, if they are: those that their rule ends early
            apart, unless the whole run is there.
        settings: The settings of all runs, as of `make_spec`; one seed for all, so that algorithms
            share folds.

    Raises:
        InputError: For an unknown name, or a setting that cannot be.
    """
    compared_splits: list[str | None] = list(split_ids)
    if not compared_splits:
        compared_splits = [None]  # each algorithm's usual split
    cells = []
    for dataset, split, algorithm in product(dataset_ids, compared_splits, algorithms):
        model_settings = algorithm
        if isinstance(algorithm, str):
            model_settings = {"algorithm": algorithm}
        spec = make_spec(dataset=dataset, split=split, **model_settings, **settings)
        path = None
        if folder is not None:
            path = _path_of(spec, folder, split)
        cells.append(Cell(spec=spec, path=path))
    return cells


def _path_of(spec: RunSpec, folder: Path, split: str | None) -> Path:
    """Where a run of a study is recorded; see `planned_cells` for the arguments."""
    path_of_whole_run = recorded_path(folder, spec.dataset, spec.algorithm, split)
    may_stop_early = split is None and spec.rule != NEVER_STOPS and not spec.full
    # A whole run that is recorded serves a study that may stop early, too.
    if may_stop_early and not is_recorded(path_of_whole_run):
        return recorded_path(folder, spec.dataset, spec.algorithm, ends_at_stop=True)
    return path_of_whole_run


def of_the_paper(spec: RunSpec) -> bool:
    """Whether it is one of the paper's 30 cells."""
    return spec.dataset in PAPER_DATASETS and spec.algorithm in PAPER_ALGORITHMS


def with_obstacles(cells: Iterable[Cell]) -> Iterator[tuple[Cell, str | None]]:
    """Each with why it cannot be run on the data that are on disk; None where it can.

    Reads and splits a dataset once, and only where that can tell.
    """
    split_obstacles: dict[object, str | None] = {}
    for cell in cells:
        spec = cell.spec
        obstacle = None
        if not datasets.available(datasets.entry(spec.dataset)):
            obstacle = f"{spec.dataset} is not on disk"
        elif spec.split != spec.task.usual_split:
            key = (spec.dataset, spec.split, spec.split_params, spec.k, spec.task)
            if key not in split_obstacles:
                split_obstacles[key] = splits.obstacle(
                    data_of(spec), spec.split, spec.k, dict(spec.split_params)
                )
            obstacle = split_obstacles[key]
        if obstacle is None:
            try:
                check_needs(spec)
            except DatasetError as error:
                obstacle = str(error)
        yield cell, obstacle


def first_run_that_answers(spec: RunSpec, runs: Iterable[RunRecord]) -> RunRecord | None:
    """The first of these runs that answers for this spec; None if there is none."""
    for run in runs:
        if answers(run, spec):
            return run
    return None


def cells_with_runs(
    cells: Iterable[Cell], store: Store, may_resume: Callable[[RunRecord], bool] = lambda run: True
) -> list[Cell]:
    """The same, each with the run that answers for it, or else the one begun that has most folds.

    Args:
        cells: Without runs.
        store: Where to look; recorded runs may fill a cell as well.
        may_resume: Which runs of the database may be gone on with; others answer where they can.
    """
    results = Results(store)
    cells_now = []
    for cell in cells:
        run = first_run_that_answers(cell.spec, results.runs(cell.spec))
        if run is None:
            run = most_folds(filter(may_resume, begun_runs(store, cell.spec)))
        if run is not None:
            cell = replace(cell, run=run, is_reused=True)
        cells_now.append(cell)
    return cells_now


def most_folds(runs: Iterable[RunRecord]) -> RunRecord | None:
    """The first of the runs with the most folds; None without a run."""
    return max(runs, key=lambda run: len(run.folds), default=None)


def begun_runs(store: Store, spec: RunSpec) -> list[RunRecord]:
    """The runs of the database that ask for the same, with or without folds."""
    return [run for run in store.runs_like(spec) if run.spec.same_run(spec)]


def answers(run: RunRecord, spec: RunSpec) -> bool:
    """Whether a run has every score that the spec asks for."""
    if not run.spec.same_scores(spec):
        return False
    if {result.fold for result in run.folds} >= set(spec.fold_order):
        return True
    return not spec.full and run.state is RunState.FINISHED and run.spec.same_run(spec)


# -- in the database, for pages -----------------------------------------------------------------


class RunQueue(Protocol):
    """Where a study puts its runs: `manager.Queue`, or as much of it as somebody may use."""

    def start(self, specs: Sequence[RunSpec], *, plan_id: str = "") -> str:
        """As `Queue.start`."""

    def resume(self, run_id: str, *, full: bool = False) -> bool:
        """As `Queue.resume`."""

    def cancel(self, run_id: str) -> None:
        """As `Queue.cancel`."""


def begin(
    store: Store,
    queue: RunQueue,
    cells: Sequence[Cell],
    *,
    started_by: str = "",
    may_resume: Callable[[RunRecord], bool] = lambda run: True,
    compute_on: str = "",
) -> str:
    """Keep a study and queue what is missing; gives its id.

    Args:
        cells: As `planned_cells` gives them.
        started_by: The id of a person, as of `Store.create`.
        may_resume: As of `cells_with_runs`.
        compute_on: Where its runs are computed, as of `Store.compute_on`.

    Raises:
        InputError: Without a cell.
    """
    if not cells:
        raise InputError("a study needs at least one dataset and one algorithm; choose some")
    study_id = keep_plan(
        store, STUDY, [PlannedRun(spec=cell.spec) for cell in cells], started_by=started_by
    )
    store.compute_on(study_id, compute_on)
    cells_now = cells_with_runs(cells, store, may_resume)
    _queue_missing(queue, study_id, cells_now)
    for cell in cells_now:
        if cell.run is not None and not cell.active and not cell.has_every_score:
            queue.resume(cell.run.run_id, full=cell.spec.full)
    return study_id


def cells_of_study(store: Store, study_id: str) -> list[Cell]:
    """A study's cells with their runs as they are now, in the order in which they were picked.

    Raises:
        InputError: If there is no such study.
    """
    runs_of_study = store.group(study_id)
    cells = []
    for planned_run in stored_plan(store, STUDY, study_id).content.runs:
        spec = planned_run.spec
        own_runs = [run for run in runs_of_study if run.spec.same_run(spec)]
        if own_runs:
            cells.append(Cell(spec=spec, run=own_runs[-1]))  # the newest
        else:
            cells += cells_with_runs([Cell(spec=spec)], store)
    return cells


def go_on(store: Store, queue: RunQueue, study_id: str, *, full: bool = False) -> None:
    """Queue what is missing: each cell goes on at its next missing fold, a deleted one from none.

    Args:
        full: Also the folds after each stop.
    """
    cells = cells_of_study(store, study_id)
    for cell in cells:
        if cell.run is not None and (cell.is_unfinished or (full and cell.ended_early)):
            queue.resume(cell.run.run_id, full=full or cell.spec.full)
    _queue_missing(queue, study_id, cells)


def cancel(queue: RunQueue, cells: Sequence[Cell]) -> None:
    """Cancel every cell that is still to be computed: the queue first, or the next would start."""
    for cell in reversed(cells):
        if cell.run is not None and cell.active:
            queue.cancel(cell.run.run_id)


def n_splits(study: PlanRecord) -> int:
    """How many ways to split a study compares; most have one."""
    ways = set()
    for run in study.content.runs:
        spec = run.spec
        ways.add((spec.split, spec.split_params, spec.folds_sha256, spec.k))
    return len(ways)


def _queue_missing(queue: RunQueue, study_id: str, cells: Sequence[Cell]) -> None:
    """Queue the cells without a run."""
    without_run = [cell.spec for cell in cells if cell.run is None]
    if without_run:
        queue.start(list(dict.fromkeys(without_run)), plan_id=study_id)


# -- on the command line ------------------------------------------------------------------------


def compute_study(
    store: Store,
    cells: Iterable[Cell],
    *,
    executor: Executor | None,
    speculate: int = SPECULATE,
    callbacks: Callbacks | None = None,
    on_end: Callable[[Cell], object] = lambda cell: None,
    more_metrics: Sequence[str] = (),
) -> list[Cell]:
    """Run and record what is not recorded yet; gives the cells with their runs.

    Only the same run goes on or is recorded, not any that has the scores: its document says the
    rule. A cell that fails ends with its failed run, and the study goes on.

    Args:
        store: Where folds are kept as they come.
        cells: As `planned_cells` gives them.
        executor: Computes the folds; by default this process.
        speculate: As of `RunPlan`.
        on_end: Called with each cell once its run has ended, and is recorded if it finished.
        more_metrics: Whose per-user scores are recorded besides the run's own.

    Raises:
        RunError: If a fold or a file cannot be written in the end, so that the study ends.
    """
    interrupt_abandoned_runs(store)
    import_rescued_runs(store)
    unrecorded = [cell for cell in cells if not cell.recorded]
    ended_cells = []

    def record_and_tell(run: RunRecord) -> None:
        for cell in unrecorded:
            if not cell.spec.same_run(run.spec):
                continue  # a cheap model, whose scores adjust the run of a cell, may end as well
            ended_cell = replace(cell, run=run)
            _record(ended_cell, store, more_metrics)
            ended_cells.append(ended_cell)
            on_end(ended_cell)

    runs_to_go_on = []
    for cell in unrecorded:
        run = _run_to_go_on(cell, store)
        if run is not None:
            runs_to_go_on.append(run)
            if _is_complete(run, cell):  # its program ended before it could record the run
                record_and_tell(run)
    plan_runs = PlanRuns(
        store,
        runs=runs_to_go_on,
        callbacks=replace(callbacks or Callbacks(), ended=record_and_tell),
    )
    plan = StudyPlan([cell.spec for cell in unrecorded], speculate=speculate)
    drive(plan, plan_runs, executor)
    return ended_cells


def _run_to_go_on(cell: Cell, store: Store) -> RunRecord | None:
    """The cell's run with the most folds among those that nobody computes now."""
    inactive_runs = [run for run in begun_runs(store, cell.spec) if not run.state.active]
    return most_folds(inactive_runs)


def _is_complete(run: RunRecord, cell: Cell) -> bool:
    """Whether the run has finished, with every fold that the cell asks for."""
    return run.state is RunState.FINISHED and next_fold(run, full=cell.spec.full) is None


def _record(cell: Cell, store: Store, more_metrics: Sequence[str]) -> None:
    """Write a finished run where its cell is to be recorded, if anywhere."""
    run = cell.run
    if run is not None and run.state is RunState.FINISHED and cell.path is not None:
        record(run, cell.path, store.user_scores(run.run_id), more_metrics)
