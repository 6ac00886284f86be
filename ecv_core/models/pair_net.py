"""Networks on (user, item) pairs with sampled negatives, BPR and NeuMF; loads torch and numba."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, embedding, logsigmoid

from ecv_core.models import pair_kernel
from ecv_core.models.base import Indices
from ecv_core.models.device import Rows, low_precision
from ecv_core.models.sampled_net import SampledNet, gradient
from ecv_core.records.interactions import History

RETRIES = 3
"""Times that negatives which turn out to be positives are drawn again."""
MARKS_PER_PAIR = 8
"""Bits for each training pair, so that at most one in eight of other pairs is looked up."""


class PairLookup(Protocol):
    """Knows which pairs of user and item are in the training data."""

    def places(self, users: Tensor, items: Tensor) -> Tensor:
        """Which of these pairs are, by their places in order; both of shape (pairs,)."""


class LookupByKeys:
    """Finds a pair by bisection among all; for a GPU."""

    def __init__(self, keys: Tensor, n_items: int) -> None:
        """Keep the keys of all pairs, user * n_items + item, in order; shape (pairs,)."""
        self._keys = keys
        self._n_items = n_items

    def places(self, users: Tensor, items: Tensor) -> Tensor:
        keys = users * self._n_items + items
        positions = torch.searchsorted(self._keys, keys)
        positions = positions.clamp_(max=len(self._keys) - 1)
        return (self._keys[positions] == keys).nonzero()[:, 0]


class LookupByMarks:
    """Finds a pair in its user's row; compiled, for a processor.

    Most pairs at random are in no training matrix, which the last digits of their keys show.
    """

    def __init__(self, rows: Rows, keys: Tensor, n_items: int) -> None:
        """Keep the rows of the training matrix, and mark the keys of its pairs, (pairs,)."""
        self._starts = rows.starts.numpy()
        self._columns = rows.columns.numpy()
        self._n_items = n_items
        digits = math.ceil(math.log2(max(8, MARKS_PER_PAIR * len(keys))))
        self._marks = np.zeros(2**digits // 8, dtype=np.uint8)
        pair_kernel.mark(keys.numpy(), self._marks)

    def places(self, users: Tensor, items: Tensor) -> Tensor:
        places = pair_kernel.places_in_training(
            users.numpy(), items.numpy(), self._n_items, self._starts, self._columns, self._marks
        )
        return torch.from_numpy(places)


class TrainingPairs:
    """The (user, item) pairs of a training matrix on a device, with negatives on demand."""

    def __init__(self, train: csr_array, device: torch.device) -> None:
        rows = Rows.of(train, device)
        self.n_items = train.shape[1]
        self.users = rows.owners
        self.items = rows.columns.long()
        keys = self.users * self.n_items + self.items  # in order, as rows and their columns are
        self._lookup: PairLookup
        if device.type == "cpu":
            # A processor finds a pair sooner in its user's row than among the keys of all pairs.
            self._lookup = LookupByMarks(rows, keys, self.n_items)
        else:
            self._lookup = LookupByKeys(keys, self.n_items)

    def __len__(self) -> int:
        return len(self.users)

    def negatives(self, users: Tensor, random: torch.Generator) -> Tensor:
        """For each of these users an item at random that the user does not have.

        A draw that hits one of the user's items is repeated RETRIES times; after that it stays,
        so that a user who has nearly everything cannot hold training up.

        Args:
            users: shape (pairs,), any order.
            random: decides.
        Returns: item numbers, shape (pairs,).
        """
        items = self._random_items(len(users), random)
        clashes = self._lookup.places(users, items)
        for _ in range(RETRIES):
            if not len(clashes):
                break
            redrawn = self._random_items(len(clashes), random)
            items[clashes] = redrawn
            clashes = clashes[self._lookup.places(users[clashes], redrawn)]
        return items

    def _random_items(self, count: int, random: torch.Generator) -> Tensor:
        return torch.randint(self.n_items, (count,), generator=random, device=random.device)

    def shuffled(self, size: int, random: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """All pairs once, in random order, in batches of at most `size`: (users, items)."""
        order = torch.randperm(len(self), generator=random, device=self.users.device)
        for part in torch.split(order, size):
            yield self.users[part], self.items[part]


class PairNet(SampledNet):
    """Learns from each training pair beside some items at random that the user does not have."""

    def hold(self, train: csr_array, history: History | None) -> None:
        self._pairs = TrainingPairs(train, self.device)

    @abstractmethod
    def learn(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: shape (batch,).
            items: one that each user has; shape (batch,).
            negatives: some that each has not; shape (batch, negatives).
        """

    def steps(self) -> Iterator[tuple[Tensor, int]]:
        for users, items in self._pairs.shuffled(self.params["batch_size"], self.random):
            repeated = users.repeat_interleave(self.params["negatives"])
            negatives = self._pairs.negatives(repeated, self.random).view(len(users), -1)
            yield self.learn(users, items, negatives), len(users)


