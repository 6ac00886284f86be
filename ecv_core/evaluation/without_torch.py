"""The best items of arrays, equal scores in the order in which `torch.topk` leaves them.

Importing torch takes longer than a quick model works, and a list must not depend on whether it is
there. On a processor topk is a selection of the C++ library: a heap (`std::partial_sort`) where
the list has at most a 64th of the items, else `std::nth_element`, and `std::sort` of all places but
the last. pyarrow and scipy use the latter two.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

Places = NDArray[np.int64]
AT_ONCE = 128
"""Items that are held against the least of a heap together: it rises, so that ever fewer enter."""


def best_of(scores: NDArray[np.float32], n: int) -> Places:
    """The n items with the highest scores, best first; arguments as of `task.best_items`."""
    items = scores.shape[1]
    wide = min(n + 1, items)  # one more: it may be equal to the last
    best = np.argpartition(scores, items - wide, axis=1)[:, items - wide :]
    worth = np.take_along_axis(scores, best, axis=1)
    order = np.argsort(-worth, axis=1)
    best = np.take_along_axis(best, order, axis=1)
    worth = np.take_along_axis(worth, order, axis=1)
    equal = (worth[:, 1:] == worth[:, :-1]) & (worth[:, 1:] > -np.inf)
    best, tied = best[:, :n], equal.any(axis=1)
    if tied.any():
        best[tied] = (_by_heap if n * 64 <= items else _by_pivot)(scores[tied], n)
    best[worth[:, :n] == -np.inf] = -1
    return best


def _by_pivot(scores: NDArray[np.float32], n: int) -> Places:
    """As `std::nth_element` and `std::sort` have it."""
    import pyarrow as pa
    from pyarrow import compute

    rows = (compute.partition_nth_indices(pa.array(-row), pivot=n - 1) for row in scores)
    best = np.stack([row.to_numpy()[:n] for row in rows]).astype(np.int64)
    before = np.take_along_axis(scores, best[:, :-1], axis=1)
    ranks = np.unique(-before, return_inverse=True)[1].ravel().astype(np.int32)
    ends = np.arange(len(scores) + 1) * (n - 1)
    listed = scipy.sparse.csr_array(
        (best[:, :-1].ravel(), ranks, ends), shape=(len(scores), before.size + 1)
    )
    listed.has_sorted_indices = False
    listed.sort_indices()
    best[:, :-1] = listed.data.reshape(before.shape)
    return best


class _Scored(float):
    """A score that knows its item; compared as a number."""

    item: int


def _scored(values: NDArray[np.float32], items: Places) -> list[_Scored]:
    made = [_Scored(value) for value in values.tolist()]
    for one, item in zip(made, items.tolist(), strict=True):
        one.item = item
    return made


def _by_heap(scores: NDArray[np.float32], n: int) -> Places:
    """As `std::partial_sort` has it, whose heap takes the same steps as Python's."""
    best = np.empty((len(scores), n), dtype=np.int64)
    for row, places in zip(scores, best, strict=True):
        heap = _scored(row[:n], np.arange(n))
        heapify(heap)
        for start in range(n, len(row), AT_ONCE):
            later = start + np.flatnonzero(row[start : start + AT_ONCE] > heap[0])
            for one in _scored(row[later], later):
                if one > heap[0]:
                    heapreplace(heap, one)
        places[::-1] = [heappop(heap).item for _ in range(n)]
    return best
