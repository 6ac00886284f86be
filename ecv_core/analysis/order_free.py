"""A rule from outside that says it is `order_free` -> every order of the folds, by asking it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis import orders
from ecv_core.errors import InputError
from ecv_core.records import FoldResult
from ecv_core.stopping import StoppingRule

_CHECKED = 20
"""Orders on which a rule's word is checked."""


def asked_about_sets(
    folds: NDArray[np.float64],
    results: Sequence[FoldResult],
    rule: StoppingRule,
    confidence: float,
    costs: NDArray[np.float64] | None,
) -> orders.Orders:
    """The walk over every order; the rule stops at setting 0, and has no other.

    Args:
        folds: one score per fold; shape (k,).
        results: the same folds as the rule sees them.
        rule: asked about every set of folds with each of its folds as the newest.
        confidence: of the interval whose coverage is told.
        costs: of each fold; None counts folds.
    """
    subsets = orders.FoldSubsets(folds)
    masks = subsets.lattice.masks

    def stops(before: int, after: int) -> bool:
        newest = int(masks[after] ^ masks[before]).bit_length() - 1
        seen = [result for fold, result in enumerate(results) if masks[before] >> fold & 1]
        return rule.decide([*seen, results[newest]]).stop

    def step(before: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.float64]:
        rows = [[stops(one, end) for one, end in zip(row, after, strict=True)] for row in before]
        return np.where(np.array(rows), 0.0, np.inf)

    return orders.Orders(subsets, subsets.half_widths(confidence), step, costs=costs)


def check_order_free(rule: StoppingRule, results: Sequence[FoldResult]) -> None:
    """Refuse a rule that decides otherwise when what came before the newest fold is shuffled.

    Raises: InputError with an order that shows it.
    """
    for row in orders.drawn_orders(len(results), _CHECKED, seed=0).tolist():
        for n in range(3, len(row) + 1):
            seen, newest = row[: n - 1], row[n - 1]
            one, other = (
                rule.decide([*(results[fold] for fold in before), results[newest]]).stop
                for before in (seen, sorted(seen))
            )
            if one != other:
                raise InputError(
                    f"the rule {type(rule).__name__} says that it is order_free, but after the "
                    f"folds {seen} and then {newest} it decides otherwise than after "
                    f"{sorted(seen)} and then {newest}; leave order_free out"
                )
