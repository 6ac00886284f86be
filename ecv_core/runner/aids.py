"""The cheap models that a run is adjusted by, in the database."""

from __future__ import annotations

from ecv_core.records import Run, RunSpec
from ecv_core.runs import adjusting
from ecv_core.spec import rule_of
from ecv_core.stopping import StoppingRule, TakesAids, cheap_models
from ecv_core.store import Store


def aid_runs(store: Store, spec: RunSpec) -> dict[str, Run | None]:
    """The run of each cheap model with all of its folds; None where there is none yet.

    Args:
        store: where they are.
        spec: of the run that is adjusted.
    """
    if not (cheap := cheap_models(spec)):
        return {}
    return adjusting.aid_runs(spec, cheap, store.runs(), store.user_scores)


def adjusted_rule(store: Store, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by, if any.

    Raises: InputError where such a model lacks a fold.
    """
    rule = rule_of(spec)
    if not (isinstance(rule, TakesAids) and rule.needs_aids):
        return rule
    return rule.with_aids(adjusting.aids_of(spec, rule.needs_aids, store.runs(), store.user_scores))
