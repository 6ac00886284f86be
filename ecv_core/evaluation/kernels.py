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
"""Items of which it is noted together whether any has been added to."""
_MATRIX = "int32[::1], int32[::1], float32[::1]"


@njit(inline="always")
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
    row, touched = nothing.copy(), np.zeros(len(nothing) // CHUNK + 1, np.bool_)
    for place, user in enumerate(users):
        for at in range(left_starts[user], left_starts[user + 1]):
            factor, line = left_values[at], left_columns[at]
            for cell in range(right_starts[line], right_starts[line + 1]):
                item = right_columns[cell]
                row[item] += factor * right_values[cell]
                touched[item // CHUNK] = True
        for at in range(seen_starts[user], seen_starts[user + 1]):
            row[seen_columns[at]] = -np.inf
        items = lists[place]
        worth[:], items[:] = row[:n], np.arange(n)
        _heap(worth, items)
        for chunk in range(n // CHUNK, len(touched)):
            start, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(row))
            if touched[chunk] or worth[0] < 0:
                for item in range(max(start, n), end):
                    if row[item] > worth[0]:
                        _settle(worth, items, 0, n, row[item], item)
        _sort(worth, items)
        for at in range(seen_starts[user], seen_starts[user + 1]):
            row[seen_columns[at]] = nothing[seen_columns[at]]
        for chunk in range(len(touched)):
            if touched[chunk]:
                start, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(row))
                row[start:end] = nothing[start:end]
                touched[chunk] = False
    return lists


@njit(nogil=True)
def _entering(row: Floats, size: int) -> NDArray[np.int64]:
    """The first items, and those that come into a heap of this size at all; ascending."""
    worth, items = row[:size].copy(), np.arange(size)
    _heap(worth, items)
    entering = np.zeros(len(row), np.bool_)
    entering[:size] = True
    for item in range(size, len(row)):
        if row[item] > worth[0]:
            _settle(worth, items, 0, size, row[item], item)
            entering[item] = True
    return np.flatnonzero(entering)


@njit(
    "int64[:,::1](int64[::1], float32[::1], int32[::1], int32[::1], int64)", cache=True, nogil=True
)
def best_of_common(
    users: NDArray[np.intp], row: Floats, seen_starts: Ints, seen_columns: Ints, n: int
) -> Lists:
    """As `best_of_product`, of one row of scores that is the same for all users.

    An item that has n others before it that are no worse, and as many again as a user has seen,
    never comes into that user's heap. So only the other items are looked at.

    Args:
        users: shape (block,).
        row: shape (items,), -inf where an item is no candidate.
        seen_starts, seen_columns: what users have already, of shape (users, items).
        n: at most the number of items.
    Returns: shape (block, n).
    """
    lists, worth = np.empty((len(users), n), np.int64), np.empty(n, np.float32)
    sizes = seen_starts[users + 1] - seen_starts[users]
    mine, gone = row.copy(), np.float32(-np.inf)
    wide = 0
    columns = np.empty(0, np.int64)
    for place in np.argsort(sizes):
        if sizes[place] >= wide:
            wide = 2 * sizes[place] + 1
            columns = _entering(row, min(n + wide, len(row)))
        start, end = seen_starts[users[place]], seen_starts[users[place] + 1]
        for at in range(start, end):
            mine[seen_columns[at]] = gone
        items = lists[place]
        worth[:], items[:] = mine[:n], np.arange(n)
        _heap(worth, items)
        for item in columns:
            if item >= n and mine[item] > worth[0]:
                _settle(worth, items, 0, n, mine[item], item)
        _sort(worth, items)
        for at in range(start, end):
            mine[seen_columns[at]] = row[seen_columns[at]]
    return lists