# The loss of BPR for a batch, and its slopes by vector.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vectors:
    """Vectors of all users or of all items, and where their slopes are added up."""

    values: Tensor
    """Shape (rows, factors)."""
    slopes: Tensor
    """Of the same shape."""
    bias: Tensor | None = None
    """Added to each row's scores; shape (rows,)."""
    bias_slopes: Tensor | None = None


class SampledBatch(NamedTuple):
    """Rows of users, and of items that they have and have not."""

    users: Tensor
    """Shape (batch,)."""
    items: Tensor
    """An item that each user has; shape (batch,)."""
    negatives: Tensor
    """Some that each user has not; shape (batch, negatives)."""


class Decay(NamedTuple):
    """Weights of half the squared length of vectors in a batch."""

    users: float = 0.0
    items: float = 0.0
    """Of all items of a user together."""


NO_DECAY = Decay()


def bpr(users: Vectors, items: Vectors, batch: SampledBatch, decay: Decay = NO_DECAY) -> Tensor:
    """Mean of -log sigmoid(score of an owned item - score of another); adds up its slopes.

    By hand: autograd takes several times as long, most of it in batched products.

    Args:
        users: of all users; without a bias, which would cancel out.
        items: of all items.
        batch: what is learnt from.
        decay: of the vectors, in the slopes only.
    Returns: the loss, a scalar.
    """
    with torch.no_grad():
        size, count = batch.negatives.shape
        user = users.values.index_select(0, batch.users)
        own_scores = _scores(items, user, batch.items)
        leads = own_scores.new_empty(count, size)
        slopes = torch.empty_like(leads)
        for number, negatives in enumerate(batch.negatives.unbind(dim=1)):
            leads[number] = own_scores - _scores(items, user, negatives)
            slopes[number] = torch.sigmoid(-leads[number]) / (size * count)
        of_vectors = Decay(decay.users / size, decay.items / size / (count + 1))
        if slopes.is_cuda:
            add_slopes(users, items, batch, slopes, of_vectors)
        else:
            add_slopes_compiled(users, items, batch, slopes, of_vectors)
        return -logsigmoid(leads).sum() / (size * count)


def _scores(items: Vectors, user: Tensor, rows: Tensor) -> Tensor:
    """The score of each item of a batch for its user; shape (batch,)."""
    scores = (user * items.values.index_select(0, rows)).sum(dim=1)
    if items.bias is None:
        return scores
    return scores + items.bias.index_select(0, rows)


def add_slopes_compiled(
    users: Vectors, items: Vectors, batch: SampledBatch, slopes: Tensor, decay: Decay
) -> None:
    """As `add_slopes`, to the last bit where factors are a multiple of 32; on a processor.

    It takes a third of the time: torch writes every product out before it adds it to a row.
    """
    no_bias = slopes.new_empty(0)
    bias = no_bias
    bias_slopes = no_bias
    if items.bias is not None and items.bias_slopes is not None:
        bias = items.bias
        bias_slopes = items.bias_slopes
    values = (users.values.numpy(), items.values.numpy(), bias.numpy())
    sums = (users.slopes.numpy(), items.slopes.numpy(), bias_slopes.numpy())
    rows = (batch.users.numpy(), batch.items.numpy(), batch.negatives.numpy())
    pair_kernel.add_slopes(*values, *sums, *rows, slopes.numpy(), decay.users, decay.items)


def add_slopes(
    users: Vectors, items: Vectors, batch: SampledBatch, slopes: Tensor, decay: Decay
) -> None:
    """Add up the slopes of a batch's loss by vectors and biases, given those by its scores.

    Args:
        users, items, batch: as of `bpr`.
        slopes: by how much each negative's score raises the loss; shape (negatives, batch).
        decay: of each vector in the batch, added times the vector.
    """
    user = users.values.index_select(0, batch.users)
    user_slopes = torch.zeros_like(user)
    own_slopes = torch.zeros_like(slopes[0])
    for negatives, by_score in zip(batch.negatives.unbind(dim=1), slopes, strict=True):
        own_slopes -= by_score
        user_slopes.addcmul_(by_score[:, None], items.values.index_select(0, negatives))
        _add_items(items, negatives, user, by_score, decay.items)
    user_slopes.addcmul_(own_slopes[:, None], items.values.index_select(0, batch.items))
    user_slopes.add_(user, alpha=decay.users)
    _add_items(items, batch.items, user, own_slopes, decay.items)
    _add_rows(users.slopes, batch.users, user_slopes)


