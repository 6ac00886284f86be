"""The runs of cheap models by which a run's mean is corrected, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ecv_core import models
from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec, UserScores
from ecv_core.stopping.adjustment import Aids

UserScoresOf = Callable[[Run], Mapping[int, UserScores]]
"""Run -> fold -> per-user scores; empty where there are none."""
RunsLike = Callable[[RunSpec], Sequence[Run]]
"""Spec -> the runs whose folds have the same scores."""


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


def aid_runs(
    spec: RunSpec, names: Iterable[str], runs_like: RunsLike, user_scores: UserScoresOf
) -> dict[str, Run | None]:
    """The run of each cheap model with every user's score in all folds; None where there is none.

    Args:
        spec: of the run that is adjusted.
        names: ids of the cheap models.
        runs_like, user_scores: where to look, as of `Results`.
    """
    found = {}
    for name in names:
        wanted = aid_spec(spec, name)
        fit = [run for run in runs_like(wanted) if run.complete and run.k == wanted.max_folds]
        found[name] = next((run for run in fit if len(user_scores(run)) == run.k), None)
    return found


def aids_of(
    spec: RunSpec, names: Iterable[str], runs_like: RunsLike, user_scores: UserScoresOf
) -> Aids:
    """The scores of these cheap models; arguments as of `aid_runs`, at least one name.

    Raises: InputError for one without a run.
    """
    found = {}
    for name, run in aid_runs(spec, names, runs_like, user_scores).items():
        if run is None:
            raise InputError(
                f"to adjust by '{name}' all {spec.max_folds} folds of it on {spec.dataset} are "
                "needed, with the same settings; run it with the rule 'never'"
            )
        found[name] = user_scores(run)
    random = any(models.algorithm(name).random for name in found)
    return Aids(found, spec.metric_name, random=random)
