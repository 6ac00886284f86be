"""What networks on the graph of users and items have in common: products with it; loads torch."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize

from ecv_core.models.base import Indices
from ecv_core.models.device import Rows
from ecv_core.models.pair_net import PairNet, SampledBatch, Vectors, bpr
from ecv_core.models.sampled_net import gradient
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
        scale_users = _degree_scale(self._of_users)
        scale_items = _degree_scale(self._of_items)
        self._user_weights = _edge_weights(self._of_users, scale_users, scale_items)
        self._item_weights = _edge_weights(self._of_items, scale_items, scale_users)

    def to_users(self, items: Tensor) -> Tensor:
        """Each user's weighted sum of its items' vectors; (items, factors) -> (users, factors)."""
        return _Product.apply(  # type: ignore[no-untyped-call]
            items, self._of_users, self._user_weights, self._of_items, self._item_weights
        )

    def to_items(self, users: Tensor) -> Tensor:
        """Each item's weighted sum of its users' vectors; (users, factors) -> (items, factors)."""
        return _Product.apply(  # type: ignore[no-untyped-call]
            users, self._of_items, self._item_weights, self._of_users, self._user_weights
        )


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; its slope is a product with the transposed matrix."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  torch's own
        table: Tensor,
        rows: Rows,
        weights: Tensor,
        back_rows: Rows,
        back_weights: Tensor,
    ) -> Tensor:
        """The product of the matrix in `rows` and the table."""
        ctx.back_rows = back_rows
        ctx.back_weights = back_weights
        return rows.sums(table, weights)

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, None, None, None, None]:  # noqa: ANN401
        """Of the table only: the graph is given."""
        back = ctx.back_rows.sums(slopes.contiguous(), ctx.back_weights)
        return back, None, None, None, None


def _degree_scale(rows: Rows) -> Tensor:
    """1 / sqrt(entries) of each row; shape (rows,)."""
    return rows.sizes.clamp(min=1).float().rsqrt()


def _edge_weights(rows: Rows, own: Tensor, others: Tensor) -> Tensor:
    """The weight of each entry, from the scales of its row and of its column; shape (entries,)."""
    return own[rows.owners] * others[rows.columns.long()]


class Sides(NamedTuple):
    """Something of users, and the same of items: their numbers, or their vectors."""

    users: Tensor
    items: Tensor

    def at(self, nodes: Sides | None) -> Sides:
        """The rows of these nodes; all of them for None."""
        if nodes is None:
            return self
        users = self.users.index_select(0, nodes.users)
        return Sides(users, self.items.index_select(0, nodes.items))


class GraphNet(PairNet):
    """Makes vectors of users and items from the graph, and learns them by BPR.

    All of them are made anew for every batch, so that large batches pay.
    """

    def hold(self, train: csr_array, history: History | None) -> None:
        super().hold(train, history)
        self.graph = Graph(train, self.device)
        self._made: Sides | None = None
        """The final vectors, once they are made for scoring."""
        self._made_of: list[int] = []
        """Versions of the weights that they are made of."""

    def start(self) -> None:
        self.users = self.normal(self.n_users, self.params["factors"], std=0.1)
        self.items = self.normal(self.n_items, self.params["factors"], std=0.1)

    @abstractmethod
    def vectors(self, nodes: Sides | None = None) -> Sides:
        """Final vectors of users and of items, whose products are scores.

        Args:
            nodes: in training, the users and the items that the batch is about; None for all.
        """

    def learn(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        self._made = None  # fused optimizers do not raise a weight's version
        # Vectors of the nodes in the batch alone, and where each of its pairs has its own.
        user_rows, user_places = torch.unique(users, return_inverse=True)
        all_items = torch.cat((items, negatives.flatten()))
        item_rows, item_places = torch.unique(all_items, return_inverse=True)
        made = self.vectors(Sides(user_rows, item_rows))
        slopes = Sides(torch.zeros_like(made.users), torch.zeros_like(made.items))
        of_users = Vectors(values=made.users.detach(), slopes=slopes.users)
        of_items = Vectors(values=made.items.detach(), slopes=slopes.items)
        own_places = item_places[: len(items)]
        negative_places = item_places[len(items) :].view(negatives.shape)
        loss = bpr(of_users, of_items, SampledBatch(user_places, own_places, negative_places))
        # The slopes of the loss are worked out by hand; torch takes them back through the layers.
        # Given to `backward` they would make torch import sympy, half a second of the first fold
        # of a process: this sum has the same ones.
        stand_in = (made.users * slopes.users).sum() + (made.items * slopes.items).sum()
        torch.autograd.backward(stand_in)
        if self.params["regularization"]:
            self._decay(users, items, negatives)
        return loss

    def _decay(self, users: Tensor, items: Tensor, negatives: Tensor) -> None:
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

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():
            # Made once for all blocks of users; weights put in from outside raise their version.
            versions = [weight._version for weight in self.weights()]
            if self._made is None or self._made_of != versions:
                self._made = self.vectors()
                self._made_of = versions
            rows = torch.as_tensor(users, device=self.device)
            return self._made.users[rows] @ self._made.items.T


# The layers of LightGCN; loads torch.


class LightGCNNet(GraphNet):
    """A final vector is the mean of a node's own, its neighbours', their neighbours', and so on."""

    def vectors(self, nodes: Sides | None = None) -> Sides:
        users = self.users
        items = self.items
        user_sum = users
        item_sum = items
        for _ in range(self.params["layers"]):
            next_users = self.graph.to_users(items)
            items = self.graph.to_items(users)
            users = next_users
            user_sum = user_sum + users
            item_sum = item_sum + items
        sums = Sides(user_sum, item_sum).at(nodes)
        count = self.params["layers"] + 1
        return Sides(sums.users / count, sums.items / count)