def _add_items(
    items: Vectors, rows: Tensor, user_vectors: Tensor, by_score: Tensor, decay: float
) -> None:
    """Add a batch's slopes by score, and the decay, to the items' slopes."""
    # A score is user times item, plus the item's bias: its slope by the item's vector is the
    # user's vector, and its slope by the bias is 1.
    vector_slopes = by_score[:, None] * user_vectors
    vector_slopes.add_(items.values.index_select(0, rows), alpha=decay)
    _add_rows(items.slopes, rows, vector_slopes)
    if items.bias is not None and items.bias_slopes is not None:
        bias_slopes = by_score + decay * items.bias.index_select(0, rows)
        _add_rows(items.bias_slopes, rows, bias_slopes)


def _add_rows(target: Tensor, rows: Tensor, values: Tensor) -> None:
    """Add values to rows of target, which may repeat; in the same order each time."""
    if target.is_cuda:  # index_add_ adds in any order there, and so would not repeat exactly
        target.index_put_((rows,), values, accumulate=True)
    else:
        target.index_add_(0, rows, values)


class BPRNet(PairNet):
    """A user's vector times an item's; items that a user has shall score above those at random."""

    def start(self) -> None:
        self._users = self.normal(self.n_users, self.params["factors"], std=0.1)
        self._items = self.normal(self.n_items, self.params["factors"], std=0.1)
        self._bias = self.normal(self.n_items, 1, std=0.0)

    def learn(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        users_held = Vectors(values=self._users, slopes=gradient(self._users))
        items_held = Vectors(
            values=self._items,
            slopes=gradient(self._items),
            bias=self._bias[:, 0],
            bias_slopes=gradient(self._bias)[:, 0],
        )
        return bpr(users_held, items_held, SampledBatch(users, items, negatives), self._decay())

    def _decay(self) -> Decay:
        """The weights of the regularization; tied ones are those of Anelli et al. (2019)."""
        if self.params.get("tied_regularization"):
            rate = self.params["learning_rate"]
            return Decay(users=rate / 20, items=rate / 200)
        # Twice, as a decay is the weight of half the squared length.
        weight = 2 * self.params["regularization"]
        return Decay(users=weight, items=weight)

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():
            rows = torch.as_tensor(users, device=self.device)
            return torch.addmm(self._bias[:, 0], self._users[rows], self._items.T)


# The network of NeuMF, and how it is trained and scores.


CELLS = 1_000_000
"""Hidden values of pairs that are scored together: 4 MB, so that they stay in cache."""


class NeuMFNet(PairNet):
    """A weighted product of factors plus a perceptron of two layers on another pair of factors.

    The perceptron's first layer is linear in its concatenated input, so it is computed for users
    and for items apart, and only its sum for pairs.
    """

    def start(self) -> None:
        factors = self.params["factors"]
        hidden = self.params["hidden"]
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
        out = math.sqrt(2 / (factors + half + 1))
        self._out_gmf = self.normal(factors, std=out)
        self._out_mlp = self.normal(half, std=out)
        self._out_bias = self.normal(1, std=0.0)

    def learn(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        candidates = torch.cat((items[:, None], negatives), dim=1)
        with low_precision(self.device):
            user = embedding(users, self._gmf_users) * self._out_gmf
            product = (user[:, None] * embedding(candidates, self._gmf_items)).sum(dim=2)
            of_users = (
                _selected_product(self._mlp_users, self._first_users, users) + self._first_bias
            )
            first = of_users[:, None] + _selected_product(
                self._mlp_items, self._first_items, candidates
            )
            logits = product + self._perceptron(first, self.params["dropout"]) + self._out_bias
        wanted = torch.zeros_like(logits, dtype=torch.float32)
        wanted[:, 0] = 1.0
        loss = binary_cross_entropy_with_logits(logits.float(), wanted)
        torch.autograd.backward(loss)
        return loss.detach()

    def _perceptron(self, first: Tensor, dropout: float = 0.0) -> Tensor:
        """From the first layer's sums, shape (..., hidden), to the output, shape (...,)."""
        hidden = torch.relu(first)
        if dropout:
            kept = torch.rand(hidden.shape, generator=self.random, device=self.device) >= dropout
            hidden = hidden * kept / (1 - dropout)
        flat = hidden.view(-1, hidden.shape[-1])
        flat = torch.relu(torch.addmm(self._second_bias, flat, self._second))
        return (flat @ self._out_mlp).view(first.shape[:-1])

    def score(self, users: Indices) -> Tensor:
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


def _selected_product(table: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
    """table[rows] @ weight, by the order that multiplies less."""
    if len(table) < rows.numel():
        return embedding(rows, table @ weight)
    return embedding(rows, table) @ weight
