"""What networks on the graph of users and items have in common: products with it; loads torch."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize

from ecv_core.models.device import BinaryMatrix
from ecv_core.models.pair_net import PairNet, SampledBatch, Vectors, bpr_loss
from ecv_core.models.sampled_net import Layer, gradient_buffer
from ecv_core.records.arrays import Indices
from ecv_core.records.interactions import History


class UsersAndItems(NamedTuple):
    """Something of users, and the same of items: their numbers, or their vectors."""

    users: Tensor
    items: Tensor

    def select(self, nodes: UsersAndItems | None) -> UsersAndItems:
        """The rows of these nodes; all of them for None."""
        if nodes is None:
            return self
        users = self.users.index_select(0, nodes.users)
        return UsersAndItems(users, self.items.index_select(0, nodes.items))


class Graph:
    """Users and items joined by training interactions, each edge weighted by its ends' degrees.

    An edge weighs 1 / sqrt(items of the user * users of the item). A product is a sum of rows by
    `embedding_bag`: measured on one core, 3 to 6 times as fast as a sparse CSR tensor of torch
    and 4 to 8 times as fast as SciPy, and, on a GPU too, in the same order each time.
    """

    def __init__(self, train: csr_array, device: torch.device) -> None:
        """Keep the edges and their weights twice, by user and by item: 16 bytes an edge."""
        items_of_users = BinaryMatrix.from_csr(train, device)
        users_of_items = BinaryMatrix.from_csr(train.T.tocsr(), device)
        user_scales = _degree_scales(items_of_users)
        item_scales = _degree_scales(users_of_items)
        self._edges_by_user = _Edges.scaled(items_of_users, user_scales, item_scales)
        self._edges_by_item = _Edges.scaled(users_of_items, item_scales, user_scales)

    def neighbour_sums(self, vectors: UsersAndItems) -> UsersAndItems:
        """Each user's weighted sum of its items' vectors, and each item's of its users' vectors."""
        users = _Product.apply(vectors.items, self._edges_by_user, self._edges_by_item)  # type: ignore[no-untyped-call]
        items = _Product.apply(vectors.users, self._edges_by_item, self._edges_by_user)  # type: ignore[no-untyped-call]
        return UsersAndItems(users, items)


class _Edges(NamedTuple):
    """A sparse matrix with a weight for each of its entries."""

    entries: BinaryMatrix
    weights: Tensor

    @classmethod
    def scaled(cls, entries: BinaryMatrix, row_scales: Tensor, column_scales: Tensor) -> _Edges:
        """Each entry weighted by the scales of its row and of its column."""
        weights = row_scales[entries.row_of_entry] * column_scales[entries.columns.long()]
        return cls(entries, weights)


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; its gradient is a product with the transposed matrix."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  torch's own
        table: Tensor,
        edges: _Edges,
        transposed_edges: _Edges,
    ) -> Tensor:
        """Add up, for each row of the matrix, the rows of `table` by their weights."""
        ctx.transposed_edges = transposed_edges
        return edges.entries.times(table, edges.weights)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        """The gradient by `table`; the edges have none."""
        edges = ctx.transposed_edges
        return edges.entries.times(gradient.contiguous(), edges.weights), None, None


def _degree_scales(matrix: BinaryMatrix) -> Tensor:
    """1 / sqrt(entries) of each row; shape (rows,)."""
    return matrix.row_sizes.clamp(min=1).float().rsqrt()


class GraphNet(PairNet):
    """Makes vectors of users and items from the graph, and learns them by BPR.

    All of them are made anew for every batch, so that large batches pay.
    """

    def keep_training_data(self, train: csr_array, history: History | None) -> None:
        super().keep_training_data(train, history)
        self.graph = Graph(train, self.device)
        self._scoring_vectors: UsersAndItems | None = None
        """The final vectors, once they are made for scoring."""
        self._scoring_versions: list[int] = []
        """The versions of the weights from which the final vectors were made."""

    def make_weights(self) -> None:
        self.users = self.add_normal_weight(self.n_users, self.params["factors"], std=0.1)
        self.items = self.add_normal_weight(self.n_items, self.params["factors"], std=0.1)

    @abstractmethod
    def final_vectors(self, nodes: UsersAndItems | None = None) -> UsersAndItems:
        """Final vectors of users and of items, whose products are scores.

        Args:
            nodes: In training, the users and the items that the batch is about; None for all.
        """

    def backpropagate(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        # Vectors for scoring are out of date after this step, but the weights' versions will not
        # say so, as fused optimizers do not raise them.
        self._scoring_vectors = None
        # Only the nodes of the batch get vectors; each of its pairs is known by their indices.
        batch_users, user_indices = torch.unique(users, return_inverse=True)
        positives_and_negatives = torch.cat((items, negatives.flatten()))
        batch_items, item_indices = torch.unique(positives_and_negatives, return_inverse=True)
        vectors = self.final_vectors(UsersAndItems(batch_users, batch_items))
        user_vectors = Vectors(
            values=vectors.users.detach(), gradients=torch.zeros_like(vectors.users)
        )
        item_vectors = Vectors(
            values=vectors.items.detach(), gradients=torch.zeros_like(vectors.items)
        )
        positive_indices = item_indices[: len(items)]
        negative_indices = item_indices[len(items) :].view(negatives.shape)
        batch = SampledBatch(user_indices, positive_indices, negative_indices)
        loss = bpr_loss(user_vectors, item_vectors, batch)  # This fills in the gradients.
        # The loss's gradients by the final vectors are known; torch takes them back through the
        # layers. Given to `backward` they would make torch import sympy, half a second of the first
        # fold of a process: this sum has the same gradients.
        stand_in_for_users = (vectors.users * user_vectors.gradients).sum()
        stand_in_for_items = (vectors.items * item_vectors.gradients).sum()
        torch.autograd.backward(stand_in_for_users + stand_in_for_items)
        if self.params["regularization"]:
            self._add_decay_gradients(users, items, negatives)
        return loss

    def _add_decay_gradients(self, users: Tensor, items: Tensor, negatives: Tensor) -> None:
        """Add the gradients of the squared length of a batch's vectors before any layer.

        Those of a user, of its item and of one of its negatives count, in the batch's mean.
        """
        with torch.no_grad():
            times_drawn = torch.bincount(negatives.flatten(), minlength=self.n_items)
            times_positive = torch.bincount(items, minlength=self.n_items)
            item_weights = times_positive + times_drawn / negatives.shape[1]
            decay = self.params["regularization"] / len(users)
            user_decay = torch.bincount(users, minlength=self.n_users) * decay
            item_decay = item_weights * decay
            gradient_buffer(self.users).addcmul_(self.users, user_decay[:, None])
            gradient_buffer(self.items).addcmul_(self.items, item_decay[:, None])

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():
            # Made once for all blocks of users; weights put in from outside raise their version.
            versions = [weight._version for weight in self.weights]
            if self._scoring_vectors is None or self._scoring_versions != versions:
                self._scoring_vectors = self.final_vectors()
                self._scoring_versions = versions
            rows = torch.as_tensor(users, device=self.device)
            return self._scoring_vectors.users[rows] @ self._scoring_vectors.items.T


# The layers of LightGCN; loads torch.


class LightGCNNet(GraphNet):
    """A final vector is the mean of a node's own, its neighbours', their neighbours', and so on."""

    def final_vectors(self, nodes: UsersAndItems | None = None) -> UsersAndItems:
        vectors = UsersAndItems(self.users, self.items)
        user_sums = vectors.users
        item_sums = vectors.items
        for _ in range(self.params["layers"]):
            vectors = self.graph.neighbour_sums(vectors)
            user_sums = user_sums + vectors.users
            item_sums = item_sums + vectors.items
        sums = UsersAndItems(user_sums, item_sums).select(nodes)
        layer_count = self.params["layers"] + 1  # the vectors before any layer count as one
        return UsersAndItems(sums.users / layer_count, sums.items / layer_count)


