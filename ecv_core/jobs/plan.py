"""What is to be computed: a plan says which folds come next, from the results so far alone.

A plan knows no thread, process or cluster, and creates nothing in the database: the driver
(`jobs.driver`) has its folds computed by an executor (`jobs.executors`), and `jobs.plan_runs` keeps
them. So a plan can be tested without either, and decides the same wherever its folds run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.records.spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class FoldTask:
    """What is computed at once, on one machine, under one meter."""

    specs: tuple[RunSpec, ...]
    """One run, or several configurations that share work (see `computing.sharing_key`). Their
    `only_folds` are those that the run is to have where it has to be made or goes on."""
    fold: int
    """The held-out fold, 0 .. k-1."""
    bet: bool = field(default=False, compare=False)
    """Whether it may turn out that nobody needs it, as when the rule stops before."""

    @property
    def folds(self) -> set[tuple[RunSpec, int]]:
        """What it computes, whichever other folds are asked for."""
        return {(_plain(spec), self.fold) for spec in self.specs}


# With 200 nodes it is called thousands of times a second.
@lru_cache(maxsize=100_000)
def _plain(spec: RunSpec) -> RunSpec:
    return replace(spec, only_folds=(), full=False)


def folds_of(tasks: Iterable[FoldTask]) -> set[tuple[RunSpec, int]]:
    """What these tasks compute, as of `FoldTask.folds`."""
    return set().union(*(task.folds for task in tasks))


def without_submitted(
    tasks: Sequence[FoldTask], submitted_tasks: Collection[FoldTask]
) -> Sequence[FoldTask]:
    """Those of the tasks whose folds nobody computes yet."""
    folds = folds_of(submitted_tasks)
    return [task for task in tasks if folds.isdisjoint(task.folds)]


class PlanResults(Protocol):
    """What a plan looks at: its own runs, and every fold that has the scores of a spec."""

    def run_of(self, spec: RunSpec) -> RunRecord | None:
        """The plan's own run of this spec; None before it has one."""

    def has_ended_incomplete(self, spec: RunSpec) -> bool:
        """Whether that run has failed or was cancelled since the driver began."""

    def folds(self, spec: RunSpec) -> Mapping[int, FoldResult]:
        """Fold -> result, whichever run has computed it."""

    def folds_with_users(
        self, spec: RunSpec, metric: str | None = None
    ) -> Mapping[int, FoldResult]:
        """The same with every user's scores where they were kept; of one metric if it is named."""


class Plan(Protocol):
    """A run, a study, a selection, a tuning."""

    independent: bool
    """Whether cancelling one of its runs ends only that run, and not the plan."""

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Iterable[FoldTask]:
        """Folds to compute now, the most urgent first; asked again while there is a free place.

        A driver with one place takes the first only, so bets come last. A bet under way that the
        plan would not make any more is cancelled; to see that it is asked as if nothing were.

        Args:
            submitted_tasks: Tasks that are being computed; they are not to be given again.

        Returns:
            Empty while there is nothing to do but to wait for what is under way; the plan is done
            once nothing is.

        Raises:
            InputError: Where it cannot go on, with the way out.
        """


def next_fold(run: RunRecord, *, full: bool = False) -> int | None:
    """The fold that a run needs next; None when its rule has stopped it or all folds are in.

    Args:
        run: Whose folds are looked at.
        full: Whether it goes on after its stop, also where its spec does not say so.
    """
    if run.stopped_at is not None and not (run.spec.full or full):
        return None
    done = folds_done(run)
    for fold in run.spec.fold_order:
        if fold not in done:
            return fold
    return None


def folds_done(run: RunRecord | None) -> set[int]:
    """The folds that a run has, those before their turn too; none where there is no run yet."""
    if run is None:
        return set()
    return {result.fold for result in (*run.folds, *run.ahead)}
