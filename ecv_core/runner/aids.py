"""The cheap models that a run is adjusted by, in the database."""

from __future__ import annotations

from dataclasses import replace

from ecv_core.records import Run, RunSpec
from ecv_core.runs import adjusting
from ecv_core.spec import rule_of
from ecv_core.stopping import Precision, StoppingRule
from ecv_core.store import Results, Store


def aid_runs(store: Store, spec: RunSpec) -> dict[str, Run | None]:
    """The run of each cheap model with all of its folds; None where there is none yet.

    Args:
        store: where they are.
        spec: of the run that is adjusted.
    """
    if not spec.adjust_by:
        return {}
    results = Results(store, recorded=False)
    return adjusting.aid_runs(spec, spec.adjust_by, results.runs, results.user_scores)


def adjusted_rule(store: Store, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by, if any.

    Raises: InputError where such a model lacks a fold.
    """
    rule = rule_of(spec)
    if not (spec.adjust_by and isinstance(rule, Precision)):
        return rule
    results = Results(store, recorded=False)
    aids = adjusting.aids_of(spec, spec.adjust_by, results.runs, results.user_scores)
    return replace(rule, aids=aids)
