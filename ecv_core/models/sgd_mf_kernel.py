"""The inner loop of sgd-mf, compiled: one pass of stochastic gradient descent over ratings."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Float32s

_TYPES = (
    "void(int32[::1], int32[::1], float32[::1], int64[::1], float32[:,::1], float32[:,::1], "
    "float32[::1], float32[::1], float32, float32)"
)


@njit(_TYPES, cache=True, fastmath=True)
def descend(
    users: Codes,
    items: Codes,
    residuals: Float32s,
    order: NDArray[np.int64],
    user_vectors: Float32s,
    item_vectors: Float32s,
    user_biases: Float32s,
    item_biases: Float32s,
    rate: float,
    regularization: float,
) -> None:
    """Take one step for each of some ratings; the four parameters are changed in place.

    Args:
        users, items, residuals: codes, and ratings less their mean; shape (ratings,).
        order: Which ratings, one after the other; shape (steps,).
        user_vectors, item_vectors: shapes (users, dimension) and (items, dimension).
        user_biases, item_biases: shapes (users,) and (items,).
        rate: The learning rate.
        regularization: The regularization of vectors and biases alike.
    """
    dimension = user_vectors.shape[1]
    for step in range(len(order)):
        rating = order[step]
        user = users[rating]
        item = items[rating]
        product = np.float32(0.0)
        for factor in range(dimension):
            product += user_vectors[user, factor] * item_vectors[item, factor]
        error = residuals[rating] - user_biases[user] - item_biases[item] - product
        user_biases[user] += rate * (error - regularization * user_biases[user])
        item_biases[item] += rate * (error - regularization * item_biases[item])
        for factor in range(dimension):
            user_value = user_vectors[user, factor]
            item_value = item_vectors[item, factor]
            user_vectors[user, factor] = user_value + rate * (
                error * item_value - regularization * user_value
            )
            item_vectors[item, factor] = item_value + rate * (
                error * user_value - regularization * item_value
            )
