"""All users' lists together -> how much of the catalogue they use, and how evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation.ranking import Floats


def exposures(
    items: NDArray[np.integer], cutoffs: tuple[int, ...], n_items: int
) -> NDArray[np.intp]:
    """In how many lists of each length each item is.

    Args:
        items: the item at each rank, -1 where there is none; shape (users, n).
        cutoffs: list lengths, in ascending order, at most n.
        n_items: items of the dataset.
    Returns: shape (cutoffs, items).
    """
    counts = np.zeros((len(cutoffs), n_items), dtype=np.intp)
    start = 0
    for row, end in enumerate(cutoffs):
        listed = items[:, start:end].ravel() + 1  # an empty place becomes 0 and is left out
        counts[row] = np.bincount(listed, minlength=n_items + 1)[1:]
        start = end
    return np.cumsum(counts, axis=0)


def item_coverage(counts: NDArray[np.intp], candidates: NDArray[np.bool_]) -> Floats:
    """Share of the candidate items that are in at least one user's list.

    Args:
        counts: as from `exposures`.
        candidates: which items may be recommended; shape (items,).
    Returns: shape (cutoffs,), in [0, 1].
    Source: Ge, Delgado-Battenfeld, Jannach (2010), catalogue coverage.
    """
    share: Floats = (counts[:, candidates] > 0).mean(axis=1)
    return share


def gini(counts: NDArray[np.intp], candidates: NDArray[np.bool_]) -> Floats:
    """How unevenly the places of all lists are spread over the candidate items.

    Arguments as for `item_coverage`.
    Returns: shape (cutoffs,); 0 where every item has as many places, (m - 1) / m where one of m
        items has all of them; 0 for lists without an item.
    Source: Gini index as Adomavicius & Kwon (2012) and Castells et al. (2015) use it.
    """
    ordered = np.sort(counts[:, candidates], axis=1)
    m = ordered.shape[1]
    weights = 2 * np.arange(1, m + 1) - m - 1
    places = ordered.sum(axis=1)
    index: Floats = (ordered @ weights) / (m * np.maximum(places, 1))
    return index


LIST_METRICS = {"coverage": item_coverage, "gini": gini}
"""Their kernels, by the metric's id."""
