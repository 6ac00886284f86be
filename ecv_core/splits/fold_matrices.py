"""A fold as two sparse matrices: what a model learns from, and what is held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import FoldsError
from ecv_core.records import Folds, Interactions


def matrices(interactions: Interactions, folds: Folds, index: int) -> tuple[csr_array, csr_array]:
    """What a model may learn from in fold `index`, and what it is evaluated on.

    Returns: (train, held out), disjoint and together all interactions; both of shape
        (users, items), float32 ones, sorted indices, no duplicates; rows may be empty.
    Raises: FoldsError if the folds have no such index or belong to other interactions.
    """
    held_out = _assignment(interactions, folds, index) == index
    return _matrix(interactions, ~held_out), _matrix(interactions, held_out)


def _assignment(interactions: Interactions, folds: Folds, index: int) -> NDArray[np.int16]:
    if not 0 <= index < folds.k:
        raise FoldsError(f"there is no fold {index}; these folds go from 0 to {folds.k - 1}")
    if len(folds.assignment) != len(interactions):
        raise FoldsError(
            f"these folds assign {len(folds.assignment)} interactions, but {interactions.dataset} "
            f"has {len(interactions)}; make the folds from this dataset again"
        )
    return folds.assignment


def _matrix(interactions: Interactions, chosen: NDArray[np.bool_]) -> csr_array:
    users, items = interactions.users[chosen], interactions.items[chosen]
    width = interactions.n_items
    keys = users.astype(np.int64) * width + items
    if not np.all(keys[1:] > keys[:-1]):  # preparation sorts, but other callers may not
        ones = np.ones(len(users), dtype=np.float32)
        matrix = csr_array((ones, (users, items)), shape=(interactions.n_users, width))
        # Building it from pairs has sorted them and added up what was there twice.
        matrix.data[:] = 1
        return matrix
    sizes = np.bincount(users, minlength=interactions.n_users)
    pointers = np.zeros(interactions.n_users + 1, dtype=np.int32)
    np.cumsum(sizes, out=pointers[1:])
    matrix = csr_array(
        (np.ones(len(items), dtype=np.float32), items.astype(np.int32, copy=False), pointers),
        shape=(interactions.n_users, width),
    )
    matrix.has_sorted_indices = True  # known from the keys; spares every user of it the check
    matrix.has_canonical_format = True
    return matrix
