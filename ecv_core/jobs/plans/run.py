"""A run: fold after fold until its rule says stop, its cheap models first if it has some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ecv_core.jobs.plan import ScoresKnown, Task, next_fold
from ecv_core.records import RunSpec
from ecv_core.stopping import cheap_models
from ecv_core.store.adjusting import aid_spec


class RunPlan:
    """One run, from its next missing fold to its stop, or to its last fold."""

    independent = False

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self._lacks_aids = True  # until it has been seen that they are there, which takes long

    def next(self, known: ScoresKnown, under_way: Collection[Task]) -> Sequence[Task]:
        """One fold at a time: the rule decides on each before the next."""
        if under_way or known.ended(self.spec):
            return []
        if self._lacks_aids and (cheap := next_of_aids(self.spec, known)):
            return cheap
        self._lacks_aids = False
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
        return [] if under_way else next_of_aids(self.spec, known)


def next_of_aids(spec: RunSpec, known: ScoresKnown) -> Sequence[Task]:
    """The first fold that a cheap model lacks; empty where all are there, or one has ended."""
    for name in cheap_models(spec):
        aid = aid_spec(spec, name)
        scored = [at for at, one in known.folds(aid, user_scores=True).items() if one.user_scores]
        if missing := missing_folds(aid, scored):
            if known.ended(aid):
                break
            return [Task(specs=(replace(aid, only_folds=tuple(missing)),), fold=missing[0])]
    return []


def missing_folds(spec: RunSpec, there: Collection[int]) -> list[int]:
    """The folds of a run that are not there, in its order."""
    return [fold for fold in spec.fold_order if fold not in there]
