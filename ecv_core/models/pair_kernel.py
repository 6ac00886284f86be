"""Compiled parts of learning from pairs: which are in training, and the gradients of BPR."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ecv_core.records.arrays import Float32s

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bits = NDArray[np.uint8]


@njit("void(int64[::1], uint8[::1])", cache=True, nogil=True)
def mark(keys: Longs, marks: Bits) -> None:
    """Set the bit of each key's last binary digits: a Bloom filter with one hash function.

    Args:
        keys: Numbers of pairs; shape (pairs,).
        marks: Eight bits in each byte; the number of bytes is a power of two.
    """
    last_digits = np.uint64(8 * len(marks) - 1)
    for pair in range(len(keys)):
        bit = np.uint64(keys[pair]) & last_digits
        byte = bit >> np.uint64(3)
        bit_in_byte = np.uint8(bit & np.uint64(7))
        marks[byte] |= np.uint8(1) << bit_in_byte


@njit("int64[::1](int64[::1], int64[::1], int64, int32[::1], int32[::1], uint8[::1])", cache=True)
def indices_of_training_pairs(
    users: Longs, items: Longs, n_items: int, starts: Ints, columns: Ints, marks: Bits
) -> Longs:
    """Indices of those of some pairs that are in the training matrix.

    Args:
        users, items: the pairs; shape (pairs,).
        n_items: Columns of the matrix. The key of a pair is user * n_items + item.
        starts, columns: the matrix by rows, the columns of each in order.
        marks: As `mark` sets them for the keys of the matrix.

    Returns:
        In order.
    """
    indices = np.empty(len(users), np.int64)
    # Its binary digits are all ones, as the number of bits in `marks` is a power of two.
    last_digits = np.uint64(8 * len(marks) - 1)
    # First the pairs are chosen whose bit is set, which include all of the training matrix. The
    # index of each pair is written, but the next one overwrites it unless the bit is set. So there
    # is no branch, which the processor would often predict wrongly.
    marked_count = 0
    for pair in range(len(users)):
        bit = np.uint64(users[pair] * n_items + items[pair]) & last_digits
        indices[marked_count] = pair
        byte = marks[bit >> np.uint64(3)]
        bit_in_byte = np.uint8(bit & np.uint64(7))
        marked_count += (byte >> bit_in_byte) & np.uint8(1)
    # A marked pair is kept if its item is in the user's row, where it is searched by bisection.
    count = 0
    for pair in indices[:marked_count]:
        item = items[pair]
        low = starts[users[pair]]
        end = starts[users[pair] + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if columns[middle] < item:
                low = middle + 1
            else:
                high = middle
        if low < end and columns[low] == item:
            indices[count] = pair
            count += 1
    return indices[:count].copy()


def _fused_multiply_add_code(context: Any, factor: Any, value: Any, total: Any) -> Any:  # noqa: ANN401
    """factor * value + total, rounded once: as torch adds multiples of a tensor to another."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), emit


_fused_multiply_add: Any = intrinsic(_fused_multiply_add_code)


_TABLES = "float32[:,::1], float32[:,::1], float32[::1]"


@njit(
    f"void({_TABLES}, {_TABLES}, int64[::1], int64[::1], int64[:,::1], float32[:,::1], "
    "float32, float32)",
    cache=True,
    nogil=True,
)
def add_gradients(
    user_vectors: Float32s,
    item_vectors: Float32s,
    item_biases: Float32s,
    user_gradients: Float32s,
    item_gradients: Float32s,
    bias_gradients: Float32s,
    users: Longs,
    positives: Longs,
    negatives: Longs,
    score_gradients: Float32s,
    user_decay: float,
    item_decay: float,
) -> None:
    """Add the gradients of a batch's BPR loss by vectors and biases, given those by its scores.

    Sums are in the order in which torch adds them, one negative of all pairs after the other, and
    rounded as there.

    Args:
        user_vectors, item_vectors, item_biases: of all users and items; shapes (users, factors),
            (items, factors), and (items,) or, without biases, (0,).
        user_gradients, item_gradients, bias_gradients: what is added to; of the same shapes.
        users, positives: the pairs; shape (batch,).
        negatives: Items that each user has not; shape (batch, negatives).
        score_gradients: The score gradients of the loss by each negative's score; shape (negatives,
            batch).
        user_decay, item_decay: of each vector in the batch, added times the vector.
    """
    batch_size, negative_count = negatives.shape
    factors = user_vectors.shape[1]
    has_biases = len(item_biases) > 0
    # A score is user vector times item vector, plus the item's bias: its gradient by one vector is
    # the other, and by the bias 1. The loss looks at positive less negative score, so that the
    # gradient by a positive's score is that by all of its negatives' scores with the other sign.
    gradients_by_negatives = np.zeros((batch_size, factors), np.float32)
    positive_score_gradients = np.zeros(batch_size, np.float32)
    for number in range(negative_count):
        for pair in range(batch_size):
            # numba looks whether a signed index counts from the end; an unsigned one saves that.
            user = np.uint64(users[pair])
            item = np.uint64(negatives[pair, number])
            score_gradient = score_gradients[number, pair]
            for factor in range(factors):
                value = item_vectors[item, factor]
                by_vector = score_gradient * user_vectors[user, factor]
                item_gradients[item, factor] += _fused_multiply_add(value, item_decay, by_vector)
                gradients_by_negatives[pair, factor] = _fused_multiply_add(
                    score_gradient, value, gradients_by_negatives[pair, factor]
                )
            positive_score_gradients[pair] -= score_gradient
            if has_biases:
                bias_gradients[item] += score_gradient + item_decay * item_biases[item]
    for pair in range(batch_size):
        user = np.uint64(users[pair])
        item = np.uint64(positives[pair])
        score_gradient = positive_score_gradients[pair]
        for factor in range(factors):
            user_value = user_vectors[user, factor]
            item_value = item_vectors[item, factor]
            by_vector = score_gradient * user_value
            item_gradients[item, factor] += _fused_multiply_add(item_value, item_decay, by_vector)
            by_all_scores = _fused_multiply_add(
                score_gradient, item_value, gradients_by_negatives[pair, factor]
            )
            user_gradients[user, factor] += _fused_multiply_add(
                user_value, user_decay, by_all_scores
            )
        if has_biases:
            bias_gradients[item] += score_gradient + item_decay * item_biases[item]
