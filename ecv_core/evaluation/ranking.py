"""Hits in each user's ranked list -> ranking metrics per user, at any cut-offs in one pass.

The definitions are RecBole's: binary gain, discount 1/log2(rank + 1), and an ideal list that is cut
at the number of held-out items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranked:
    """Ranked lists against what was held out, with the sums that the metrics share.

    `hits` has shape (users, n), True where the item at that rank is held out; `held_out` has shape
    (users,) and counts each user's held-out items, at least 1. `cutoffs` are at most n.
    """

    hits: NDArray[np.bool_]
    held_out: NDArray[np.intp]
    cutoffs: tuple[int, ...]

    def at_cutoffs(self, by_rank: Floats) -> Floats:
        """Running sums over ranks, read off at the cut-offs; shape (users, cutoffs)."""
        return np.cumsum(by_rank, axis=1)[:, np.array(self.cutoffs) - 1]

    def reachable(self) -> NDArray[np.intp]:
        """Hits that a perfect list has: min(n, held-out); shape (users, cutoffs)."""
        counts: NDArray[np.intp] = np.minimum(np.array(self.cutoffs), self.held_out[:, None])
        return counts

    def ranks(self) -> Floats:
        """1 .. n; shape (n,)."""
        return np.arange(1.0, self.hits.shape[1] + 1)


def _counts(ranked: Ranked) -> Floats:
    return ranked.at_cutoffs(ranked.hits.astype(np.float64))


def ndcg(ranked: Ranked) -> Floats:
    """Discounted gain over that of a perfect list. Source: Järvelin & Kekäläinen (2002)."""
    discounts = 1 / np.log2(ranked.ranks() + 1)
    ideal: Floats = np.cumsum(discounts)[ranked.reachable() - 1]
    return ranked.at_cutoffs(ranked.hits * discounts) / ideal


def recall(ranked: Ranked) -> Floats:
    """Share of the held-out items that are in the list."""
    return _counts(ranked) / ranked.held_out[:, None]


def precision(ranked: Ranked) -> Floats:
    """Share of the list's n places that hold a held-out item."""
    return _counts(ranked) / np.array(ranked.cutoffs, dtype=np.float64)


def mrr(ranked: Ranked) -> Floats:
    """1 / rank of the first hit, 0 without one. Source: Voorhees (1999)."""
    first = ranked.hits & (np.cumsum(ranked.hits, axis=1) == 1)
    return ranked.at_cutoffs(first / ranked.ranks())


def hit(ranked: Ranked) -> Floats:
    """1 if there is any hit, else 0."""
    return (_counts(ranked) > 0).astype(np.float64)


def average_precision(ranked: Ranked) -> Floats:
    """Mean over a perfect list's hits of the precision at each hit's rank."""
    precision_at_rank = np.cumsum(ranked.hits, axis=1) / ranked.ranks()
    return ranked.at_cutoffs(ranked.hits * precision_at_rank) / ranked.reachable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A ranking metric as pages explain it; higher is better and values are in [0, 1]."""

    id: str
    title: str
    formula: str
    """For one user; rel(r) is 1 where the item at rank r is held out, H the held-out items."""
    help: str
    source: str
    of: Callable[[Ranked], Floats]
    """Per user at each cut-off; shape (users, cutoffs)."""


METRICS: dict[str, Metric] = {
    "ndcg": Metric(
        id="ndcg",
        title="nDCG",
        formula="sum of rel(r) / log2(r + 1) for r = 1..n, over the same for min(n, |H|) hits",
        help="How many held-out items are found, and how high in the list; 1 is a perfect list.",
        source="Järvelin & Kekäläinen (2002); discount and ideal as in RecBole",
        of=ndcg,
    ),
    "recall": Metric(
        id="recall",
        title="Recall",
        formula="hits in the top n / |H|",
        help="Share of the held-out items that are in the list.",
        source="RecBole",
        of=recall,
    ),
    "precision": Metric(
        id="precision",
        title="Precision",
        formula="hits in the top n / n",
        help="Share of the list that is held out; users with few held-out items cannot reach 1.",
        source="RecBole",
        of=precision,
    ),
    "mrr": Metric(
        id="mrr",
        title="MRR",
        formula="1 / rank of the first hit in the top n, 0 without a hit",
        help="How high in the list the first held-out item is.",
        source="Voorhees (1999), as in RecBole",
        of=mrr,
    ),
    "hit": Metric(
        id="hit",
        title="Hit rate",
        formula="1 if there is a hit in the top n, else 0",
        help="Share of the users who find at least one held-out item in their list.",
        source="RecBole",
        of=hit,
    ),
    "map": Metric(
        id="map",
        title="MAP",
        formula="sum of rel(r) * precision(r) for r = 1..n, divided by min(n, |H|)",
        help="Precision at each hit's rank, averaged; rewards early hits.",
        source="RecBole (divides by min(n, held-out))",
        of=average_precision,
    ),
}
"""Every ranking metric by its id, in the order in which pages list them."""


def per_user(
    hits: NDArray[np.bool_], held_out: NDArray[np.intp], cutoffs: Sequence[int]
) -> dict[str, Floats]:
    """Every metric for every user.

    Args:
        hits: shape (users, n), True where the item at that rank is held out.
        held_out: how many items each user has held out, at least 1; shape (users,).
        cutoffs: list lengths, each from 1 to n.
    Returns: metric id -> shape (users, len(cutoffs)), in [0, 1].
    """
    ranked = Ranked(hits=hits, held_out=held_out, cutoffs=tuple(cutoffs))
    return {name: metric.of(ranked) for name, metric in METRICS.items()}
