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

from ecv_core.models.base import Indices
from ecv_core.models.sampled_net import SampledNet, divergence_parts
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
            train: shape (users, items).
            baskets: of each stored entry; equal numbers of one user are one basket.
            device: where triples are drawn.
        """
        users = np.repeat(np.arange(train.shape[0]), np.diff(train.indptr))
        order = np.lexsort((baskets, users))
        users = users[order]
        baskets = baskets[order]
        begins_basket = np.ones(len(users), dtype=bool)
        begins_basket[1:] = (users[1:] != users[:-1]) | (baskets[1:] != baskets[:-1])
        starts = np.flatnonzero(begins_basket)
        sizes = np.diff(np.append(starts, len(users)))
        self._users = _whole_numbers(users, device)
        self._items = _whole_numbers(train.indices[order], device)
        self._starts = _whole_numbers(np.repeat(starts, sizes), device)
        """Of each interaction: the place at which its basket starts."""
        self._sizes = _whole_numbers(np.repeat(sizes, sizes), device)
        """Of each interaction: how many interactions its basket has."""
        self._paired = (self._sizes > 1).nonzero()[:, 0]
        """Places of the interactions that have another one in their basket."""

    def __len__(self) -> int:
        return len(self._paired)

    def shuffled(
        self, size: int, random: torch.Generator
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """All of them once, in random order, in batches: users, items, others of the basket."""
        device = self._users.device
        order = torch.randperm(len(self), generator=random, device=device)
        for part in torch.split(self._paired[order], size):
            sizes = self._sizes[part]
            starts = self._starts[part]
            chance = torch.rand(len(part), generator=random, device=device)
            # From 1 to size - 1 places further, and around: any other of the basket alike.
            ahead = 1 + (chance * (sizes - 1)).long().clamp_(max=sizes - 2)
            others = starts + (part - starts + ahead) % sizes
            yield self._users[part], self._items[part], self._items[others]


def _whole_numbers(values: NDArray[np.integer], device: torch.device) -> Tensor:
    return torch.from_numpy(values.astype(np.int64)).to(device)


SHARED = 256
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

    def hold(self, train: csr_array, history: History | None) -> None:
        assert history is not None  # `Algorithm.fit` gives it
        self._triples = Triples(train, np.asarray(history.baskets), self.device)
        if not len(self._triples):
            raise DatasetError(
                "the model learns from items that were bought together, but no basket of the "
                "training data holds two items; choose another dataset or another algorithm"
            )
        self._user_chance = self._chance(np.diff(train.indptr))
        self._item_chance = self._chance(np.bincount(train.indices, minlength=train.shape[1]))

    def _chance(self, counts: Indices) -> Tensor:
        """How likely each user or item is drawn, from its number of interactions."""
        chance = np.maximum(counts, 1) ** self.params["noise_popularity"]
        return torch.from_numpy(chance).to(self.device)

    def start(self) -> None:
        self._user_bias = self.normal(self.n_users, std=0.0)
        self._item_bias = self.normal(self.n_items, std=0.0)

    def biases(self) -> list[Tensor]:
        return [self._user_bias, self._item_bias]

    @abstractmethod
    def vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """Vectors of users, of first and of second items in training, and a loss of their own."""

    @abstractmethod
    def final(self, users: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of these users, and of all items the sum of both: as first and as second."""

    def steps(self) -> Iterator[tuple[Tensor, int]]:
        for users, firsts, seconds in self._triples.shuffled(
            self.params["batch_size"], self.random
        ):
            yield self.learn(users, firsts, seconds), len(users)

    def learn(self, users: Tensor, firsts: Tensor, seconds: Tensor) -> Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: shape (batch,).
            firsts: an item of each; shape (batch,).
            seconds: another item of the same basket; shape (batch,).
        """
        size = len(users)
        # Each side has the rows of the batch, and after them negatives drawn at random.
        users = torch.cat((users, self._drawn(self._user_chance)))
        firsts = torch.cat((firsts, self._drawn(self._item_chance)))
        seconds = torch.cat((seconds, self._drawn(self._item_chance)))
        vectors, loss = self.vectors(users, firsts, seconds)
        biases = [self._user_bias[users], self._item_bias[firsts], self._item_bias[seconds]]
        together = vectors[0][:size] + vectors[1][:size] + vectors[2][:size]
        # Each of a triple's three has to fit the other two, and better than the negatives do.
        for vector, bias in zip(vectors, biases, strict=True):
            own = vector[:size]
            context = together - own
            scores = (own * context).sum(dim=1) + bias[:size]
            drawn_scores = torch.addmm(bias[size:], context, vector[size:].T)
            loss = loss - logsigmoid(scores).mean()
            loss = loss - self.params["negatives"] * logsigmoid(-drawn_scores).mean()
        torch.autograd.backward(loss)
        return loss.detach()

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():
            of_users, of_items = self.final(torch.as_tensor(users, device=self.device))
            # Both of an item's scores without the other item, which is not known: h p + b, h q + b.
            return torch.addmm(2 * self._item_bias, of_users, of_items.T)

    def _drawn(self, chance: Tensor) -> Tensor:
        return torch.multinomial(chance, SHARED, replacement=True, generator=self.random)


# The vectors of Triple2vec; loads torch.


class Triple2vecNet(TripleNet):
    """One vector per user and two per item: as the first and as the second of a pair."""

    def start(self) -> None:
        super().start()
        factors = self.params["factors"]
        self._users = self.normal(self.n_users, factors, std=0.1)
        self._firsts = self.normal(self.n_items, factors, std=0.1)
        self._seconds = self.normal(self.n_items, factors, std=0.1)

    def vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        vectors = [
            embedding(users, self._users),
            embedding(firsts, self._firsts),
            embedding(seconds, self._seconds),
        ]
        return vectors, torch.zeros((), device=self.device)

    def final(self, users: Tensor) -> tuple[Tensor, Tensor]:
        return self._users[users], self._firsts + self._seconds


# The network of VBCAR; loads torch.


class Encoder(NamedTuple):
    """The weights that make distributions of users or of items."""

    table: Tensor
    """The first layer: its input is 1 for one user or item and 0 for all others."""
    weight: Tensor
    bias: Tensor

    def encode(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of each row's distribution; (rows, factors) each."""
        hidden = torch.tanh(embedding(rows, self.table))
        mean, log_variance = torch.addmm(self.bias, hidden, self.weight).chunk(2, dim=1)
        return mean, log_variance


