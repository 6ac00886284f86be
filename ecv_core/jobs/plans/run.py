"""A run: fold after fold until its rule says stop, its cheap models first if it has some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ecv_core.jobs.plan import FoldTask, ScoresKnown, folds_of, next_fold
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import cheap_models, folds_planned
from ecv_core.store.results import aid_spec

SPECULATE = 1
"""So many folds more than its rule is sure to need, where there is a place."""


class RunPlan:
    """One run, from its next missing fold to its stop, or to its last fold."""

    independent = False

    def __init__(self, spec: RunSpec, *, speculate: int = SPECULATE) -> None:
        """Nothing is known yet.

        Args: speculate: how many folds may be computed beyond those that the rule is sure to need.
        """
        self.spec = spec
        self._speculate = speculate
        self._has_aids = False  # to see that they are there takes long, and is done once

    def next(self, known: ScoresKnown, under_way: Collection[FoldTask]) -> Sequence[FoldTask]:
        """The folds before which the rule cannot stop, then so many more as bets."""
        if known.ended(self.spec):
            return []
        if not self._has_aids:
            aids = tasks_of_aids(self.spec, known)
            self._has_aids = not aids
            if aids and not known.ended(aids[0].specs[0]):
                return not_yet(aids, under_way)
        run = known.run(self.spec)
        if run is not None and next_fold(run, full=self.spec.full) is None:
            return []
        spec = self.spec if run is None else replace(run.spec, full=self.spec.full or run.spec.full)
        done = {result.fold for result in (*run.folds, *run.ahead)} if run else set()
        turn = next(at for at, fold in enumerate(spec.fold_order) if fold not in done)
        least, most = folds_planned(spec)
        sure = max(least, turn + 1)
        tasks = [
            FoldTask(specs=(self.spec,), fold=fold, bet=at >= sure)
            for at, fold in enumerate(spec.fold_order[: min(sure + self._speculate, most)])
            if fold not in done
        ]
        return not_yet(tasks, under_way)


def not_yet(tasks: Sequence[FoldTask], under_way: Collection[FoldTask]) -> Sequence[FoldTask]:
    """Those of the tasks whose folds are not computed yet."""
    going = folds_of(under_way)
    return [task for task in tasks if going.isdisjoint(task.folds)] if going else tasks


def tasks_of_aids(spec: RunSpec, known: ScoresKnown) -> list[FoldTask]:
    """The folds that a cheap model lacks, the first that lacks some; none where all are there."""
    for name in cheap_models(spec):
        aid = aid_spec(spec, name)
        folds = known.folds(aid, user_scores=True).values()
        there = {result.fold for result in folds if result.user_scores}
        if missing := tuple(fold for fold in aid.fold_order if fold not in there):
            asked = replace(aid, only_folds=missing) if there else aid
            return [FoldTask(specs=(asked,), fold=fold) for fold in missing]
    return []
