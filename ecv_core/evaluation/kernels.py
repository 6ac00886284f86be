"""Top-n lists without a score for every item, compiled; ties are as `torch.topk` leaves them.

On a processor topk is `std::partial_sort` of the C++ library where the list has at most a 64th of
the items: a heap of the best n so far, the worst of them on top, past which every item goes. What
it leaves of equal scores follows from the steps of that heap, so the same steps are taken here.
Most items are no better than the top, and cost one comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Lists = NDArray[np.int64]

CHUNK = 64
"""Items that are compared with the top together, by instructions for several at once."""
_MATRIX = "int32[::1], int32[::1], float32[::1]"


@njit(nogil=True)
def _settle(worth: Any, items: Any, top: Any, end: Any, value: Any, item: Any) -> None:  # noqa: ANN401
    """Put an item into the hole at `top`: down to a leaf by the worse children, and up again."""
    hole, child = top, 2 * top + 1
    while child < end:
        if child + 1 < end and worth[child + 1] <= worth[child]:
            child += 1
        worth[hole], items[hole] = worth[child], items[child]
        hole, child = child, 2 * child + 1
    while hole > top and worth[(hole - 1) // 2] > value:
        worth[hole], items[hole] = worth[(hole - 1) // 2], items[(hole - 1) // 2]
        hole = (hole - 1) // 2
    worth[hole], items[hole] = value, item


@njit(nogil=True)
def _heap(worth: Floats, items: Lists) -> None:
    """Make a heap of what is there."""
    for top in range(len(worth) // 2 - 1, -1, -1):
        _settle(worth, items, top, len(worth), worth[top], items[top])


@njit(nogil=True)
def _sort(worth: Floats, items: Lists) -> None:
    """Put a heap in order, best first; -1 for what is no candidate."""
    for last in range(len(worth) - 1, 0, -1):
        value, item = worth[last], items[last]
        worth[last], items[last] = worth[0], items[0]
        _settle(worth, items, 0, last, value, item)
    for place in range(len(worth)):
        if worth[place] == -np.inf:
            items[place] = -1


@njit(nogil=True)
def _best_of_row(row: Floats, worth: Floats, items: Lists) -> None:
    """Fill a list with the best items of a row of scores; `worth` is room for theirs."""
    n = len(items)
    worth[:], items[:] = row[:n], np.arange(n)
    _heap(worth, items)
    limit = worth[0]
    for start in range(n, len(row), CHUNK):
        chunk = row[start : start + CHUNK]
        better = False
        for place in range(len(chunk)):  # not `for value in`: that is one by one when compiled
            better |= chunk[place] > limit
        if better:
            for place in range(len(chunk)):
                if chunk[place] > limit:
                    _settle(worth, items, 0, n, chunk[place], start + place)
                    limit = worth[0]
    _sort(worth, items)


@njit("int64[:,::1](float32[:,::1], int64)", cache=True, nogil=True)
def best_of_scores(scores: NDArray[np.float32], n: int) -> Lists:
    """As `task.best_items`, in one pass over the scores."""
    lists, worth = np.empty((len(scores), n), np.int64), np.empty(n, np.float32)
    for place in range(len(scores)):
        _best_of_row(scores[place], worth, lists[place])
    return lists


@njit(
    f"int64[:,::1](int64[::1], {_MATRIX}, {_MATRIX}, int32[::1], int32[::1], float32[::1], int64)",
    cache=True,
    nogil=True,
)
def best_of_product(
    users: NDArray[np.intp],
    left_starts: Ints,
    left_columns: Ints,
    left_values: Floats,
    right_starts: Ints,
    right_columns: Ints,
    right_values: Floats,
    seen_starts: Ints,
    seen_columns: Ints,
    nothing: Floats,
    n: int,
) -> Lists:
    """The n best items of each user, by the product of two sparse matrices, summed row by row.

    Args:
        users: rows of `left`, in any order; shape (block,).
        left_starts, left_columns, left_values: a matrix of shape (users, any).
        right_starts, right_columns, right_values: of shape (any, items).
        seen_starts, seen_columns: what users have already, of shape (users, items).
        nothing: the score of an item to which nothing is added: 0, -inf for no candidate.
        n: at most the number of items.
    Returns: items, best first, -1 where no candidate is left; shape (block, n).
    """
    lists, worth = np.empty((len(users), n), np.int64), np.empty(n, np.float32)
    row = nothing.copy()
    for place, user in enumerate(users):
        for at in range(left_starts[user], left_starts[user + 1]):
            factor, line = left_values[at], left_columns[at]
            added = right_columns[right_starts[line] : right_starts[line + 1]]
            values = right_values[right_starts[line] : right_starts[line + 1]]
            for cell in range(len(added)):
                column = np.uint32(added[cell])  # unsigned: no look whether it counts from the end
                row[column] += factor * values[cell]
        for item in seen_columns[seen_starts[user] : seen_starts[user + 1]]:
            row[item] = -np.inf
        _best_of_row(row, worth, lists[place])
        row[:] = nothing
    return lists


@njit(
    "int64[:,::1](int64[::1], float32[::1], int32[::1], int32[::1], int64[::1], int64)",
    cache=True,
    nogil=True,
)
def best_of_common(
    users: NDArray[np.intp],
    row: Floats,
    seen_starts: Ints,
    seen_columns: Ints,
    ranking: NDArray[np.intp],
    n: int,
) -> Lists:
    """As `best_of_product`, of one row of scores that is the same for all users.

    A list is the ranking of all items less the user's own. Only where equal scores leave that open
    are the steps of the heap taken.

    Args:
        users: shape (block,).
        row: shape (items,), -inf where an item is no candidate.
        seen_starts, seen_columns: what users have already, of shape (users, items).
        ranking: all items, best first, equal ones in any order.
        n: at most the number of items.
    Returns: shape (block, n).
    """
    lists, worth = np.empty((len(users), n), np.int64), np.empty(n, np.float32)
    mine = row.copy()
    for place in range(len(users)):
        seen = seen_columns[seen_starts[users[place]] : seen_starts[users[place] + 1]]
        for item in seen:
            mine[item] = -np.inf
        items, found, last = lists[place], 0, np.float32(np.inf)
        for item in ranking:
            if mine[item] == last or found > n:
                break
            if mine[item] > -np.inf:
                last = mine[item]
                if found < n:
                    items[found] = item
                found += 1
        if found <= n:
            _best_of_row(mine, worth, items)
        for item in seen:
            mine[item] = row[item]
    return lists
