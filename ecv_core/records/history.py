"""What is known of when the interactions in a training matrix were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.interactions import Interactions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A value for each stored entry of a matrix of users and items, in the order of its entries.

    Beside a matrix, so that most models need not know of it.
    """

    order: NDArray[np.int64] | None = None
    """Within one user larger is later; equal where nothing tells which was first."""
    baskets: NDArray[np.int64] | None = None
    """Within one user equal numbers are one basket, larger is later."""

    @classmethod
    def of(cls, interactions: Interactions, chosen: NDArray[np.bool_]) -> Self:
        """What is known of these interactions, in the order of users and then items.

        Args:
            chosen: which; shape (interactions,), no user and item twice among them.
        """
        places = np.flatnonzero(chosen)
        places = places[np.lexsort((interactions.items[places], interactions.users[places]))]
        return cls(
            order=_taken(interactions.history, places),
            baskets=_taken(interactions.baskets, places),
        )

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Of the entries that are kept alone; shape (entries,)."""
        return type(self)(order=_taken(self.order, kept), baskets=_taken(self.baskets, kept))


def _taken(
    values: NDArray[np.integer] | None, places: NDArray[np.integer] | NDArray[np.bool_]
) -> NDArray[np.int64] | None:
    return None if values is None else values[places].astype(np.int64)
