"""The network of VBCAR; loads torch."""

from __future__ import annotations

import math

import torch
from scipy.sparse import csr_array
from torch.nn.functional import embedding

from ecv_core.models.training_parameters import Training
from ecv_core.models.triple_net import TripleNet
from ecv_core.records import History


class VBCARNet(TripleNet):
    """Vectors are drawn from a normal distribution for each user and item, which a network learns.

    From which user or item it is, through a hidden layer with tanh, to a mean and a variance for
    each factor. Both items of a pair come from the same network. Ranking takes the means.
    """

    def __init__(
        self,
        train: csr_array,
        history: History,
        seed: int,
        training: Training,
        *,
        factors: int,
        hidden: int,
        kl_weight: float,
    ) -> None:
        self._factors = factors
        self._hidden = hidden
        self._kl_weight = kl_weight
        super().__init__(train, history, seed, training)

    def start(self) -> None:
        super().start()
        self._of_users = self._encoder(self.n_users)
        self._of_items = self._encoder(self.n_items)

    def _encoder(self, rows: int) -> list[torch.Tensor]:
        """A first layer as a table: its input is 1 for one user or item and 0 for all others."""
        std = math.sqrt(1 / self._hidden)
        return [
            self.normal(rows, self._hidden, std=0.1),
            self.normal(self._hidden, 2 * self._factors, std=std),
            self.normal(2 * self._factors, std=0.0),
        ]

    def weights(self) -> list[torch.Tensor]:
        return [*self._of_users, *self._of_items, *self.biases()]

    def vectors(
        self, users: torch.Tensor, firsts: torch.Tensor, seconds: torch.Tensor
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        found = []
        divergence = torch.zeros((), device=self.device)
        sides = (users, self._of_users), (firsts, self._of_items), (seconds, self._of_items)
        for rows, encoder in sides:
            mean, log_variance = _encoded(encoder, rows)
            noise = torch.empty_like(mean).normal_(generator=self.random)
            found.append(mean + noise * torch.exp(log_variance / 2))
            apart = mean.square() + log_variance.exp() - 1 - log_variance
            divergence = divergence + 0.5 * apart.sum(dim=1).mean()
        return found, self._kl_weight * divergence

    def final(self, users: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        everything = torch.arange(self.n_items, device=self.device)
        return _encoded(self._of_users, users)[0], 2 * _encoded(self._of_items, everything)[0]


def _encoded(encoder: list[torch.Tensor], rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and logarithm of the variance of each row's distribution; shape (rows, factors) each."""
    table, weight, bias = encoder
    hidden = torch.tanh(embedding(rows, table))
    mean, log_variance = torch.addmm(bias, hidden, weight).chunk(2, dim=1)
    return mean, log_variance
