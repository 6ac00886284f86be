"""A complete run with its users' scores -> the precision rule over its tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ecv_core.analysis.exploration import MAX_USER_K
from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.curves import System, precision_curve
from ecv_core.records import Run, UserScores
from ecv_core.stopping.precision import user_matrix


def precision_of_run(
    run: Run, users: Mapping[int, UserScores], system: System, *, within_percent: float
) -> Curve | None:
    """The rule's curve; None where a fold came without users' scores, or k is too large for it.

    A metric that has one value per fold and none per user has no curve either.

    Args:
        run: a complete one.
        users: fold -> per-user scores; may be empty.
        system: the run as a system.
        within_percent: the difference to count as close enough.
    """
    if run.spec.k > MAX_USER_K or any(fold.fold not in users for fold in run.folds):
        return None
    if any(run.spec.metric_name not in scores.metrics for scores in users.values()):
        return None  # a metric of all lists together, such as item coverage, has no users' scores
    folds = sorted(run.folds, key=lambda fold: fold.fold)
    results = [replace(fold, user_scores=users[fold.fold]) for fold in folds]
    values = user_matrix(results, run.spec.metric_name)
    return precision_curve(replace(system.scores, users=values), within_percent=within_percent)
