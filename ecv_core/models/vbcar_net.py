"""The network of VBCAR; loads torch."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import embedding

from ecv_core.models.triple_net import TripleNet


class VBCARNet(TripleNet):
    """Vectors are drawn from a normal distribution for each user and item, which a network learns.

    From which user or item it is, through a hidden layer with tanh, to a mean and a variance for
    each factor. Both items of a pair come from the same network. Ranking takes the means.
    """

    def start(self) -> None:
        super().start()
        self._of_users = self._encoder(self.n_users)
        self._of_items = self._encoder(self.n_items)

    def _encoder(self, rows: int) -> list[torch.Tensor]:
        """A first layer as a table: its input is 1 for one user or item and 0 for all others."""
        hidden, factors = self.params["hidden"], self.params["factors"]
        return [
            self.normal(rows, hidden, std=0.1),
            self.normal(hidden, 2 * factors, std=math.sqrt(1 / hidden)),
            self.normal(2 * factors, std=0.0),
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
        return found, self.params["kl_weight"] * divergence

    def final(self, users: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        everything = torch.arange(self.n_items, device=self.device)
        return _encoded(self._of_users, users)[0], 2 * _encoded(self._of_items, everything)[0]


def _encoded(encoder: list[torch.Tensor], rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and logarithm of the variance of each row's distribution; shape (rows, factors) each."""
    table, weight, bias = encoder
    hidden = torch.tanh(embedding(rows, table))
    mean, log_variance = torch.addmm(bias, hidden, weight).chunk(2, dim=1)
    return mean, log_variance
