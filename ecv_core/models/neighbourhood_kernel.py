"""The nearest columns of each column of a sparse matrix, compiled; memory is that of the result."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

_MATRIX = "int32[::1], int32[::1], float32[::1]"


@njit(nogil=True)
def _kth_largest(values: Floats, k: int) -> np.float32:
    """The k-th largest value; they are at least k. A heap of the best so far is walked once."""
    best = np.sort(values[:k])
    for value in values[k:]:
        if value > best[0]:
            hole = 0
            child = 1
            while child < k:
                if child + 1 < k and best[child + 1] < best[child]:
                    child += 1
                if best[child] >= value:
                    break
                best[hole] = best[child]
                hole = child
                child = 2 * child + 1
            best[hole] = value
    return best[0]


@njit(nogil=True)
def _add_row(
    factor: np.float32,
    columns: Ints,
    weights: Floats,
    shared: Floats,
    is_met: Bools,
    met: Ints,
    count: int,
) -> int:
    """Add what a row says of a column to what that column shares with each other column.

    Args:
        factor: what the row has in the column.
        columns, weights: the columns that the row has, and what it has there.
        shared: added to; shape (all columns,).
        is_met: which columns shared something before; shape (all columns,).
        met: those columns, in the order in which they were met.
        count: how many they are.
    Returns: how many they are now.
    """
    for cell in range(len(columns)):
        other = np.uint32(columns[cell])  # unsigned: no look whether it counts from the end
        shared[other] += factor * weights[cell]
        if not is_met[other]:
            is_met[other] = True
            met[count] = other
            count += 1
    return count


@njit(nogil=True)
def _keep(met: Ints, near: Floats, k: int, kept: Ints, how_near: Floats, total: int) -> int:
    """Write the k nearest of the columns that were met, the one met last first.

    Args:
        met: the columns, in the order in which they were met; shape (columns,).
        near: how near each is, in the opposite order; shape (columns,).
        k: how many are kept, at most.
        kept, how_near: written to from place `total` on.
        total: how many are there before.
    Returns: how many are there now.
    """
    count = len(met)
    limit = np.float32(0)
    room_for_ties = k
    if count > k:
        limit = _kth_largest(near, k)
        for place in range(count):
            room_for_ties -= near[place] > limit
    # As many of those exactly at the limit are kept as there is room for.
    for place in range(count):
        is_tied = count > k and near[place] == limit
        if near[place] > limit or (is_tied and room_for_ties > 0 and limit > 0):
            room_for_ties -= is_tied
            kept[total] = met[count - 1 - place]  # `near` begins with the column met last
            how_near[total] = near[place]
            total += 1
    return total


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
    is_met = np.zeros(len(own), np.bool_)
    met = np.empty(len(own), np.int32)
    near = np.empty(len(own), np.float32)
    ends = np.zeros(last - first + 1, np.int32)
    kept = np.empty((last - first) * k, np.int32)
    how_near = np.empty((last - first) * k, np.float32)
    total = 0
    for column in range(first, last):
        # What this column shares with each other one, through the rows that both have.
        count = 0
        for at in range(by_column_starts[column], by_column_starts[column + 1]):
            row = by_column_rows[at]
            others_of_row = columns[starts[row] : starts[row + 1]]
            weights = values[starts[row] : starts[row + 1]]
            count = _add_row(
                by_column_values[at], others_of_row, weights, shared, is_met, met, count
            )
        # How near they are, the one that was met last first: equal ones are kept in this order.
        # What was used of the arrays is cleared for the next column.
        for place in range(count):
            other = met[count - 1 - place]
            near[place] = shared[other] / (own[column] * others[other] + shrink)
            if other == column:
                near[place] = 0
            shared[other] = 0
            is_met[other] = False
        total = _keep(met[:count], near[:count], k, kept, how_near, total)
        ends[column - first + 1] = total
    return ends, kept[:total].copy(), how_near[:total].copy()
