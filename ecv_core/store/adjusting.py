"""The cheap models by which a run's mean is corrected: their specs, their folds, their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.records import FoldResult, RunSpec, UserScores
from ecv_core.spec import rule_of
from ecv_core.stopping import NEVER_STOPS, StoppingRule, TakesAids, cheap_models
from ecv_core.stopping.adjustment import Aids
from ecv_core.store.results import Results


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
        rule=NEVER_STOPS,
        rule_params=(),
        min_folds=1,
        full=False,
    )


def aid_folds(results: Results, spec: RunSpec) -> dict[str, Mapping[int, FoldResult]]:
    """The folds of each cheap model that a run is adjusted by; empty for one that lacks some."""
    found: dict[str, Mapping[int, FoldResult]] = {}
    for name in cheap_models(spec):
        folds = results.folds(aid_spec(spec, name))
        found[name] = {} if set(spec.fold_order) - set(folds) else folds
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
        if set(aid.fold_order) - set(scores):
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
    if not (isinstance(rule, TakesAids) and rule.needs_aids):
        return rule
    return rule.with_aids(aids_of(results, spec, rule.needs_aids))
