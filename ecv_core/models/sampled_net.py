"""What networks that learn from sampled batches have in common; loads torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.device import best_device, one_thread
from ecv_core.records.interactions import History


class SampledNet(ABC):
    """A `training.Net` that takes one step of Adam for each batch of an epoch."""

    small_steps = True
    """Whether sharing a step between processor cores would cost more than it saves."""

    def __init__(
        self, train: csr_array, params: Mapping[str, Any], seed: int, history: History | None = None
    ) -> None:
        """Hold the data and make the weights; arguments as of `training.NeuralRecommender`."""
        self.params = params
        self.device = best_device()
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.n_users, self.n_items = train.shape
        self.hold(train, history)
        self.start()
        free = self.biases()
        decayed = [weight for weight in self.weights() if not any(weight is one for one in free)]
        groups: list[dict[str, Any]] = [{"params": decayed}]
        if free:
            groups.append({"params": free, "weight_decay": 0.0})
        decay = params.get("weight_decay", 0.0)
        self._optimizer = torch.optim.AdamW(
            groups, lr=params["learning_rate"], weight_decay=decay, fused=True
        )

    @abstractmethod
    def hold(self, train: csr_array, history: History | None) -> None:
        """Keep what batches are made of."""

    @abstractmethod
    def start(self) -> None:
        """Make the weights, at random."""

    @abstractmethod
    def steps(self) -> Iterator[tuple[torch.Tensor, int]]:
        """The batches of one epoch, in random order.

        For each the gradient of its mean loss is put into the weights, where there is none; gives
        that loss, detached, and the size of the batch.
        """

    @abstractmethod
    def weights(self) -> list[torch.Tensor]:
        """Everything that training changes."""

    def biases(self) -> list[torch.Tensor]:
        """Those of the weights that do not decay."""
        return []

    @abstractmethod
    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""

    def normal(self, *shape: int, std: float) -> torch.Tensor:
        """A weight to be trained, drawn from a normal distribution around 0."""
        weight = torch.empty(shape, device=self.device)
        return weight.normal_(0.0, std, generator=self.random).requires_grad_()

    def epoch(self, between: Callable[[], None]) -> float:
        total = torch.zeros((), device=self.device)
        count = 0
        self._optimizer.zero_grad()
        with one_thread(when=self.small_steps):
            for loss, size in self.steps():
                total += loss * size
                count += size
                self._optimizer.step()
                self._optimizer.zero_grad()
                between()
        return float(total) / max(1, count)

    def see(self, train: csr_array) -> None:
        """Nothing to do: users are known by their number, whatever their items."""
        return
