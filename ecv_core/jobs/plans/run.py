"""A run: fold after fold until its rule says stop, its cheap models first if it has some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ecv_core.jobs.plan import ScoresKnown, Task, next_fold
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import cheap_models
from ecv_core.store.results import aid_spec


class RunPlan:
    """One run, from its next missing fold to its stop, or to its last fold."""

    independent = False

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self._has_aids = False  # to see that they are there takes long, and is done once

    def next(self, known: ScoresKnown, under_way: Collection[Task]) -> Sequence[Task]:
        """One fold at a time: the rule decides on each before the next."""
        if under_way or known.ended(self.spec):
            return []
        aid = None if self._has_aids else next_of_aids(self.spec, known)
        self._has_aids = aid is None
        if aid is not None and not known.ended(aid.specs[0]):
            return [aid]
        run = known.run(self.spec)
        index = self.spec.fold_order[0] if run is None else next_fold(run, full=self.spec.full)
        return [] if index is None else [Task(specs=(self.spec,), fold=index)]


class AidsPlan:
    """The cheap models of a run whose own folds other code computes."""

    independent = False

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec

    def next(self, known: ScoresKnown, under_way: Collection[Task]) -> Sequence[Task]:
        """One fold at a time."""
        aid = None if under_way else next_of_aids(self.spec, known)
        return [] if aid is None or known.ended(aid.specs[0]) else [aid]


def next_of_aids(spec: RunSpec, known: ScoresKnown) -> Task | None:
    """The first fold that a cheap model lacks; None where all are there."""
    for name in cheap_models(spec):
        aid = aid_spec(spec, name)
        folds = known.folds(aid, user_scores=True).values()
        there = {result.fold for result in folds if result.user_scores}
        if missing := tuple(fold for fold in aid.fold_order if fold not in there):
            asked = replace(aid, only_folds=missing) if there else aid
            return Task(specs=(asked,), fold=missing[0])
    return None
