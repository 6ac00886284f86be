"""An inner validation part of a training matrix, and how well a model ranks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.device import Rows, best_device

if TYPE_CHECKING:
    import torch

LIST_LENGTH = 100
"""As Liang et al. (2018) validate: long lists are a far less noisy measure than short ones."""
USERS = 1_000
"""At most this many users are ranked per validation, so that it costs little beside an epoch."""
CELLS = 2_000_000
"""Scores held at once."""


class Validation:
    """Interactions hidden from training, to see how well they are found.

    Only ever made from the training part of a fold: what the fold holds out is not touched.
    """

    def __init__(
        self,
        visible: csr_array,
        hidden: csr_array,
        users: NDArray[np.intp],
        kept: NDArray[np.bool_],
    ) -> None:
        self.visible = visible
        """What is left to train on; shape (users, items)."""
        self.kept = kept
        """Which stored entries of the whole are left; shape (entries,)."""
        self._users = users
        device = best_device()
        self._seen = Rows.of(visible, device)
        self._hidden = Rows.of(hidden, device)

    @classmethod
    def of(cls, train: csr_array, share: float, seed: int) -> Self | None:
        """Hide this share of the interactions of users who have at least two.

        Args:
            train: shape (users, items), each stored entry 1.0.
            share: of the interactions, in (0, 1).
            seed: fixes which.
        Returns: None if the data is too small to hide anything.
        """
        rng = np.random.default_rng([seed, 1])
        sizes = np.diff(train.indptr)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        # A user's first in a random order stays visible, so that nobody loses everything.
        chance = rng.random(train.nnz)
        order = np.lexsort((chance, owners))
        spared = np.zeros(train.nnz, dtype=bool)
        spared[order[train.indptr[:-1][sizes > 0]]] = True
        hide = (chance > 1 - share) & ~spared
        if not hide.any():
            return None
        visible, hidden = _entries(train, owners, ~hide), _entries(train, owners, hide)
        users = np.flatnonzero(np.diff(hidden.indptr))
        if len(users) > USERS:
            users = np.sort(rng.choice(users, USERS, replace=False))
        return cls(visible, hidden, users, ~hide)

    def ndcg(self, score: Callable[[NDArray[np.intp]], torch.Tensor]) -> float:
        """Mean nDCG@100 of the hidden interactions, among all items a user does not have visible.

        Args:
            score: users (block,) -> scores (block, items), as `Recommender.score`; overwritten.
        """
        import torch

        items = self.visible.shape[1]
        n = min(LIST_LENGTH, items)
        device = self._seen.columns.device
        discount = 1 / torch.log2(torch.arange(2, n + 2, dtype=torch.float64, device=device))
        ideal = discount.cumsum(0)
        total = 0.0
        size = max(1, CELLS // items)
        for start in range(0, len(self._users), size):
            users = self._users[start : start + size]
            scores = score(users)
            seen, hidden = self._seen.take(users), self._hidden.take(users)
            scores[seen.owners, seen.columns] = -torch.inf
            wanted = torch.zeros(scores.shape, dtype=torch.bool, device=device)
            wanted[hidden.owners, hidden.columns] = True
            hits = wanted.gather(1, scores.topk(n, dim=1).indices)
            best = ideal[hidden.sizes.clamp(max=n).long() - 1]
            total += float(((hits * discount).sum(dim=1) / best).sum())
        return total / len(self._users)


def _entries(train: csr_array, owners: NDArray[np.intp], chosen: NDArray[np.bool_]) -> csr_array:
    pointers = np.zeros(train.shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(owners[chosen], minlength=train.shape[0]), out=pointers[1:])
    return csr_array((train.data[chosen], train.indices[chosen], pointers), shape=train.shape)
