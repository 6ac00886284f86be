"""A whole run's scores with its users' ones -> the rules that need these, over their settings."""

from __future__ import annotations

from contextlib import suppress

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.registered import walked
from ecv_core.errors import InputError
from ecv_core.records import Scores
from ecv_core.stopping import RULES


def curves_of_run(scores: Scores, *, within_percent: float) -> dict[str, Curve]:
    """The curve of each rule that decides by sets of folds and needs users' scores, by its id.

    Empty where a fold came without them, where k is too large, and for a metric that has one value
    per fold and none per user.

    Args:
        scores: of a whole run.
        within_percent: the difference to count as close enough.
    """
    found = {}
    for known in RULES.values():
        if known.by_sets and known.needs_user_scores and scores.users is not None:
            with suppress(InputError):  # too many folds for it
                found[known.id] = walked(known, scores, within_percent=within_percent)
    return found
