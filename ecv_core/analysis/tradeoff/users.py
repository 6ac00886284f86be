"""A whole run with its users' scores -> the rules that need these, over their settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from ecv_core.analysis.exploration import Scores
from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.curves import System
from ecv_core.analysis.tradeoff.registered import walked
from ecv_core.errors import InputError
from ecv_core.records import Run, UserScores
from ecv_core.stopping import RULES
from ecv_core.stopping.precision import user_matrix


def curves_of_run(
    run: Run, users: Mapping[int, UserScores], system: System, *, within_percent: float
) -> dict[str, Curve]:
    """The curve of each rule that decides by sets of folds and needs users' scores, by its id.

    Empty where a fold came without them, where k is too large, and for a metric that has one value
    per fold and none per user.

    Args:
        run: a whole one.
        users: fold -> per-user scores; may be empty.
        system: the run as a system.
        within_percent: the difference to count as close enough.
    """
    scores = with_users(run, users, system.scores)
    found = {}
    for known in RULES.values():
        if known.by_sets and known.needs_user_scores and scores.users is not None:
            with suppress(InputError):  # too many folds for it
                found[known.id] = walked(known, scores, within_percent=within_percent)
    return found


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
