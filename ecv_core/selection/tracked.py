"""Tracked contenders: their folds come from other code, so a selection can only wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ecv_core.errors import InputError
from ecv_core.records import Run
from ecv_core.runs.document import track_call
from ecv_core.store import PlannedContender


def tracked_names(runs: Iterable[Run], dataset: str) -> set[str]:
    """What tracked models of a dataset are called."""
    return {run.spec.algorithm for run in runs if run.spec.tracked and run.spec.dataset == dataset}


def missing(planned: PlannedContender, fold: int, runs: Mapping[str, Run]) -> InputError:
    """Why a selection cannot go on where it needs a fold that only other code can compute.

    Args:
        planned: a tracked contender.
        fold: that is needed.
        runs: of the database, by id.
    """
    known = [runs[run_id] for run_id in planned.known if run_id in runs]
    if any(fold in {one.fold for one in run.folds} for run in known):
        return InputError(
            f"'{planned.name}' was reported as one number per fold, and a selection compares "
            "users' scores; track it again, and report user -> score or recommendations"
        )
    if not known:
        return InputError(
            f"no fold of '{planned.name}' is there with these settings; track it first: "
            f"{track_call(planned.spec)}"
        )
    run = known[0]
    return InputError(
        f"'{planned.name}' is tracked, and fold {fold} of it is needed next; it has "
        f"{len(run.folds)} of {run.spec.k}: track the others with "
        f"{track_call(replace(run.spec, full=True))}, then select again"
    )
