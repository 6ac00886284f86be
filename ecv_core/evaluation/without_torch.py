"""The best items of arrays, equal scores in the order in which `torch.topk` leaves them.

Importing torch takes longer than a quick model works, and a list must not depend on whether it is
there. On a processor topk is a selection of the C++ library: a heap (`std::partial_sort`) where
the list has at most a 64th of the items, else `std::nth_element`, and `std::sort` of all places but
the last. pyarrow and scipy use the latter two; the heap is followed here, all users in lockstep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Places = NDArray[np.int64]


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
    listed = csr_array((best[:, :-1].ravel(), ranks, ends), shape=(len(scores), before.size + 1))
    listed.has_sorted_indices = False
    listed.sort_indices()
    best[:, :-1] = listed.data.reshape(before.shape)
    return best


def _by_heap(scores: NDArray[np.float32], n: int) -> Places:
    """As `std::partial_sort` has it: the worst of the best so far is on top of a heap."""
    heap = np.tile(np.arange(n), (len(scores), 1))
    worth, columns = scores[:, :n].copy(), np.ascontiguousarray(scores.T)
    rows = np.arange(len(scores))

    def settle(rows: Places, top: int, end: int, item: Places, value: NDArray[np.float32]) -> None:
        """Put an item into the hole at `top`: down to a leaf by the worse children, and up."""
        hole = np.full(len(rows), top)
        while len(down := np.flatnonzero(hole < end // 2)):
            some, child = rows[down], 2 * hole[down] + 1
            other = np.minimum(child + 1, end - 1)
            child = np.where(worth[some, other] > worth[some, child], child, other)
            worth[some, hole[down]], heap[some, hole[down]] = worth[some, child], heap[some, child]
            hole[down] = child
        up = np.arange(len(rows))
        while True:
            parent = (hole[up] - 1) // 2
            rises = (hole[up] > top) & (worth[rows[up], parent] > value[up])
            up, parent = up[rises], parent[rises]
            if not len(up):
                break
            some = rows[up]
            worth[some, hole[up]], heap[some, hole[up]] = worth[some, parent], heap[some, parent]
            hole[up] = parent
        worth[rows, hole], heap[rows, hole] = value, item

    for top in range(n // 2 - 1, -1, -1):
        settle(rows, top, n, heap[:, top].copy(), worth[:, top].copy())
    for column in range(n, len(columns)):
        if len(better := np.flatnonzero(columns[column] > worth[:, 0])):
            settle(better, 0, n, np.full(len(better), column), columns[column, better])
    for last in range(n - 1, 0, -1):
        item, value = heap[:, last].copy(), worth[:, last].copy()
        heap[:, last], worth[:, last] = heap[:, 0], worth[:, 0]
        settle(rows, 0, last, item, value)
    return heap
