"""What networks on triples of a user and two items of a basket have in common; loads torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.errors import DatasetError
from ecv_core.models.sampled_net import SampledNet
from ecv_core.models.triples import Triples
from ecv_core.records import History

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
        counts = (np.diff(train.indptr), np.bincount(train.indices, minlength=train.shape[1]))
        self._user_chance, self._item_chance = (
            torch.from_numpy(np.maximum(count, 1) ** self.params["noise_popularity"]).to(
                self.device
            )
            for count in counts
        )

    def start(self) -> None:
        self._user_bias = self.normal(self.n_users, std=0.0)
        self._item_bias = self.normal(self.n_items, std=0.0)

    def biases(self) -> list[torch.Tensor]:
        return [self._user_bias, self._item_bias]

    @abstractmethod
    def vectors(
        self, users: torch.Tensor, firsts: torch.Tensor, seconds: torch.Tensor
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Vectors of users, of first and of second items in training, and a loss of their own."""

    @abstractmethod
    def final(self, users: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of these users, and of all items the sum of both: as first and as second."""

    def steps(self) -> Iterator[tuple[torch.Tensor, int]]:
        for users, firsts, seconds in self._triples.shuffled(
            self.params["batch_size"], self.random
        ):
            yield self.learn(users, firsts, seconds), len(users)

    def learn(
        self, users: torch.Tensor, firsts: torch.Tensor, seconds: torch.Tensor
    ) -> torch.Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: shape (batch,).
            firsts: an item of each; shape (batch,).
            seconds: another item of the same basket; shape (batch,).
        """
        size, negatives = len(users), self.params["negatives"]
        rows = [
            torch.cat((positive, self._drawn(chance)))
            for positive, chance in (
                (users, self._user_chance),
                (firsts, self._item_chance),
                (seconds, self._item_chance),
            )
        ]
        vectors, loss = self.vectors(*rows)
        together = vectors[0][:size] + vectors[1][:size] + vectors[2][:size]
        tables = self._user_bias, self._item_bias, self._item_bias
        for vector, row, table in zip(vectors, rows, tables, strict=True):
            bias = table[row]
            own, others = vector[:size], vector[size:]
            context = together - own
            score = (own * context).sum(dim=1) + bias[:size]
            wrong = torch.addmm(bias[size:], context, others.T)
            loss = loss - logsigmoid(score).mean() - negatives * logsigmoid(-wrong).mean()
        torch.autograd.backward(loss)
        return loss.detach()

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():
            of_users, of_items = self.final(torch.as_tensor(users, device=self.device))
            # Both of an item's scores without the other item, which is not known: h p + b, h q + b.
            return torch.addmm(2 * self._item_bias, of_users, of_items.T)

    def _drawn(self, chance: torch.Tensor) -> torch.Tensor:
        return torch.multinomial(chance, SHARED, replacement=True, generator=self.random)
