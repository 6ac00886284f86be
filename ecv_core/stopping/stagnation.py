"""The rule of the general e-fold paper: stop when the scores' spread no longer grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats, Indices, Mask
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Decision, FoldResult
from ecv_core.stopping.base import AT_LEAST, Rule, check_numbers, decision
from ecv_core.stopping.interval import mean_and_deviation, running_means_and_deviations

GROWTH = 0.05
"""A deviation that grew by no more than this counts as standing still."""
IN_A_ROW = 2
"""The rule stops when the deviation has stood still at this many steps in a row."""


def stagnates(deviations: ArrayLike) -> Mask:
    """Where the deviation has grown by at most GROWTH, twice in a row.

    Args:
        deviations: In the order of the folds; shape (..., times).

    Returns:
        Same shape; False where fewer than two steps lead there.
    """
    deviations = np.asarray(deviations, dtype=np.float64)
    stands_still = deviations[..., 1:] <= (1 + GROWTH) * deviations[..., :-1]
    has_stagnated = np.zeros(deviations.shape, dtype=np.bool_)
    # The deviation must stand still twice in a row.
    has_stagnated[..., 2:] = stands_still[..., 1:] & stands_still[..., :-1]
    return has_stagnated


@dataclass(frozen=True, kw_only=True)
class StdStagnation:
    """Stop when the standard deviation has, twice in a row, fallen or grown by at most 5 %.

    Two scores give the first deviation, so fold 3 is the first that is checked and fold 4 the first
    that can stop. Depends on the order of all folds seen.
    Source: Mahlich, Vente, Beel (2024).

    >>> import ecv_core as ecv
    >>> run = ecv.evaluate("synthetic", "popular", k=5, rule=ecv.StdStagnation(), keep=False)
    >>> run.spec.rule
    'std-stagnation'
    """

    min_folds: int = 3

    def __post_init__(self) -> None:
        check_numbers(self)

    @property
    def first(self) -> int:
        """The first fold that can stop."""
        return max(2 + IN_A_ROW, self.min_folds)

    def first_stops(self, scores_of_orders: Floats) -> Indices:
        """The fold after which each order stops; see `OrderRule`."""
        _, deviations = running_means_and_deviations(scores_of_orders)
        may_stop = np.zeros(scores_of_orders.shape, dtype=np.bool_)
        # One score has no deviation, so the first fold cannot stop.
        may_stop[:, 1:] = stagnates(deviations[:, 1:])
        may_stop[:, : self.first - 1] = False
        # Once all folds have run there is nothing left to run.
        may_stop[:, -1] = True
        first_places = np.argmax(may_stop, axis=1)
        return first_places + 1

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        scores = [result.score for result in results]
        first = self.first
        # The deviations of the scores up to the newest fold, and up to one and two folds earlier.
        # They are three values, with two steps between them.
        deviations = []
        for size in range(max(2, n - IN_A_ROW), n + 1):
            _, deviation = mean_and_deviation(scores[:size])
            deviations.append(deviation)
        trail = " to ".join(f"{deviation:.3g}" for deviation in deviations)
        if n < first:
            spread = "one score shows no spread yet"
            if deviations:
                spread = f"the standard deviation is {deviations[-1]:.3g}"
            return decision(
                n, f"{spread}, and the rule can stop after fold {first} at the earliest"
            )
        stop = bool(stagnates(deviations)[-1])
        growth = "in at least one of the last two steps it grew"
        if stop:
            growth = "in neither of these two steps did it grow"
        return decision(
            n,
            f"the standard deviation went from {trail}; {growth} by more than "
            f"{percent_text(GROWTH)}",
            stop=stop,
        )


STD_STAGNATION = Rule(
    id="std-stagnation",
    title="Stagnating standard deviation",
    help="Stops when the standard deviation of the scores has, twice in a row, fallen or grown "
    "by no more than 5 %. The rule can stop after fold 4 at the earliest.",
    source="Mahlich, Vente, Beel (2024), general e-fold cross-validation",
    kind=StdStagnation,
    run_settings=("min_folds",),
    axis=AT_LEAST,
    meaning="has settled, as the spread of the scores no longer grows",
    least_folds=2,
)
