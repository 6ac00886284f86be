"""Compiled parts of learning from pairs: which are in the training data, and the slopes of BPR."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bits = NDArray[np.uint8]


@njit("void(int64[::1], uint8[::1])", cache=True, nogil=True)
def mark(keys: Longs, marks: Bits) -> None:
    """Set the bit of each key's last digits.

    Args:
        keys: numbers of pairs; shape (pairs,).
        marks: eight bits in each; their number is a power of two.
    """
    last_digits = np.uint64(8 * len(marks) - 1)
    for place in range(len(keys)):
        bit = np.uint64(keys[place]) & last_digits
        in_byte = np.uint8(bit & np.uint64(7))
        marks[bit >> np.uint64(3)] |= np.uint8(1) << in_byte


@njit("int64[::1](int64[::1], int64[::1], int64, int32[::1], int32[::1], uint8[::1])", cache=True)
def places_in_training(
    users: Longs, items: Longs, n_items: int, starts: Ints, columns: Ints, marks: Bits
) -> Longs:
    """Which of some pairs are in the training matrix, by their places.

    Args:
        users, items: the pairs; shape (pairs,).
        n_items: columns of the matrix. The key of a pair is user * n_items + item.
        starts, columns: the matrix by rows, the columns of each in order.
        marks: as `mark` sets them for the keys of the matrix.
    Returns: places in order.
    """
    places = np.empty(len(users), np.int64)
    last_digits = np.uint64(8 * len(marks) - 1)
    # Each place is written, and counted only where the bit is set: without a branch, which the
    # processor would guess wrongly.
    marked = 0
    for place in range(len(users)):
        bit = np.uint64(users[place] * n_items + items[place]) & last_digits
        places[marked] = place
        eight_bits = marks[bit >> np.uint64(3)]
        in_byte = np.uint8(bit & np.uint64(7))
        marked += (eight_bits >> in_byte) & np.uint8(1)
    count = 0
    for place in places[:marked]:
        item = items[place]
        low = starts[users[place]]
        end = starts[users[place] + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if columns[middle] < item:
                low = middle + 1
            else:
                high = middle
        if low < end and columns[low] == item:
            places[count] = place
            count += 1
    return places[:count].copy()


def _multiple_added_code(context: Any, factor: Any, value: Any, total: Any) -> Any:  # noqa: ANN401
    """factor * value + total, rounded once: as torch adds multiples of a tensor to another."""

    def written(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), written


_multiple_added: Any = intrinsic(_multiple_added_code)


_TABLES = "float32[:,::1], float32[:,::1], float32[::1]"


@njit(
    f"void({_TABLES}, {_TABLES}, int64[::1], int64[::1], int64[:,::1], float32[:,::1], "
    "float32, float32)",
    cache=True,
    nogil=True,
)
def add_slopes(
    users: Floats,
    items: Floats,
    bias: Floats,
    user_slopes: Floats,
    item_slopes: Floats,
    bias_slopes: Floats,
    batch_users: Longs,
    batch_items: Longs,
    negatives: Longs,
    slopes: Floats,
    user_decay: float,
    item_decay: float,
) -> None:
    """Add up the slopes of a batch's loss by vectors and biases, given those by its scores.

    Sums are in the order in which torch adds them, one negative of all pairs after the other, and
    rounded as there.

    Args:
        users, items, bias: of all users and items; shapes (users, factors), (items, factors), and
            (items,) or, without biases, (0,).
        user_slopes, item_slopes, bias_slopes: what is added to; of the same shapes.
        batch_users, batch_items: the pairs; shape (batch,).
        negatives: items that each user has not; shape (batch, negatives).
        slopes: by how much each negative's score raises the loss; shape (negatives, batch).
        user_decay, item_decay: of each vector in the batch, added times the vector.
    """
    size, count = negatives.shape
    factors = users.shape[1]
    has_bias = len(bias) > 0
    # What the negatives of each pair add to the user's slopes, and take from the item's.
    of_users = np.zeros((size, factors), np.float32)
    of_scores = np.zeros(size, np.float32)
    for number in range(count):
        for place in range(size):
            user = np.uint64(batch_users[place])  # unsigned: no look whether it counts from the end
            item = np.uint64(negatives[place, number])
            slope = slopes[number, place]
            for factor in range(factors):
                value = items[item, factor]
                by_score = slope * users[user, factor]
                item_slopes[item, factor] += _multiple_added(value, item_decay, by_score)
                added = _multiple_added(slope, value, of_users[place, factor])
                of_users[place, factor] = added
            of_scores[place] -= slope
            if has_bias:
                bias_slopes[item] += slope + item_decay * bias[item]
    for place in range(size):
        user = np.uint64(batch_users[place])
        item = np.uint64(batch_items[place])
        slope = of_scores[place]
        for factor in range(factors):
            own = users[user, factor]
            value = items[item, factor]
            item_slopes[item, factor] += _multiple_added(value, item_decay, slope * own)
            by_scores = _multiple_added(slope, value, of_users[place, factor])
            user_slopes[user, factor] += _multiple_added(own, user_decay, by_scores)
        if has_bias:
            bias_slopes[item] += slope + item_decay * bias[item]
