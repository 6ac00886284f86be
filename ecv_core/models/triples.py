"""Baskets -> triples of a user and two items of one basket, at random; loads torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array


class Triples:
    """Each interaction, with another item of its basket that is drawn anew in every pass.

    An item that was bought alone is in no triple.
    """

    def __init__(self, train: csr_array, baskets: NDArray[np.int64], device: torch.device) -> None:
        """Put the interactions in the order of baskets.

        Args:
            train: shape (users, items).
            baskets: of each stored entry; equal numbers of one user are one basket.
            device: where triples are drawn.
        """
        users = np.repeat(np.arange(train.shape[0]), np.diff(train.indptr))
        order = np.lexsort((baskets, users))
        users, baskets = users[order], baskets[order]
        new = np.ones(len(users), dtype=bool)
        new[1:] = (users[1:] != users[:-1]) | (baskets[1:] != baskets[:-1])
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, len(users)))
        self._users, self._items, self._starts, self._sizes = (
            torch.from_numpy(values.astype(np.int64)).to(device)
            for values in (
                users,
                train.indices[order],
                np.repeat(starts, sizes),
                np.repeat(sizes, sizes),
            )
        )
        self._paired = (self._sizes > 1).nonzero()[:, 0]

    def __len__(self) -> int:
        return len(self._paired)

    def shuffled(
        self, size: int, random: torch.Generator
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """All of them once, in random order, in batches: users, items, others of the basket."""
        device = self._users.device
        order = torch.randperm(len(self), generator=random, device=device)
        for part in torch.split(self._paired[order], size):
            sizes, starts = self._sizes[part], self._starts[part]
            chance = torch.rand(len(part), generator=random, device=device)
            # From 1 to size - 1 places further, and around: any other of the basket alike.
            ahead = 1 + (chance * (sizes - 1)).long().clamp_(max=sizes - 2)
            others = starts + (part - starts + ahead) % sizes
            yield self._users[part], self._items[part], self._items[others]
