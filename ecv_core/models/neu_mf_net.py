"""The network of NeuMF, and how it is trained and scores; loads torch."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits, embedding

from ecv_core.models.device import low_precision
from ecv_core.models.pair_net import PairNet

CELLS = 1_000_000
"""Hidden values of pairs that are scored together: 4 MB, so that they stay in cache."""


class NeuMFNet(PairNet):
    """A weighted product of factors plus a perceptron of two layers on another pair of factors.

    The perceptron's first layer is linear in its concatenated input, so it is computed for users
    and for items apart, and only its sum for pairs.
    """

    def start(self) -> None:
        factors, hidden = self.params["factors"], self.params["hidden"]
        half = max(1, hidden // 2)
        self._gmf_users = self.normal(self.n_users, factors, std=0.01)
        self._gmf_items = self.normal(self.n_items, factors, std=0.01)
        self._mlp_users = self.normal(self.n_users, factors, std=0.01)
        self._mlp_items = self.normal(self.n_items, factors, std=0.01)
        first = math.sqrt(2 / (2 * factors + hidden))
        self._first_users = self.normal(factors, hidden, std=first)
        self._first_items = self.normal(factors, hidden, std=first)
        self._first_bias = self.normal(hidden, std=0.0)
        self._second = self.normal(hidden, half, std=math.sqrt(2 / (hidden + half)))
        self._second_bias = self.normal(half, std=0.0)
        self._out_gmf = self.normal(factors, std=math.sqrt(2 / (factors + half + 1)))
        self._out_mlp = self.normal(half, std=math.sqrt(2 / (factors + half + 1)))
        self._out_bias = self.normal(1, std=0.0)

    def weights(self) -> list[torch.Tensor]:
        return [
            self._gmf_users,
            self._gmf_items,
            self._mlp_users,
            self._mlp_items,
            self._first_users,
            self._first_items,
            self._first_bias,
            self._second,
            self._second_bias,
            self._out_gmf,
            self._out_mlp,
            self._out_bias,
        ]

    def learn(
        self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor
    ) -> torch.Tensor:
        candidates = torch.cat((items[:, None], negatives), dim=1)
        with low_precision(self.device):
            user = embedding(users, self._gmf_users) * self._out_gmf
            product = (user[:, None] * embedding(candidates, self._gmf_items)).sum(dim=2)
            of_users = _through(self._mlp_users, self._first_users, users) + self._first_bias
            first = of_users[:, None] + _through(self._mlp_items, self._first_items, candidates)
            logits = product + self._perceptron(first, self.params["dropout"]) + self._out_bias
        wanted = torch.zeros_like(logits, dtype=torch.float32)
        wanted[:, 0] = 1.0
        loss = binary_cross_entropy_with_logits(logits.float(), wanted)
        torch.autograd.backward(loss)
        return loss.detach()

    def _perceptron(self, first: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """From the first layer's sums, shape (..., hidden), to the output, shape (...,)."""
        hidden = torch.relu(first)
        if dropout:
            kept = torch.rand(hidden.shape, generator=self.random, device=self.device) >= dropout
            hidden = hidden * kept / (1 - dropout)
        flat = hidden.view(-1, hidden.shape[-1])
        flat = torch.relu(torch.addmm(self._second_bias, flat, self._second))
        return (flat @ self._out_mlp).view(first.shape[:-1])

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():  # in float32: lower precision would make ties
            rows = torch.as_tensor(users, device=self.device)
            weighted = self._gmf_users[rows] * self._out_gmf
            scores = torch.addmm(self._out_bias, weighted, self._gmf_items.T)
            of_users = self._mlp_users[rows] @ self._first_users + self._first_bias
            of_items = self._mlp_items @ self._first_items
            at_once = max(1, CELLS // of_items.numel())
            for start in range(0, len(rows), at_once):
                part = slice(start, start + at_once)
                scores[part] += self._perceptron(of_users[part, None] + of_items)
        return scores


def _through(table: torch.Tensor, weight: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """table[rows] @ weight, by the order that multiplies less."""
    if len(table) < rows.numel():
        return embedding(rows, table @ weight)
    return embedding(rows, table) @ weight
