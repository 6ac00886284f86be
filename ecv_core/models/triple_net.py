"""What networks on triples of a user and two items of a basket have in common; loads torch."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import embedding, logsigmoid

from ecv_core.models.sampled_net import BatchLoss, Layer, SampledNet, kl_divergences
from ecv_core.records.arrays import Indices, rows_of_entries
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import History

# Baskets -> triples of a user and two items of one basket, at random; loads torch.


class Triples:
    """Each interaction, with another item of its basket that is drawn anew in every pass.

    An item that was bought alone is in no triple.
    """

    def __init__(self, train: csr_array, baskets: NDArray[np.int64], device: torch.device) -> None:
        """Put the interactions in the order of baskets.

        Args:
            train: Shape (users, items).
            baskets: The baskets of each stored entry; equal numbers of one user are one basket.
            device: Where triples are drawn.
        """
        users = rows_of_entries(train)
        by_basket = np.lexsort((baskets, users))  # This sorts by user, and then by basket.
        users = users[by_basket]
        baskets = baskets[by_basket]
        begins_basket = np.ones(len(users), dtype=bool)
        begins_basket[1:] = (users[1:] != users[:-1]) | (baskets[1:] != baskets[:-1])
        basket_starts = np.flatnonzero(begins_basket)
        basket_sizes = np.diff(np.append(basket_starts, len(users)))
        self._users = _whole_numbers(users, device)
        self._items = _whole_numbers(train.indices[by_basket], device)
        self._basket_start = _whole_numbers(np.repeat(basket_starts, basket_sizes), device)
        """For each interaction, the index of the first interaction of its basket."""
        self._basket_size = _whole_numbers(np.repeat(basket_sizes, basket_sizes), device)
        """For each interaction, how many interactions its basket has."""
        self._in_larger_baskets = (self._basket_size > 1).nonzero()[:, 0]
        """Indices of the interactions that have another one in their basket."""

    def __len__(self) -> int:
        return len(self._in_larger_baskets)

    def shuffled_batches(
        self, size: int, random: torch.Generator
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """All of them once, in random order, in batches: users, items, others of the basket."""
        device = self._users.device
        order = torch.randperm(len(self), generator=random, device=device)
        for batch in torch.split(self._in_larger_baskets[order], size):
            basket_sizes = self._basket_size[batch]
            basket_starts = self._basket_start[batch]
            draws = torch.rand(len(batch), generator=random, device=device)
            # The other interaction is 1 to size - 1 steps further on in the basket, whose end is
            # followed by its beginning. So every other interaction of it is equally likely.
            steps_on = 1 + (draws * (basket_sizes - 1)).long().clamp_(max=basket_sizes - 2)
            others = basket_starts + (batch - basket_starts + steps_on) % basket_sizes
            yield self._users[batch], self._items[batch], self._items[others]


def _whole_numbers(values: NDArray[np.integer], device: torch.device) -> Tensor:
    return torch.from_numpy(values.astype(np.int64)).to(device)


BATCH_NEGATIVES = 256
"""Users and items drawn at random for a batch; all of its triples share them, so that scoring them
is a product of two matrices. They count as `negatives` for each triple."""


class TripleNet(SampledNet):
    """Tells each of a triple's user and two items by the other two, from others at random.

    With vectors h of the user and p and q of the items, the three scores are h(p + q), p(h + q) and
    q(h + p), each with the bias of its first; for one at random both are another's. The loss is the
    mean over triples of -log sigmoid(score) - negatives * mean of log sigmoid(-score of one at
    random), summed over the three.

    The biases are those of Beta-RecSys, the library of VBCAR's authors. They alone do not decay:
    without them, or decaying, both models rank below popularity (benchmarks/README.md).
    """

    def keep_training_data(self, train: csr_array, history: History | None) -> None:
        assert history is not None  # `Algorithm.fit` gives it to models that need baskets
        self._triples = Triples(train, np.asarray(history.baskets), self.device)
        if not len(self._triples):
            raise DatasetError(
                "the model learns from items that were bought together, but no basket of the "
                "training data holds two items; choose another dataset or another algorithm"
            )
        user_counts = np.diff(train.indptr)
        item_counts = np.bincount(train.indices, minlength=train.shape[1])
        self._user_draw_weights = self._draw_weights(user_counts)
        self._item_draw_weights = self._draw_weights(item_counts)

    def _draw_weights(self, counts: Indices) -> Tensor:
        """How likely each user or item is drawn as a negative, from its interactions' number."""
        weights = np.maximum(counts, 1) ** self.params["noise_popularity"]
        return torch.from_numpy(weights).to(self.device)

    def make_weights(self) -> None:
        self._user_bias = self.add_normal_weight(self.n_users, std=0.0)
        self._item_bias = self.add_normal_weight(self.n_items, std=0.0)

    def undecayed_weights(self) -> list[Tensor]:
        return [self._user_bias, self._item_bias]

    @abstractmethod
    def training_vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """Vectors of users, of first and of second items in training, and a loss of their own.

        Args:
            users, firsts, seconds: numbers of users and items; shape (any,) each.

        Returns:
            Three tensors of shape (any, factors), and a scalar.
        """

    @abstractmethod
    def scoring_vectors(self, users: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of these users, and of all items the sum of both: as first and as second."""

    def backpropagated_batches(self) -> Iterator[BatchLoss]:
        for users, firsts, seconds in self._triples.shuffled_batches(
            self.params["batch_size"], self.random
        ):
            yield BatchLoss(self.backpropagate(users, firsts, seconds), len(users))

    def backpropagate(self, users: Tensor, firsts: Tensor, seconds: Tensor) -> Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: Shape (batch,).
            firsts: An item of each; shape (batch,).
            seconds: Another item of the same basket; shape (batch,).
        """
        batch_size = len(users)
        # Negatives of users, first and second items follow those of the batch in each tensor.
        users = torch.cat((users, self._draw_negatives(self._user_draw_weights)))
        firsts = torch.cat((firsts, self._draw_negatives(self._item_draw_weights)))
        seconds = torch.cat((seconds, self._draw_negatives(self._item_draw_weights)))
        vectors, loss = self.training_vectors(users, firsts, seconds)
        biases = [self._user_bias[users], self._item_bias[firsts], self._item_bias[seconds]]
        user_vectors, first_vectors, second_vectors = vectors
        vector_sums = user_vectors[:batch_size] + first_vectors[:batch_size]
        vector_sums = vector_sums + second_vectors[:batch_size]
        # Each of the three members of a triple has to fit the other two better than negatives do.
        for member_vectors, member_biases in zip(vectors, biases, strict=True):
            positives = member_vectors[:batch_size]
            negatives = member_vectors[batch_size:]
            sums_of_other_two = vector_sums - positives
            scores = (positives * sums_of_other_two).sum(dim=1) + member_biases[:batch_size]
            negative_scores = torch.addmm(
                member_biases[batch_size:], sums_of_other_two, negatives.T
            )
            loss = loss - logsigmoid(scores).mean()
            loss = loss - self.params["negatives"] * logsigmoid(-negative_scores).mean()
        torch.autograd.backward(loss)
        return loss.detach()

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():
            rows = torch.as_tensor(users, device=self.device)
            user_vectors, item_vectors = self.scoring_vectors(rows)
            # Both of an item's scores without the other item, which is not known: h p + b, h q + b.
            return torch.addmm(2 * self._item_bias, user_vectors, item_vectors.T)

    def _draw_negatives(self, weights: Tensor) -> Tensor:
        """Numbers of users or items at random; shape (BATCH_NEGATIVES,)."""
        return torch.multinomial(weights, BATCH_NEGATIVES, replacement=True, generator=self.random)


# The vectors of Triple2vec; loads torch.


class Triple2vecNet(TripleNet):
    """One vector per user and two per item: as the first and as the second of a pair."""

    def make_weights(self) -> None:
        super().make_weights()
        factors = self.params["factors"]
        self._users = self.add_normal_weight(self.n_users, factors, std=0.1)
        self._firsts = self.add_normal_weight(self.n_items, factors, std=0.1)
        self._seconds = self.add_normal_weight(self.n_items, factors, std=0.1)

    def training_vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        vectors = [
            embedding(users, self._users),
            embedding(firsts, self._firsts),
            embedding(seconds, self._seconds),
        ]
        return vectors, torch.zeros((), device=self.device)

    def scoring_vectors(self, users: Tensor) -> tuple[Tensor, Tensor]:
        return self._users[users], self._firsts + self._seconds


# The network of VBCAR; loads torch.


class Encoder(NamedTuple):
    """The weights that make distributions of users or of items."""

    table: Tensor
    """The first layer: its input is 1 for one user or item and 0 for all others."""
    layer: Layer
    """From the first to mean and logarithm of the variance."""

    def encode(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of each row's distribution; (rows, factors) each."""
        hidden = torch.tanh(embedding(rows, self.table))
        mean, log_variance = self.layer.apply(hidden).chunk(2, dim=1)
        return mean, log_variance


class VBCARNet(TripleNet):
    """Vectors are drawn from a normal distribution for each user and item, which a network learns.

    From which user or item it is, through a hidden layer with tanh, to a mean and a variance for
    each factor. Both items of a pair come from the same network. Ranking takes the means.
    """

    def make_weights(self) -> None:
        super().make_weights()
        self._user_encoder = self._make_encoder(self.n_users)
        self._item_encoder = self._make_encoder(self.n_items)

    def _make_encoder(self, rows: int) -> Encoder:
        """An encoder of so many users or items with random weights, which are trained."""
        hidden = self.params["hidden"]
        factors = self.params["factors"]
        return Encoder(
            self.add_normal_weight(rows, hidden, std=0.1),
            Layer(
                self.add_normal_weight(hidden, 2 * factors, std=math.sqrt(1 / hidden)),
                self.add_normal_weight(2 * factors, std=0.0),
            ),
        )

    def training_vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        vectors = []
        divergence = torch.zeros((), device=self.device)
        for rows, encoder in (
            (users, self._user_encoder),
            (firsts, self._item_encoder),
            (seconds, self._item_encoder),
        ):
            mean, log_variance = encoder.encode(rows)
            vectors.append(self.sample_normal(mean, log_variance))
            divergence = divergence + kl_divergences(mean, log_variance).sum(dim=1).mean()
        return vectors, self.params["kl_weight"] * divergence

    def scoring_vectors(self, users: Tensor) -> tuple[Tensor, Tensor]:
        all_items = torch.arange(self.n_items, device=self.device)
        user_means, _ = self._user_encoder.encode(users)
        item_means, _ = self._item_encoder.encode(all_items)
        # An item has one vector, which counts as the first and as the second of a pair.
        return user_means, 2 * item_means