# The layers of NGCF; loads torch.


SLOPE = 0.2
"""Of the activation below 0, as in the authors' code."""


class NGCFNet(GraphNet):
    """Each layer mixes a node with its neighbours, by sum and by product; all layers end to end.

    With n the weighted sum of the vectors of the neighbours of a node with vector e, a layer makes
    leaky_relu((e + n) W + (e * n) V + b). As in the authors' code there is a bias, and each layer's
    vectors have length 1 where they are put end to end.
    """

    def make_weights(self) -> None:
        super().make_weights()
        factors = self.params["factors"]
        self._layers = []
        for _ in range(self.params["layers"]):
            weight = self.add_normal_weight(2 * factors, factors, std=math.sqrt(1 / factors))
            self._layers.append(Layer(weight, self.add_normal_weight(factors, std=0.0)))

    def final_vectors(self, nodes: UsersAndItems | None = None) -> UsersAndItems:
        training = nodes is not None
        vectors = UsersAndItems(self.users, self.items)
        output = vectors.select(nodes)
        user_outputs = [output.users]
        item_outputs = [output.items]
        for layer in self._layers:
            sums = self.graph.neighbour_sums(vectors)
            if layer is self._layers[-1]:
                # A further layer would need the vectors of all nodes, but after the last one those
                # of `nodes` are enough. Its output has only these, so `select` must not choose
                # again.
                vectors = vectors.select(nodes)
                sums = sums.select(nodes)
                nodes = None
            users = self._mix(vectors.users, sums.users, layer, training=training)
            items = self._mix(vectors.items, sums.items, layer, training=training)
            vectors = UsersAndItems(users, items)
            output = vectors.select(nodes)
            user_outputs.append(normalize(output.users))
            item_outputs.append(normalize(output.items))
        return UsersAndItems(torch.cat(user_outputs, dim=1), torch.cat(item_outputs, dim=1))

    def _mix(
        self, vectors: Tensor, neighbour_sums: Tensor, layer: Layer, *, training: bool
    ) -> Tensor:
        """The next vectors of some nodes, from theirs and the sums of their neighbours'."""
        sums_and_products = torch.cat((vectors + neighbour_sums, vectors * neighbour_sums), dim=1)
        mixed = leaky_relu(layer.apply(sums_and_products), SLOPE)
        if training and self.params["dropout"]:
            mixed = mixed * self.dropout_weights(*mixed.shape)
        return mixed
