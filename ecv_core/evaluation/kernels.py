"""Top-n lists by compiled code, with or without a score for every item; loads numba."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import Lists
from ecv_core.records.arrays import AnyArray, AnyFloats, Float32s, Indices

Ints = NDArray[np.int32]

CHUNK = 64
"""Items that are compared with a list's last together, by instructions for several at once."""
_MATRIX = "int32[::1], int32[::1], float32[::1]"

_threads = cache(ThreadPoolExecutor)


def on_every_core(rank: Callable[[AnyArray], Lists], rows: AnyArray) -> Lists:
    """Lists of all rows, parts of them at once: compiled code leaves Python to other threads."""
    parts = np.array_split(rows, config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return np.concatenate([*_threads(len(parts)).map(rank, parts)])


@njit(nogil=True)
def _insert(best_scores: Any, items: Any, value: Any, item: Any) -> None:  # noqa: ANN401
    """Put an item into its place in a list; the last one leaves it.

    Items come by ascending number, so the item's place is after all that have the same score.
    """
    # Both arrays are sorted by score, the best first. Their last entries are overwritten.
    place = len(items) - 1
    while place > 0 and best_scores[place - 1] < value:
        best_scores[place] = best_scores[place - 1]
        items[place] = items[place - 1]
        place -= 1
    best_scores[place] = value
    items[place] = item


@njit(nogil=True)
def _fill_list(row: Any, best_scores: Any, items: Any) -> None:  # noqa: ANN401
    """Fill a list with the best items of a row of scores; `best_scores` is room for theirs."""
    # No item with a score of -inf enters the list. Where fewer items are left than places, the
    # places at its end keep -1, which stands for no item.
    best_scores[:] = -np.inf
    items[:] = -1
    limit = best_scores[-1]
    for start in range(0, len(row), CHUNK):
        chunk = row[start : start + CHUNK]
        has_better = False
        # Compiled, a loop over places is a vector operation; one over values is not.
        for place in range(len(chunk)):
            has_better |= chunk[place] > limit
        if has_better:
            for place in range(len(chunk)):
                if chunk[place] > limit:
                    _insert(best_scores, items, chunk[place], start + place)
                    limit = best_scores[-1]


@njit(
    ["int64[:,::1](float32[:,::1], int64)", "int64[:,::1](float64[:,::1], int64)"],
    cache=True,
    nogil=True,
)
def best_of_scores(scores: AnyFloats, n: int) -> Lists:
    """As `ranking.best_items`, in one pass over the scores."""
    lists = np.empty((len(scores), n), np.int64)
    best_scores = np.empty(n, scores.dtype)  # Every row's list uses this memory anew.
    for row in range(len(scores)):
        _fill_list(scores[row], best_scores, lists[row])
    return lists


@njit(
    f"int64[:,::1](int64[::1], {_MATRIX}, {_MATRIX}, int32[::1], int32[::1], float32[::1], int64)",
    cache=True,
    nogil=True,
)
def best_of_product(
    users: Indices,
    left_starts: Ints,
    left_columns: Ints,
    left_values: Float32s,
    right_starts: Ints,
    right_columns: Ints,
    right_values: Float32s,
    seen_starts: Ints,
    seen_columns: Ints,
    initial_scores: Float32s,
    n: int,
) -> Lists:
    """The n best items of each user, by the product of two sparse matrices, summed row by row.

    Args:
        users: Rows of `left`, in any order; shape (block,).
        left_starts, left_columns, left_values: a matrix of shape (users, any).
        right_starts, right_columns, right_values: of shape (any, items).
        seen_starts, seen_columns: what users have already, of shape (users, items).
        initial_scores: The initial scores of the items, before any is added: 0, or -inf for no
            candidate.
        n: At most the number of items.

    Returns:
        Items, best first, -1 where no candidate is left; shape (block, n).
    """
    lists = np.empty((len(users), n), np.int64)
    best_scores = np.empty(n, np.float32)  # Every user's list uses this memory anew.
    # The user's scores are the sum of rows of `right`, each times the user's cell of `left` for it.
    row = initial_scores.copy()  # It is 0 for a candidate, and -inf for any other item.
    for place, user in enumerate(users):
        for left_cell in range(left_starts[user], left_starts[user + 1]):
            factor = left_values[left_cell]
            right_row = left_columns[left_cell]
            items = right_columns[right_starts[right_row] : right_starts[right_row + 1]]
            values = right_values[right_starts[right_row] : right_starts[right_row + 1]]
            for cell in range(len(items)):
                # An unsigned number spares a check whether it counts from the end of the row.
                item = np.uint32(items[cell])
                row[item] += factor * values[cell]
        for seen_item in seen_columns[seen_starts[user] : seen_starts[user + 1]]:
            row[seen_item] = -np.inf
        # A place is -1 where too few candidates are left.
        _fill_list(row, best_scores, lists[place])
        row[:] = initial_scores
    return lists


@njit(
    "int64[:,::1](int64[::1], int64[::1], int32[::1], int32[::1], int64, int64)",
    cache=True,
    nogil=True,
)
def first_unseen(
    users: Indices,
    ranking: Indices,
    seen_starts: Ints,
    seen_columns: Ints,
    n_items: int,
    n: int,
) -> Lists:
    """The first n items of a ranking that is the same for all users, less the user's own.

    Args:
        users: Shape (block,).
        ranking: The items that can be recommended, best first.
        seen_starts, seen_columns: what users have already, of shape (users, items).
        n_items: How many there are.
        n: Length of a list.

    Returns:
        -1 where no item is left; shape (block, n).
    """
    lists = np.full((len(users), n), -1, np.int64)
    is_seen = np.zeros(n_items, np.bool_)
    for place, user in enumerate(users):
        seen_items = seen_columns[seen_starts[user] : seen_starts[user + 1]]
        for item in seen_items:
            is_seen[item] = True
        items = lists[place]
        length = 0
        for item in ranking:
            if length == n:
                break
            if not is_seen[item]:
                items[length] = item
                length += 1
        for item in seen_items:
            is_seen[item] = False  # The next user begins with no item seen.
    return lists
