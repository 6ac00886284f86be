"""The nearest columns of each column of a sparse matrix, compiled; memory is that of the result."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

_MATRIX = "int32[::1], int32[::1], float32[::1]"


@njit(nogil=True)
def _limit(values: Floats, k: int) -> np.float32:
    """The k-th largest value; they are at least k. A heap of the best so far is walked once."""
    best = np.sort(values[:k])
    for value in values[k:]:
        if value > best[0]:
            hole, child = 0, 1
            while child < k:
                if child + 1 < k and best[child + 1] < best[child]:
                    child += 1
                if best[child] >= value:
                    break
                best[hole] = best[child]
                hole, child = child, 2 * child + 1
            best[hole] = value
    return best[0]


@njit(
    f"Tuple((int32[::1], int32[::1], float32[::1]))({_MATRIX}, {_MATRIX}, float32[::1], "
    "float32[::1], float32, int64, int64, int64)",
    cache=True,
    nogil=True,
)
def nearest(
    starts: Ints,
    columns: Ints,
    values: Floats,
    by_column_starts: Ints,
    by_column_rows: Ints,
    by_column_values: Floats,
    own: Floats,
    others: Floats,
    shrink: np.float32,
    k: int,
    first: int,
    last: int,
) -> tuple[Ints, Ints, Floats]:
    """The k nearest of each column from `first` to before `last`, as `Closeness` says.

    What a column shares with others is added up in one row of all columns, and only what is kept
    leaves it. The order of the entries, and which of equal ones are kept, is that of scipy's
    product of both matrices: the column that was met last comes first.

    Args:
        starts, columns, values: the matrix, of shape (rows, columns).
        by_column_starts, by_column_rows, by_column_values: the same, column by column.
        own, others, shrink: as of `Closeness`.
        k: how many are kept, at most.
        first, last: which columns.
    Returns: starts, columns and values of a matrix of shape (last - first, columns).
    """
    shared = np.zeros(len(own), np.float32)
    known = np.zeros(len(own), np.bool_)
    met, near = np.empty(len(own), np.int32), np.empty(len(own), np.float32)
    ends = np.zeros(last - first + 1, np.int32)
    kept = np.empty((last - first) * k, np.int32)
    how_near = np.empty((last - first) * k, np.float32)
    total = 0
    for column in range(first, last):
        count = 0
        for at in range(by_column_starts[column], by_column_starts[column + 1]):
            row, factor = by_column_rows[at], by_column_values[at]
            its = columns[starts[row] : starts[row + 1]]
            weights = values[starts[row] : starts[row + 1]]
            for cell in range(len(its)):
                other = np.uint32(its[cell])  # unsigned: no look whether it counts from the end
                shared[other] += factor * weights[cell]
                if not known[other]:
                    known[other] = True
                    met[count] = other
                    count += 1
        for place in range(count):
            other = met[count - 1 - place]
            near[place] = shared[other] / (own[column] * others[other] + shrink)
            if other == column:
                near[place] = 0
            shared[other] = 0
            known[other] = False
        limit, ties = np.float32(0), k
        if count > k:
            limit = _limit(near[:count], k)
            for place in range(count):
                ties -= near[place] > limit
        for place in range(count):
            tied = count > k and near[place] == limit
            if near[place] > limit or (tied and ties > 0 and limit > 0):
                ties -= tied
                kept[total], how_near[total] = met[count - 1 - place], near[place]
                total += 1
        ends[column - first + 1] = total
    return ends, kept[:total].copy(), how_near[:total].copy()
