"""Interactions -> how many users each pair of items shares, by the cheaper of two products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    import torch

DENSE_CELLS = 25_000_000
"""A dense items x items matrix may have this many cells: 100 MB as float32."""

DENSE_GAIN = 300
"""Multiplications that a dense product does in the time of one in a sparse product.

Measured on 2 cores: 1e11 against 4e8 a second.
"""

BLOCK_ITEMS = 1024
"""Rows of the dense product computed at once."""


def dense_is_cheaper(train: csr_array) -> bool:
    """Whether the dense product of `train` with itself fits in memory and is the faster one."""
    users, items = train.shape
    if items * items > DENSE_CELLS or users * items > 4 * DENSE_CELLS:
        return False
    sparse_cost = float(np.square(np.diff(train.indptr), dtype=np.float64).sum())
    return users * items * items < DENSE_GAIN * sparse_cost


def dense_counts(train: csr_array) -> torch.Tensor:
    """Users that each pair of items shares; an item with itself: its users.

    Args:
        train: shape (users, items), each stored entry 1.0; of other entries the products are
            summed instead.
    Returns: float32, shape (items, items), symmetric; counts are exact below 2^24 users.
    """
    import torch

    items = train.shape[1]
    matrix = torch.from_numpy(train.toarray())
    counts = torch.empty((items, items))
    for start in range(0, items, BLOCK_ITEMS):  # upper triangle only: the product is symmetric
        end = min(start + BLOCK_ITEMS, items)
        counts[start:end, start:] = matrix[:, start:end].T @ matrix[:, start:]
        counts[end:, start:end] = counts[start:end, end:].T
    return counts


def sparse_counts(train: csr_array) -> csr_array:
    """As `dense_counts`, holding only the pairs that share a user; indices are not sorted."""
    return csr_array(train.T.tocsr() @ train)
