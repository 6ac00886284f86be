"""The layers of NGCF; loads torch."""

from __future__ import annotations

import math

import torch
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

    def start(self) -> None:
        super().start()
        size = self.params["factors"]
        std = math.sqrt(1 / size)
        self._mixing = [
            (self.normal(2 * size, size, std=std), self.normal(size, std=0.0))
            for _ in range(self.params["layers"])
        ]

    def weights(self) -> list[torch.Tensor]:
        return [*super().weights(), *(weight for layer in self._mixing for weight in layer)]

    def vectors(
        self, of: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        sides = [self.users, self.items]
        found = [[_rows(side, of, number)] for number, side in enumerate(sides)]
        last = len(self._mixing) - 1
        for layer, (weight, bias) in enumerate(self._mixing):
            sums = [self.graph.to_users(sides[1]), self.graph.to_items(sides[0])]
            if layer == last:  # nobody asks for the last layer of others
                sides, sums = (
                    [_rows(side, of, number) for number, side in enumerate(both)]
                    for both in (sides, sums)
                )
            sides = [
                self._mixed(own, around, weight, bias, training=of is not None)
                for own, around in zip(sides, sums, strict=True)
            ]
            for number, side in enumerate(sides):
                rest = side if layer == last else _rows(side, of, number)
                found[number].append(normalize(rest))
        of_users, of_items = (torch.cat(layers, dim=1) for layers in found)
        return of_users, of_items

    def _mixed(
        self,
        own: torch.Tensor,
        sums: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        *,
        training: bool,
    ) -> torch.Tensor:
        both = torch.cat((own + sums, own * sums), dim=1)
        mixed = leaky_relu(torch.addmm(bias, both, weight), SLOPE)
        dropout = self.params["dropout"]
        if training and dropout:
            kept = torch.rand(mixed.shape, generator=self.random, device=self.device)
            mixed = mixed * ((kept >= dropout) / (1 - dropout))
        return mixed


def _rows(
    table: torch.Tensor, of: tuple[torch.Tensor, torch.Tensor] | None, number: int
) -> torch.Tensor:
    return table if of is None else table.index_select(0, of[number])
