"""The layers of NGCF; loads torch."""

from __future__ import annotations

import math
from typing import Any

import torch
from scipy.sparse import csr_array
from torch.nn.functional import leaky_relu, normalize

from ecv_core.models.graph_net import GraphNet

SLOPE = 0.2
"""Of the activation below 0, as in the authors' code."""


class NGCFNet(GraphNet):
    """Each layer mixes a node with its neighbours, by sum and by product; all layers end to end.

    With n the weighted sum of the vectors of the neighbours of a node with vector e, a layer makes
    leaky_relu((e + n) W + (e * n) V + b). As in the authors' code there is a bias, and each layer's
    vectors have length 1 where they are put end to end.
    """

    def __init__(self, train: csr_array, *, dropout: float, **how: Any) -> None:  # noqa: ANN401
        self._dropout = dropout
        super().__init__(train, **how)

    def start(self) -> None:
        super().start()
        size = self.factors
        std = math.sqrt(1 / size)
        self._mixing = [
            (self.normal(2 * size, size, std=std), self.normal(size, std=0.0))
            for _ in range(self.layers)
        ]

    def weights(self) -> list[torch.Tensor]:
        return [*super().weights(), *(weight for layer in self._mixing for weight in layer)]

    def vectors(self, *, training: bool) -> tuple[torch.Tensor, torch.Tensor]:
        users, items = self.users, self.items
        of_users, of_items = [users], [items]
        for weight, bias in self._mixing:
            user_sums, item_sums = self.graph.to_users(items), self.graph.to_items(users)
            users = self._mixed(users, user_sums, weight, bias, training)
            items = self._mixed(items, item_sums, weight, bias, training)
            of_users.append(normalize(users))
            of_items.append(normalize(items))
        return torch.cat(of_users, dim=1), torch.cat(of_items, dim=1)

    def _mixed(
        self,
        own: torch.Tensor,
        sums: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        training: bool,
    ) -> torch.Tensor:
        both = torch.cat((own + sums, own * sums), dim=1)
        mixed = leaky_relu(torch.addmm(bias, both, weight), SLOPE)
        if training and self._dropout:
            kept = torch.rand(mixed.shape, generator=self.random, device=self.device)
            mixed = mixed * (kept >= self._dropout) / (1 - self._dropout)
        return mixed


NORM = True
