"""What networks on (user, item) pairs with sampled negatives have in common; loads torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.device import best_device, one_thread
from ecv_core.models.pairs import Pairs


class PairNet(ABC):
    """Learns from each training pair beside some items at random that the user does not have."""

    def __init__(
        self,
        train: csr_array,
        *,
        seed: int,
        batch_size: int,
        negatives: int,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        self.device = best_device()
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.n_users, self.n_items = train.shape
        self._pairs = Pairs(train, self.device)
        self._batch_size = batch_size
        self._negatives = negatives
        self.start()
        self._optimizer = torch.optim.AdamW(
            self.weights(), lr=learning_rate, weight_decay=weight_decay, fused=True
        )

    @abstractmethod
    def start(self) -> None:
        """Make the weights, at random."""

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

    @abstractmethod
    def weights(self) -> list[torch.Tensor]:
        """Everything that training changes."""

    @abstractmethod
    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""

    def normal(self, *shape: int, std: float) -> torch.Tensor:
        """A weight to be trained, drawn from a normal distribution around 0."""
        weight = torch.empty(shape, device=self.device)
        return weight.normal_(0.0, std, generator=self.random).requires_grad_()

    def epoch(self, between: Callable[[], None]) -> float:
        total = torch.zeros((), device=self.device)
        with one_thread():
            for users, items in self._pairs.shuffled(self._batch_size, self.random):
                repeated = users.repeat_interleave(self._negatives)
                negatives = self._pairs.negatives(repeated, self.random).view(len(users), -1)
                self._optimizer.zero_grad()
                total += self.learn(users, items, negatives) * len(users)
                self._optimizer.step()
                between()
        return float(total) / max(1, len(self._pairs))

    def see(self, train: csr_array) -> None:
        """Nothing to do: users are known by their number, whatever their items."""
        return
