"""The runs of cheap models by which a run's mean is corrected, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec, UserScores
from ecv_core.records.setting import SCORES
from ecv_core.stopping import NEVER_STOPS
from ecv_core.stopping.adjustment import Aids

UserScoresOf = Callable[[str], Mapping[int, UserScores]]
"""Run id -> fold -> per-user scores; empty where there are none."""


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


def aid_runs(
    spec: RunSpec, names: Iterable[str], runs: Iterable[Run], user_scores: UserScoresOf
) -> dict[str, Run | None]:
    """The run of each cheap model with every user's score in all folds; None where there is none.

    Args:
        spec: of the run that is adjusted.
        names: ids of the cheap models.
        runs: to look among.
        user_scores: of these.
    """
    complete = [run for run in runs if run.complete]
    found = {}
    for name in names:
        wanted = aid_spec(spec, name).part(*SCORES)
        fit = (run for run in complete if run.spec.part(*SCORES) == wanted)
        found[name] = next((run for run in fit if len(user_scores(run.run_id)) == run.k), None)
    return found


def aids_of(
    spec: RunSpec, names: Iterable[str], runs: Iterable[Run], user_scores: UserScoresOf
) -> Aids:
    """The scores of these cheap models; arguments as of `aid_runs`, at least one name.

    Raises: InputError for one without a run.
    """
    found = {}
    for name, run in aid_runs(spec, names, runs, user_scores).items():
        if run is None:
            raise InputError(
                f"to adjust by '{name}' all {spec.max_folds} folds of it on {spec.dataset} are "
                "needed, with the same settings; run it with the rule 'never'"
            )
        found[name] = user_scores(run.run_id)
    random = any(models.algorithm(name).random for name in found)
    return Aids(found, spec.metric_name, random=random)
