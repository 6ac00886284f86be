"""What networks on (user, item) pairs with sampled negatives have in common; loads torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import torch
from scipy.sparse import csr_array

from ecv_core.models.device import Rows
from ecv_core.models.sampled_net import SampledNet
from ecv_core.records.interactions import History

# Training pairs of a sparse matrix and sampled negatives, by tensor operations; loads torch.


RETRIES = 3
"""Times that negatives which turn out to be positives are drawn again."""


class TrainingPairs:
    """The (user, item) pairs of a training matrix on a device, with negatives on demand."""

    def __init__(self, train: csr_array, device: torch.device) -> None:
        rows = Rows.of(train, device)
        self.n_items = train.shape[1]
        self.users = rows.owners
        self.items = rows.columns.long()
        # Rows are in order and sorted, so these keys are too: a pair is found by bisection.
        self._keys = self.users * self.n_items + self.items

    def __len__(self) -> int:
        return len(self.users)

    def negatives(self, users: torch.Tensor, random: torch.Generator) -> torch.Tensor:
        """For each of these users an item at random that the user does not have.

        A draw that hits one of the user's items is repeated RETRIES times; after that it stays,
        so that a user who has nearly everything cannot hold training up.

        Args:
            users: shape (pairs,), any order.
            random: decides.
        Returns: item numbers, shape (pairs,).
        """
        items = torch.randint(self.n_items, users.shape, generator=random, device=users.device)
        todo, asked = self._known(users, items), users
        for _ in range(RETRIES):
            if not len(todo):
                break
            asked = users[todo]
            again = torch.randint(self.n_items, asked.shape, generator=random, device=users.device)
            items[todo] = again
            todo = todo[self._known(asked, again)]
        return items

    def _known(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Which of these pairs are in the training matrix, as places."""
        keys = users * self.n_items + items
        places = torch.searchsorted(self._keys, keys).clamp_(max=len(self._keys) - 1)
        return (self._keys[places] == keys).nonzero()[:, 0]

    def shuffled(
        self, size: int, random: torch.Generator
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """All pairs once, in random order, in batches of at most `size`: (users, items)."""
        order = torch.randperm(len(self), generator=random, device=self.users.device)
        for part in torch.split(order, size):
            yield self.users[part], self.items[part]


class PairNet(SampledNet):
    """Learns from each training pair beside some items at random that the user does not have."""

    def hold(self, train: csr_array, history: History | None) -> None:
        self._pairs = TrainingPairs(train, self.device)

    @abstractmethod
    def learn(
        self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor
    ) -> torch.Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: shape (batch,).
            items: one that each user has; shape (batch,).
            negatives: some that each has not; shape (batch, negatives).
        """

    def steps(self) -> Iterator[tuple[torch.Tensor, int]]:
        for users, items in self._pairs.shuffled(self.params["batch_size"], self.random):
            repeated = users.repeat_interleave(self.params["negatives"])
            negatives = self._pairs.negatives(repeated, self.random).view(len(users), -1)
            yield self.learn(users, items, negatives), len(users)
