"""A run: fold after fold until its rule says stop, its cheap models first if it has some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.jobs.plan import ScoresKnown, Task, next_fold
from ecv_core.records import FoldResult, RunSpec, UserScores
from ecv_core.spec import rule_of
from ecv_core.stopping import Precision, StoppingRule
from ecv_core.stopping.adjustment import Aids
from ecv_core.store import Results


class RunPlan:
    """One run, from its next missing fold to its stop, or to its last fold."""

    independent = False

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec

    def next(self, known: ScoresKnown, under_way: Collection[Task]) -> Sequence[Task]:
        """One fold at a time: the rule decides on each before the next."""
        run = known.run(self.spec)
        if under_way or known.ended(self.spec):
            return []
        if cheap := next_of_aids(self.spec, known):
            return cheap
        index = self.spec.fold_order[0] if run is None else next_fold(run)
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
    """The first fold that a cheap model lacks; empty where all are there."""
    for name in spec.adjust_by:
        aid = aid_spec(spec, name)
        scored = [at for at, one in known.folds(aid, user_scores=True).items() if one.user_scores]
        if missing := missing_folds(aid, scored):
            return [Task(specs=(aid,), fold=missing[0])]
    return []


def missing_folds(spec: RunSpec, there: Collection[int]) -> list[int]:
    """The folds of a run that are not there, in its order."""
    return [fold for fold in spec.fold_order if fold not in there]


def aid_spec(spec: RunSpec, name: str) -> RunSpec:
    """All folds of a cheap model, on the folds of this run; its parameters are at their defaults.

    Args:
        spec: of the run that is adjusted.
        name: id of the cheap model.
    Raises: UnknownName.
    """
    return replace(
        spec,
        algorithm=name,
        params=models.algorithm(name).resolve({}),
        tracked=False,
        rule="never",
        tolerance=None,
        min_folds=1,
        full=False,
        adjust_by=(),
    )


def aid_folds(results: Results, spec: RunSpec) -> dict[str, Mapping[int, FoldResult]]:
    """The folds of each cheap model that a run is adjusted by; empty for one that lacks some."""
    found: dict[str, Mapping[int, FoldResult]] = {}
    for name in spec.adjust_by:
        folds = results.folds(aid_spec(spec, name))
        found[name] = {} if missing_folds(spec, folds) else folds
    return found


def aids_of(results: Results, spec: RunSpec, names: Iterable[str]) -> Aids:
    """The scores of these cheap models, at least one.

    Args:
        results: to look in.
        spec: of the run that is adjusted.
        names: ids.
    Raises: InputError for one without all folds.
    """
    found: dict[str, Mapping[int, UserScores]] = {}
    for name in names:
        aid = aid_spec(spec, name)
        scores = results.user_scores(aid)
        if missing_folds(aid, scores):
            raise InputError(
                f"to adjust by '{name}' all {spec.max_folds} folds of it on {spec.dataset} are "
                "needed, with the same settings; run it with the rule 'never'"
            )
        found[name] = {fold: scores[fold] for fold in aid.fold_order}
    random = any(models.algorithm(name).random for name in found)
    return Aids(found, spec.metric_name, random=random)


def adjusted_rule(results: Results, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by, if any.

    Raises: InputError where such a model lacks a fold.
    """
    rule = rule_of(spec)
    if not (spec.adjust_by and isinstance(rule, Precision)):
        return rule
    return replace(rule, aids=aids_of(results, spec, spec.adjust_by))
