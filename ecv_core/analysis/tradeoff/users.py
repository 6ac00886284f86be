"""A whole run's scores with its users' ones -> the precision rule over its tolerances."""

from __future__ import annotations

from ecv_core.analysis.exploration import MAX_USER_K
from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.curves import precision_curve
from ecv_core.records import Scores


def precision_of_run(scores: Scores, *, within_percent: float) -> Curve | None:
    """The rule's curve; None where a fold came without users' scores, or k is too large for it.

    A metric that has one value per fold and none per user has no curve either.

    Args:
        scores: of a whole run.
        within_percent: the difference to count as close enough.
    """
    if scores.users is None or scores.k > MAX_USER_K:
        return None
    return precision_curve(scores, within_percent=within_percent)
