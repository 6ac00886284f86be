"""What networks on (user, item) pairs with sampled negatives have in common; loads torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import torch
from scipy.sparse import csr_array

from ecv_core.models.pairs import Pairs
from ecv_core.models.sampled_net import SampledNet
from ecv_core.records import History


class PairNet(SampledNet):
    """Learns from each training pair beside some items at random that the user does not have."""

    def hold(self, train: csr_array, history: History | None) -> None:
        self._pairs = Pairs(train, self.device)

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
