"""Hits and the popularity of the recommended items -> how novel the hits are, per user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.evaluation.ranking import Floats, Ranked


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Popularity:
    """How often each item was chosen in training; `counts` has shape (items,)."""

    counts: NDArray[np.intp]
    users: int
    """Users with a training interaction."""

    @classmethod
    def of(cls, train: csr_array) -> Popularity:
        """From a training matrix of shape (users, items)."""
        counts = np.bincount(train.indices, minlength=train.shape[1])
        return cls(counts=counts, users=int(np.count_nonzero(np.diff(train.indptr))))

    def complement(self) -> Floats:
        """1 - p(seen | i): the share of the users who do not have the item; shape (items,)."""
        return 1 - self.counts / max(self.users, 1)

    def surprise(self) -> Floats:
        """-log2 p(i | seen): bits that choosing the item tells; shape (items,).

        An item that nobody has counts as one that one user has.
        """
        total = max(int(self.counts.sum()), 1)
        bits: Floats = np.log2(total) - np.log2(np.maximum(self.counts, 1))
        return bits


def _expected(ranked: Ranked, items: NDArray[np.integer], novelty: Floats) -> Floats:
    discounts = 1 / np.log2(ranked.ranks() + 1)
    ends = np.array(ranked.cutoffs) - 1
    # Only hits count, so an empty place (-1) may look up any item.
    gained = ranked.at_cutoffs(np.where(ranked.hits, novelty[items], 0.0) * discounts)
    expected: Floats = gained / np.cumsum(discounts)[ends]
    return expected


def epc(ranked: Ranked, items: NDArray[np.integer], popularity: Popularity) -> Floats:
    """Expected popularity complement: novelty 1 - p(seen | i) of the hits, discounted by rank.

    Args:
        ranked: the users' lists.
        items: the item at each rank, -1 where there is none; shape (users, n).
        popularity: of all items in training.
    Returns: shape (users, cutoffs), in [0, 1]; 0 without a hit.
    Source: Vargas & Castells (2011), discount 1/log2(rank + 1), relevant = held out.
    """
    return _expected(ranked, items, popularity.complement())


def efd(ranked: Ranked, items: NDArray[np.integer], popularity: Popularity) -> Floats:
    """Expected free discovery: novelty -log2 p(i | seen) of the hits, discounted by rank.

    Arguments as for `epc`.
    Returns: bits; shape (users, cutoffs), not negative; 0 without a hit.
    Source: Vargas & Castells (2011), discount 1/log2(rank + 1), relevant = held out.
    """
    return _expected(ranked, items, popularity.surprise())


NOVELTY_METRICS = {"epc": epc, "efd": efd}
"""Their kernels, by the metric's id."""
