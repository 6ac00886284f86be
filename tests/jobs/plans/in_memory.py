"""A plan without a database, threads or a model: what is known is a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from random import Random

from ecv_core import stopping
from ecv_core.jobs.plan import FoldTask, Plan
from ecv_core.records.run import FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Fold = Callable[[RunSpec, int], FoldResult]


class InMemory:
    """What a plan looks at."""

    def __init__(self) -> None:
        self.runs: dict[RunSpec, RunRecord] = {}
        self.failed: set[RunSpec] = set()
        self.elsewhere: dict[tuple[RunSpec, int], FoldResult] = {}
        """Folds that no run of the plan has."""

    def run_of(self, spec: RunSpec) -> RunRecord | None:
        return self.runs.get(_bare(spec))

    def has_ended_incomplete(self, spec: RunSpec) -> bool:
        return _bare(spec) in self.failed

    def folds(self, spec: RunSpec) -> dict[int, FoldResult]:
        own = self.runs.get(_bare(spec))
        there = {index: one for (of, index), one in self.elsewhere.items() if of == _bare(spec)}
        return there | {one.fold: one for one in own.folds} if own else there

    def folds_with_users(self, spec: RunSpec, metric: str | None = None) -> dict[int, FoldResult]:
        return self.folds(spec)

    def put(self, spec: RunSpec, result: FoldResult) -> None:
        """Keep a fold of a run, and where its rule has stopped it."""
        run = self.runs.get(_bare(spec)) or RunRecord(
            run_id=str(len(self.runs)), spec=spec, state=RunState.RUNNING, folds=(), created_at=NOW
        )
        folds = (*run.folds, result)
        moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
        stop = stopping.stop_of(moments, run.k)
        self.runs[_bare(spec)] = replace(run, folds=folds, moments=moments, stopped_at=stop)


def _bare(spec: RunSpec) -> RunSpec:
    return replace(spec, only_folds=())


def played(
    plan: Plan,
    fold: Fold,
    *,
    known: InMemory | None = None,
    places: int = 1,
    random: Random | None = None,
) -> list[tuple[RunSpec, int]]:
    """Do what a plan asks for until it is done; gives what was computed, in this order.

    Args:
        plan: of which nothing is under way.
        fold: computes a fold.
        known: where results go.
        places: how many tasks may be under way at once.
        random: which of them is finished next.
    """
    known, random = known or InMemory(), random or Random(0)
    submitted_tasks: list[FoldTask] = []
    done: list[tuple[RunSpec, int]] = []
    while True:
        while free := places - len(submitted_tasks):
            tasks = list(islice(plan.next(known, tuple(submitted_tasks)), free))
            assert not {*tasks} & {*submitted_tasks}, "asked for twice"
            if not tasks:
                break
            submitted_tasks += tasks
        if not submitted_tasks:
            return done
        task = submitted_tasks.pop(random.randrange(len(submitted_tasks)))
        for spec in task.specs:
            assert (_bare(spec), task.fold) not in done, "computed twice"
            known.put(spec, fold(spec, task.fold))
            done.append((_bare(spec), task.fold))


def sure(tasks: Iterable[FoldTask]) -> list[FoldTask]:
    """Those of what a plan gives that are no bet."""
    return [task for task in tasks if not task.bet]