class VBCARNet(TripleNet):
    """Vectors are drawn from a normal distribution for each user and item, which a network learns.

    From which user or item it is, through a hidden layer with tanh, to a mean and a variance for
    each factor. Both items of a pair come from the same network. Ranking takes the means.
    """

    def start(self) -> None:
        super().start()
        self._of_users = self._encoder(self.n_users)
        self._of_items = self._encoder(self.n_items)

    def _encoder(self, rows: int) -> Encoder:
        """An encoder of users or of items with random weights."""
        hidden = self.params["hidden"]
        factors = self.params["factors"]
        return Encoder(
            self.normal(rows, hidden, std=0.1),
            self.normal(hidden, 2 * factors, std=math.sqrt(1 / hidden)),
            self.normal(2 * factors, std=0.0),
        )

    def vectors(
        self, users: Tensor, firsts: Tensor, seconds: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        vectors = []
        divergence = torch.zeros((), device=self.device)
        for rows, encoder in (
            (users, self._of_users),
            (firsts, self._of_items),
            (seconds, self._of_items),
        ):
            mean, log_variance = encoder.encode(rows)
            vectors.append(self.drawn_from(mean, log_variance))
            parts = divergence_parts(mean, log_variance)
            divergence = divergence + 0.5 * parts.sum(dim=1).mean()
        return vectors, self.params["kl_weight"] * divergence

    def final(self, users: Tensor) -> tuple[Tensor, Tensor]:
        all_items = torch.arange(self.n_items, device=self.device)
        user_means, _ = self._of_users.encode(users)
        item_means, _ = self._of_items.encode(all_items)
        return user_means, 2 * item_means
