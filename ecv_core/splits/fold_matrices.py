"""A fold as sparse matrices: what a model learns from, validates on, and is evaluated on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, History, Interactions, Part


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldMatrices:
    """One fold; every matrix has shape (users, items), float32 ones, sorted, without duplicates.

    Rows and columns may be empty.
    """

    train: csr_array
    validation: csr_array
    """Set aside from training; empty where the split has no such part."""
    held_out: csr_array
    interactions: Interactions
    """What was split."""
    learnt: NDArray[np.bool_]
    """Which interactions are in training; shape (interactions,)."""

    @property
    def seen(self) -> csr_array:
        """What the user already has when the held-out part is predicted, and so no candidate."""
        if not self.validation.nnz:
            return self.train
        seen = csr_array(self.train + self.validation)
        seen.sort_indices()
        return seen

    def history(self) -> History:
        """What is known of when the entries of `train` were, for models that ask for it."""
        return History.of(self.interactions, self.learnt)


def matrices(interactions: Interactions, folds: Folds, index: int) -> tuple[csr_array, csr_array]:
    """What a model may learn from in fold `index`, and what it is evaluated on.

    Returns: (train, held out), disjoint, as in FoldMatrices.
    Raises: FoldsError as `fold_matrices`.
    """
    fold = fold_matrices(interactions, folds, index)
    return fold.train, fold.held_out


@kinds_checked
def fold_matrices(interactions: Interactions, folds: Folds, index: int) -> FoldMatrices:
    """All parts of fold `index`, pairwise disjoint.

    Raises: FoldsError if the folds have no such index or belong to other interactions, or if the
        fold has nothing to learn from or nothing held out.
    """
    parts = usable_parts(interactions, folds, index)
    return FoldMatrices(
        train=_matrix(interactions, parts == Part.TRAIN),
        validation=_matrix(interactions, parts == Part.VALIDATION),
        held_out=_matrix(interactions, parts == Part.TEST),
        interactions=interactions,
        learnt=parts == Part.TRAIN,
    )


def usable_parts(interactions: Interactions, folds: Folds, index: int) -> NDArray[np.int8]:
    """The Part of each interaction in fold `index`. Raises: FoldsError as `fold_matrices`."""
    parts = checked_parts(interactions, folds, index)
    counts = np.bincount(parts, minlength=len(Part))
    for part, word in ((Part.TRAIN, "to learn from"), (Part.TEST, "held out")):
        if not counts[part]:
            raise FoldsError(_nothing(interactions, folds, index, word, int(counts[Part.UNKNOWN])))
    return parts


def checked_parts(interactions: Interactions, folds: Folds, index: int) -> NDArray[np.int8]:
    """The Part of each interaction in fold `index`.

    Raises: FoldsError if the folds have no such index or belong to other interactions.
    """
    parts = folds.parts(index)
    if len(parts) != len(interactions):
        raise FoldsError(
            f"these folds assign {len(parts)} interactions, but {interactions.dataset} "
            f"has {len(interactions)}; make the folds from this dataset again"
        )
    return parts


def _nothing(interactions: Interactions, folds: Folds, index: int, word: str, unknown: int) -> str:
    reason = (
        f", because training knows the user and the item of none of {unknown:,} interactions; "
        "use 'unknown' = 'keep'"
        if unknown
        else "; use another number of folds or another split"
    )
    return (
        f"fold {index} of {interactions.dataset} under the split '{folds.strategy}' has nothing "
        f"{word}{reason}"
    )


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
