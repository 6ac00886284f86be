"""A whole run with its users' scores -> the precision rule over its tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ecv_core.analysis.exploration import MAX_USER_K, Scores
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
        run: a whole one.
        users: fold -> per-user scores; may be empty.
        system: the run as a system.
        within_percent: the difference to count as close enough.
    """
    if run.spec.k > MAX_USER_K:
        return None
    scores = with_users(run, users, system.scores)
    if scores.users is None:
        return None
    return precision_curve(scores, within_percent=within_percent)


def with_users(run: Run, users: Mapping[int, UserScores], scores: Scores) -> Scores:
    """A whole run's scores with its users' ones; as they were where a fold came without them.

    Args:
        run: a whole one.
        users: fold -> per-user scores; may be empty.
        scores: of the run's folds.
    """
    if any(fold.fold not in users for fold in run.folds):
        return scores
    results = tuple(replace(fold, user_scores=users[fold.fold]) for fold in run.folds_in_order)
    if any(run.spec.metric_name not in one.metrics for one in users.values()):
        # A metric of all lists together, such as item coverage, has no users' scores.
        return replace(scores, results=results)
    values = user_matrix(results, run.spec.metric_name)
    return replace(scores, results=results, users=values)
