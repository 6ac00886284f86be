"""Items that vote for other items, with weights -> scores of all items for blocks of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:
    import torch

DENSE_ITEMS = 5_000
"""Up to this many items the item x item weights are held dense: at most 100 MB."""
WIDTH = 512
"""Columns of the weights that are summed at once, so that they stay in cache while in use."""


class Voting:
    """A user's score for an item is the sum of the weights of the user's items in its row."""

    def __init__(self, train: csr_array, votes: csr_array) -> None:
        """Hold who has what, and the weights in the form that is summed fastest.

        Args:
            train: shape (users, items), each stored entry 1.0.
            votes: shape (items, items); row j holds the items that vote for item j.
        """
        self._train = narrow(train)
        self._parts: list[torch.Tensor] = []
        self._weights: csr_array | None = None
        if train.shape[1] <= DENSE_ITEMS:
            self._parts = _dense_parts(votes)
        else:
            self._weights = votes.T.tocsr()

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""
        import torch

        rows = self._train[users]
        if self._weights is not None:
            return torch.from_numpy((rows @ self._weights).toarray())
        return sum_votes(rows, self._parts)


def sum_votes(rows: csr_array, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Scores of users, dense.

    Args:
        rows: what the users have, with int32 indices; shape (block, items).
        parts: the weights, as blocks of columns; each shape (items, columns).
    Returns: shape (block, items).
    """
    import torch

    scores = torch.empty(rows.shape)
    indices, indptr = torch.from_numpy(rows.indices), torch.from_numpy(rows.indptr)
    start = 0
    for part in parts:
        scores[:, start : start + part.shape[1]] = torch.nn.functional.embedding_bag(
            indices, part, indptr, mode="sum", include_last_offset=True
        )
        start += part.shape[1]
    return scores


def narrow(matrix: csr_array) -> csr_array:
    """The same with int32 indices, which torch takes as they are."""
    return csr_array(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )


def _dense_parts(votes: csr_array) -> list[torch.Tensor]:
    """The weights as dense blocks of columns."""
    import torch

    return [
        torch.from_numpy(np.ascontiguousarray(votes[start : start + WIDTH].toarray().T))
        for start in range(0, votes.shape[0], WIDTH)
    ]
