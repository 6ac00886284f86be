"""The nearest columns of each column of a sparse matrix, compiled; memory is that of the result."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ecv_core.records.arrays import Float32s, Mask

Ints = NDArray[np.int32]

_MATRIX = "int32[::1], int32[::1], float32[::1]"


@njit(nogil=True)
def _kth_largest(values: Float32s, k: int) -> np.float32:
    """The k-th largest value; they are at least k. One pass, with a heap of the k best so far."""
    heap = np.sort(values[:k])  # Sorted values are a heap, whose least comes first.
    for value in values[k:]:
        if value > heap[0]:
            # The value takes the place of the least, and sinks below all that are smaller.
            parent = 0
            child = 1
            while child < k:
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= value:
                    break
                heap[parent] = heap[child]
                parent = child
                child = 2 * child + 1
            heap[parent] = value
    return heap[0]


@njit(nogil=True)
def _add_row(
    factor: np.float32,
    columns: Ints,
    weights: Float32s,
    products: Float32s,
    is_reached: Mask,
    reached: Ints,
    reached_count: int,
) -> int:
    """Add a row's part of the inner products of a column with all others.

    Args:
        factor: What the row has in the column.
        columns, weights: the columns that the row has, and what it has there.
        products: The inner products, added to; shape (all columns,).
        is_reached: Which columns have a product already, changed; shape (all columns,).
        reached: Those columns, in the order in which they were reached, added to.
        reached_count: How many they are.

    Returns:
        How many they are now.
    """
    for entry in range(len(columns)):
        # numba looks whether a signed index counts from the end; an unsigned one saves that.
        other = np.uint32(columns[entry])
        products[other] += factor * weights[entry]
        if not is_reached[other]:
            is_reached[other] = True
            reached[reached_count] = other
            reached_count += 1
    return reached_count


@njit(nogil=True)
def _append_nearest(
    columns: Ints,
    similarities: Float32s,
    k: int,
    kept_columns: Ints,
    kept_similarities: Float32s,
    kept_count: int,
) -> int:
    """Append the k columns of the largest similarities to those that were kept before.

    Args:
        columns, similarities: to choose from, in the order that decides among equal ones;
            shape (columns,).
        k: How many are kept, at most.
        kept_columns, kept_similarities: written to from index `kept_count` on.
        kept_count: How many are there before.

    Returns:
        How many are there now.
    """
    count = len(columns)
    limit = np.float32(0)
    room_for_ties = k
    if count > k:
        limit = _kth_largest(similarities, k)
        for index in range(count):
            if similarities[index] > limit:
                room_for_ties -= 1
    for index in range(count):
        is_kept = similarities[index] > limit
        # Similarities that equal the limit are kept while there is room for them. A similarity of
        # 0 is never kept.
        if similarities[index] == limit and limit > 0 and room_for_ties > 0:
            is_kept = True
            room_for_ties -= 1
        if is_kept:
            kept_columns[kept_count] = columns[index]
            kept_similarities[kept_count] = similarities[index]
            kept_count += 1
    return kept_count


@njit(
    f"Tuple((int32[::1], int32[::1], float32[::1]))({_MATRIX}, {_MATRIX}, float32[::1], "
    "float32[::1], float32, int64, int64, int64)",
    cache=True,
    nogil=True,
)
def nearest(
    starts: Ints,
    columns: Ints,
    values: Float32s,
    by_column_starts: Ints,
    by_column_rows: Ints,
    by_column_values: Float32s,
    divisors: Float32s,
    divisors_as_neighbour: Float32s,
    shrink: np.float32,
    k: int,
    first: int,
    end: int,
) -> tuple[Ints, Ints, Float32s]:
    """The k nearest of each column from `first` to before `end`, as `SimilarityTerms` says.

    A column's products with others are added up in one row of all columns, and only what is kept
    leaves it. The order of the entries, and which of equal ones are kept, is that of scipy's
    product of both matrices: the column that was reached last comes first.

    Args:
        starts, columns, values: the matrix, of shape (rows, columns).
        by_column_starts, by_column_rows, by_column_values: the same, column by column.
        divisors, divisors_as_neighbour, shrink: as of `SimilarityTerms`.
        k: How many are kept, at most.
        first, end: which columns.

    Returns:
        Starts, columns and values of a matrix of shape (end - first, columns).
    """
    column_count = len(divisors)
    # What is known of one column: its inner products with others, which others it reaches through
    # a row that both have, and their similarities. Every column uses the same memory.
    products = np.zeros(column_count, np.float32)
    is_reached = np.zeros(column_count, np.bool_)
    reached = np.empty(column_count, np.int32)
    similarities = np.empty(column_count, np.float32)
    # The neighbours of all columns, one column after the other.
    kept_starts = np.zeros(end - first + 1, np.int32)
    kept_columns = np.empty((end - first) * k, np.int32)
    kept_similarities = np.empty((end - first) * k, np.float32)
    kept_count = 0
    for column in range(first, end):
        reached_count = 0
        for entry in range(by_column_starts[column], by_column_starts[column + 1]):
            row = by_column_rows[entry]
            reached_count = _add_row(
                by_column_values[entry],
                columns[starts[row] : starts[row + 1]],
                values[starts[row] : starts[row + 1]],
                products,
                is_reached,
                reached,
                reached_count,
            )
        # Scipy's product has its entries in this order, which decides between equal similarities.
        last_reached_first = reached[:reached_count][::-1].copy()
        for index, other in enumerate(last_reached_first):
            divisor = divisors[column] * divisors_as_neighbour[other] + shrink
            similarities[index] = products[other] / divisor
            if other == column:
                similarities[index] = 0
            # The next column starts with no product.
            products[other] = 0
            is_reached[other] = False
        kept_count = _append_nearest(
            last_reached_first,
            similarities[:reached_count],
            k,
            kept_columns,
            kept_similarities,
            kept_count,
        )
        kept_starts[column - first + 1] = kept_count
    return kept_starts, kept_columns[:kept_count].copy(), kept_similarities[:kept_count].copy()
