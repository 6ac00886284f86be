"""What networks on the graph of users and items have in common: products with it; loads torch."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch.nn.functional import leaky_relu, normalize

from ecv_core.models.device import Rows
from ecv_core.models.sampled_net import PairNet, Vectors, bpr, gradient
from ecv_core.records.interactions import History


class Graph:
    """Users and items joined by training interactions, each edge weighted by its ends' degrees.

    An edge weighs 1 / sqrt(items of the user * users of the item). A product is a sum of rows by
    `embedding_bag`: measured on one core, 3 to 6 times as fast as a sparse CSR tensor of torch
    and 4 to 8 times as fast as SciPy, and, on a GPU too, in the same order each time.
    """

    def __init__(self, train: csr_array, device: torch.device) -> None:
        """Keep the edges and their weights twice, by user and by item: 16 bytes an edge."""
        transposed = csr_array(train.T.tocsr())
        self._of_users = Rows.of(train, device)
        self._of_items = Rows.of(transposed, device)
        scale_users = _scale(self._of_users)
        scale_items = _scale(self._of_items)
        self._user_weights = _edges(self._of_users, scale_users, scale_items)
        self._item_weights = _edges(self._of_items, scale_items, scale_users)

    def to_users(self, items: torch.Tensor) -> torch.Tensor:
        """Each user's weighted sum of its items' vectors; (items, factors) -> (users, factors)."""
        return _Product.apply(  # type: ignore[no-untyped-call]
            items, self._of_users, self._user_weights, self._of_items, self._item_weights
        )

    def to_items(self, users: torch.Tensor) -> torch.Tensor:
        """Each item's weighted sum of its users' vectors; (users, factors) -> (items, factors)."""
        return _Product.apply(  # type: ignore[no-untyped-call]
            users, self._of_items, self._item_weights, self._of_users, self._user_weights
        )


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; its slope is a product with the transposed matrix."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  torch's own
        table: torch.Tensor,
        rows: Rows,
        weights: torch.Tensor,
        back_rows: Rows,
        back_weights: torch.Tensor,
    ) -> torch.Tensor:
        """The product of the matrix in `rows` and the table."""
        ctx.back = back_rows, back_weights
        return _summed(table, rows, weights)

    @staticmethod
    def backward(ctx: Any, slopes: torch.Tensor) -> tuple[torch.Tensor, None, None, None, None]:  # noqa: ANN401
        """Of the table only: the graph is given."""
        return _summed(slopes.contiguous(), *ctx.back), None, None, None, None


def _summed(table: torch.Tensor, rows: Rows, weights: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.embedding_bag(
        rows.columns,
        table,
        rows.starts,
        mode="sum",
        include_last_offset=True,
        per_sample_weights=weights,
    )


def _scale(rows: Rows) -> torch.Tensor:
    return rows.sizes.clamp(min=1).float().rsqrt()


def _edges(rows: Rows, own: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    return own[rows.owners] * others[rows.columns.long()]


class GraphNet(PairNet):
    """Makes vectors of users and items from the graph, and learns them by BPR.

    All of them are made anew for every batch, so that large batches pay.
    """

    def hold(self, train: csr_array, history: History | None) -> None:
        super().hold(train, history)
        self.graph = Graph(train, self.device)
        self._made: tuple[tuple[int, ...], torch.Tensor, torch.Tensor] | None = None

    def start(self) -> None:
        self.users = self.normal(self.n_users, self.params["factors"], std=0.1)
        self.items = self.normal(self.n_items, self.params["factors"], std=0.1)

    @abstractmethod
    def vectors(
        self, of: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Final vectors of users and of items, whose products are scores.

        Args: of: in training, the users and the items that the batch is about; None for all.
        """

    def learn(
        self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor
    ) -> torch.Tensor:
        self._made = None  # fused optimizers do not raise a weight's version
        user_rows, own = torch.unique(users, return_inverse=True)
        item_rows, ranked = torch.unique(
            torch.cat((items, negatives.flatten())), return_inverse=True
        )
        made = self.vectors((user_rows, item_rows))
        slopes = [torch.zeros_like(values) for values in made]
        of_users, of_items = (
            Vectors(values=values.detach(), slopes=slope)
            for values, slope in zip(made, slopes, strict=True)
        )
        others = ranked[len(items) :].view(negatives.shape)
        loss = bpr(of_users, of_items, (own, ranked[: len(items)], others))
        torch.autograd.backward(made, slopes)
        if self.params["regularization"]:
            self._decay(users, items, negatives)
        return loss

    def _decay(self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor) -> None:
        """Add the slopes of the squared length of a batch's vectors before any layer.

        Those of a user, of its item and of one of its negatives count, in the batch's mean.
        """
        with torch.no_grad():
            drawn = torch.bincount(negatives.flatten(), minlength=self.n_items)
            times = torch.bincount(items, minlength=self.n_items) + drawn / negatives.shape[1]
            share = self.params["regularization"] / len(users)
            user_share = torch.bincount(users, minlength=self.n_users) * share
            gradient(self.users).addcmul_(self.users, user_share[:, None])
            gradient(self.items).addcmul_(self.items, (times * share)[:, None])

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():
            # Made once for all blocks of users; weights put in from outside raise their version.
            versions = tuple(weight._version for weight in self.weights())
            if self._made is None or self._made[0] != versions:
                self._made = versions, *self.vectors()
            _, of_users, of_items = self._made
            return of_users[torch.as_tensor(users, device=self.device)] @ of_items.T


# The layers of LightGCN; loads torch.


class LightGCNNet(GraphNet):
    """A final vector is the mean of a node's own, its neighbours', their neighbours', and so on."""

    def vectors(
        self, of: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        users, items = self.users, self.items
        user_sum, item_sum = users, items
        for _ in range(self.params["layers"]):
            users, items = self.graph.to_users(items), self.graph.to_items(users)
            user_sum, item_sum = user_sum + users, item_sum + items
        if of is not None:
            user_sum, item_sum = user_sum.index_select(0, of[0]), item_sum.index_select(0, of[1])
        count = self.params["layers"] + 1
        return user_sum / count, item_sum / count


# The layers of NGCF; loads torch.


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
