"""The cheap models that a run is adjusted by: their runs, found in the database or computed."""

from __future__ import annotations

from dataclasses import replace

from ecv_core import models
from ecv_core.records import Run, RunSpec, UserScores
from ecv_core.records.setting import SCORES
from ecv_core.spec import rule_of
from ecv_core.stopping import Precision, StoppingRule
from ecv_core.stopping.adjustment import Aids
from ecv_core.store import Store


def aid_spec(spec: RunSpec, name: str) -> RunSpec:
    """All folds of a cheap model, on the folds of this run; its parameters are at their defaults.

    Args:
        spec: of the run that is adjusted.
        name: id of the cheap model.
    """
    return replace(
        spec,
        algorithm=name,
        params=models.algorithm(name).resolve({}),
        rule="never",
        tolerance=None,
        min_folds=1,
        full=False,
        adjust_by=(),
    )


def aid_runs(store: Store, spec: RunSpec) -> dict[str, Run | None]:
    """The run of each cheap model with all of its folds; None where there is none yet.

    Args:
        store: where they are.
        spec: of the run that is adjusted.
    """
    if not spec.adjust_by:
        return {}
    there = [run for run in store.runs() if run.complete]
    found = {}
    for name in spec.adjust_by:
        wanted = aid_spec(spec, name).part(*SCORES)
        fit = (run for run in there if run.spec.part(*SCORES) == wanted)
        found[name] = next((run for run in fit if _user_scores(store, run)), None)
    return found


def adjusted_rule(store: Store, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by.

    Raises: InputError where such a model lacks a fold.
    """
    rule = rule_of(spec)
    if not (spec.adjust_by and isinstance(rule, Precision)):
        return rule
    found = {name: _user_scores(store, run) for name, run in aid_runs(store, spec).items() if run}
    if not found:
        return rule
    random = any(models.algorithm(name).random for name in found)
    return replace(rule, aids=Aids(found, spec.metric_name, random=random))


def _user_scores(store: Store, run: Run) -> dict[int, UserScores]:
    scores = store.user_scores(run.run_id)
    return scores if len(scores) == run.k else {}