# The layers of NGCF; loads torch.


SLOPE = 0.2
"""Of the activation below 0, as in the authors' code."""


class Mixing(NamedTuple):
    """What a layer learns."""

    weight: Tensor
    """Shape (2 * factors, factors): of the sum and of the product of a node and its neighbours."""
    bias: Tensor
    """Shape (factors,)."""


class NGCFNet(GraphNet):
    """Each layer mixes a node with its neighbours, by sum and by product; all layers end to end.

    With n the weighted sum of the vectors of the neighbours of a node with vector e, a layer makes
    leaky_relu((e + n) W + (e * n) V + b). As in the authors' code there is a bias, and each layer's
    vectors have length 1 where they are put end to end.
    """

    def start(self) -> None:
        super().start()
        size = self.params["factors"]
        self._mixing = []
        for _ in range(self.params["layers"]):
            weight = self.normal(2 * size, size, std=math.sqrt(1 / size))
            self._mixing.append(Mixing(weight, self.normal(size, std=0.0)))

    def vectors(self, nodes: Sides | None = None) -> Sides:
        sides = Sides(self.users, self.items)
        layers = [sides.at(nodes)]
        last = len(self._mixing) - 1
        for layer, mixing in enumerate(self._mixing):
            sums = Sides(self.graph.to_users(sides.items), self.graph.to_items(sides.users))
            if layer == last:  # nobody needs the last layer of other nodes
                sides = sides.at(nodes)
                sums = sums.at(nodes)
            users = self._next_layer(sides.users, sums.users, mixing, training=nodes is not None)
            items = self._next_layer(sides.items, sums.items, mixing, training=nodes is not None)
            sides = Sides(users, items)
            wanted = sides
            if layer != last:
                wanted = sides.at(nodes)
            layers.append(Sides(normalize(wanted.users), normalize(wanted.items)))
        users = torch.cat([layer.users for layer in layers], dim=1)
        return Sides(users, torch.cat([layer.items for layer in layers], dim=1))

    def _next_layer(self, own: Tensor, sums: Tensor, mixing: Mixing, *, training: bool) -> Tensor:
        """A layer's vectors of some nodes, from those before and the sums of their neighbours'."""
        both = torch.cat((own + sums, own * sums), dim=1)
        mixed = leaky_relu(torch.addmm(mixing.bias, both, mixing.weight), SLOPE)
        if training and self.params["dropout"]:
            mixed = mixed * self.dropout_weights(*mixed.shape)
        return mixed
