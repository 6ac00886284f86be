"""Networks that learn from sampled batches, and those on (user, item) pairs; loads torch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, embedding, logsigmoid
from torch.optim.adamw import adamw

from ecv_core.models.base import Indices, Settings
from ecv_core.models.device import Rows, best_device, low_precision, threads
from ecv_core.records.interactions import History


class AdamW:
    """Adam with decoupled weight decay, and torch's defaults but for the two that are passed.

    The steps are those of `torch.optim.AdamW`. That class imports torch's compiler, which is not
    needed here and takes the first fold of a process most of a second.
    """

    def __init__(self, weights: Sequence[Tensor], rate: float, decay: float) -> None:
        """Train these weights.

        Args:
            weights: of any shapes; each has a gradient at every step.
            rate: the learning rate.
            decay: how much of a weight is taken away in a step, times the rate.
        """
        self._weights = list(weights)
        self._rate = rate
        self._decay = decay
        self._means: list[Tensor] = []
        self._squares: list[Tensor] = []
        self._steps: list[Tensor] = []
        for weight in self._weights:
            self._means.append(torch.zeros_like(weight))
            self._squares.append(torch.zeros_like(weight))
            self._steps.append(torch.zeros((), device=weight.device))

    def step(self) -> None:
        """Change the weights by their gradients."""
        with torch.no_grad():
            adamw(
                self._weights,
                [gradient(weight) for weight in self._weights],
                self._means,
                self._squares,
                [],
                self._steps,
                fused=True,
                amsgrad=False,
                maximize=False,
                lr=self._rate,
                beta1=0.9,
                beta2=0.999,
                eps=1e-8,
                weight_decay=self._decay,
            )

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight in self._weights:
            weight.grad = None


class SampledNet(ABC):
    """A network in training, that takes one step of Adam for each batch of an epoch."""

    small_steps = True
    """Whether sharing a step between processor cores would cost more than it saves."""

    def __init__(
        self, train: csr_array, params: Settings, seed: int, history: History | None = None
    ) -> None:
        """Hold the data and make the weights; arguments as of `training.NeuralRecommender`."""
        self.params = params
        self.device = best_device()
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.n_users, self.n_items = train.shape
        self._weights: list[Tensor] = []
        self.hold(train, history)
        self.start()
        self._optimizers = self._make_optimizers()

    def _make_optimizers(self) -> list[AdamW | torch.optim.SparseAdam]:
        """AdamW for all weights but tables, which need one that takes sparse gradients."""
        rate = self.params["learning_rate"]
        biases = self.biases()
        tables = self.tables()
        apart = {id(weight) for weight in (*biases, *tables)}
        decaying = [weight for weight in self.weights() if id(weight) not in apart]
        decay = self.params.get("weight_decay", 0.0)
        optimizers: list[AdamW | torch.optim.SparseAdam] = [AdamW(decaying, rate, decay)]
        if biases:
            optimizers.append(AdamW(biases, rate, decay=0.0))
        if tables:
            optimizers.append(torch.optim.SparseAdam(tables, lr=rate))
        return optimizers

    @abstractmethod
    def hold(self, train: csr_array, history: History | None) -> None:
        """Keep what batches are made of."""

    @abstractmethod
    def start(self) -> None:
        """Make the weights, at random."""

    @abstractmethod
    def steps(self) -> Iterator[tuple[Tensor, int]]:
        """The batches of one epoch, in random order.

        For each the gradient of its mean loss is put into the weights, where there is none; gives
        that loss, detached, and the size of the batch.
        """

    def weights(self) -> list[Tensor]:
        """Everything that training changes, in the order in which it was made."""
        return self._weights

    def biases(self) -> list[Tensor]:
        """Those of the weights that do not decay."""
        return []

    def tables(self) -> list[Tensor]:
        """Those whose gradients are sparse: a step changes the rows of its batch alone."""
        return []

    @abstractmethod
    def score(self, users: Indices) -> Tensor:
        """As `Recommender.score`."""

    def normal(self, *shape: int, std: float) -> Tensor:
        """A weight to be trained, drawn from a normal distribution around 0."""
        weight = torch.empty(shape, device=self.device)
        return self.trained(weight.normal_(0.0, std, generator=self.random))

    def trained(self, weight: Tensor) -> Tensor:
        """The same, to be trained."""
        self._weights.append(weight.requires_grad_())
        return weight

    def epoch(self, between: Callable[[], None]) -> float:
        """One pass over the training data; gives its mean loss.

        `between` is called after every batch; it may raise Cancelled.
        """
        total = torch.zeros((), device=self.device)
        count = 0
        self._zero()
        with threads(1, when=self.small_steps):
            for loss, size in self.steps():
                total += loss * size
                count += size
                for optimizer in self._optimizers:
                    optimizer.step()
                self._zero()
                between()
        return float(total) / max(1, count)

    def _zero(self) -> None:
        for optimizer in self._optimizers:
            optimizer.zero_grad()

    def use_rows_of(self, train: csr_array) -> None:
        """Score users by all their items from now on, those hidden from training too.

        Nothing is to be done where users are known by their number, whatever their items.
        """
        return


# Those on pairs with sampled negatives: BPR and NeuMF.


RETRIES = 3
"""Times that negatives which turn out to be positives are drawn again."""
MARKS_PER_PAIR = 8
"""Bytes for each training pair, so that at most one in eight of other pairs is looked up."""


class TrainingPairs:
    """The (user, item) pairs of a training matrix on a device, with negatives on demand."""

    def __init__(self, train: csr_array, device: torch.device) -> None:
        rows = Rows.of(train, device)
        self.n_items = train.shape[1]
        self.users = rows.owners
        self.items = rows.columns.long()
        # Rows are in order and sorted, so these keys are too: a pair is found by bisection.
        self._keys = self.users * self.n_items + self.items
        # Most pairs at random are in no training matrix, which their last digits show already.
        size = 2 ** math.ceil(math.log2(max(1, MARKS_PER_PAIR * len(self._keys))))
        self._last_digits = size - 1
        self._marks = torch.zeros(size, dtype=torch.bool, device=device)
        self._marks[self._keys & self._last_digits] = True

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
        clashes = self._are_in_training(users, items)
        for _ in range(RETRIES):
            if not len(clashes):
                break
            redrawn = self._random_items(len(clashes), random)
            items[clashes] = redrawn
            clashes = clashes[self._are_in_training(users[clashes], redrawn)]
        return items

    def _random_items(self, count: int, random: torch.Generator) -> Tensor:
        return torch.randint(self.n_items, (count,), generator=random, device=random.device)

    def _are_in_training(self, users: Tensor, items: Tensor) -> Tensor:
        """Which of these pairs are in the training matrix, by their places."""
        keys = users * self.n_items + items
        # A pair whose last digits no training pair has is in no training matrix.
        may_be = self._marks.index_select(0, keys & self._last_digits)
        candidates = may_be.nonzero()[:, 0]
        candidate_keys = keys.index_select(0, candidates)
        positions = torch.searchsorted(self._keys, candidate_keys)
        positions = positions.clamp_(max=len(self._keys) - 1)
        return candidates[self._keys[positions] == candidate_keys]

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


def gradient(weight: Tensor) -> Tensor:
    """Where an optimizer looks for a weight's slopes; zeros if there were none."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


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
        item_decay = decay.items / size / (count + 1)
        user = users.values.index_select(0, batch.users)
        item = items.values.index_select(0, batch.items)
        user_slopes = torch.zeros_like(user)
        own_scores = _scores(items, user, item, batch.items)
        own_slopes = torch.zeros_like(own_scores)
        total = torch.zeros((), device=user.device)
        for negatives in batch.negatives.unbind(dim=1):
            vectors = items.values.index_select(0, negatives)
            lead = own_scores - _scores(items, user, vectors, negatives)
            total -= logsigmoid(lead).sum()
            slopes = torch.sigmoid(-lead) / (size * count)
            own_slopes -= slopes
            user_slopes.addcmul_(slopes[:, None], vectors)
            _add_items(items, negatives, user, vectors, slopes, item_decay)
        user_slopes.addcmul_(own_slopes[:, None], item)
        if decay.users:
            user_slopes.add_(user, alpha=decay.users / size)
        _add_items(items, batch.items, user, item, own_slopes, item_decay)
        _add_rows(users.slopes, batch.users, user_slopes)
    return total / (size * count)


def _scores(items: Vectors, user: Tensor, vectors: Tensor, rows: Tensor) -> Tensor:
    """The score of each item of a batch for its user; shape (batch,)."""
    scores = (user * vectors).sum(dim=1)
    if items.bias is None:
        return scores
    return scores + items.bias.index_select(0, rows)


def _add_items(
    items: Vectors, rows: Tensor, user: Tensor, vectors: Tensor, slopes: Tensor, decay: float
) -> None:
    """Add a batch's slopes by score, and the decay, to the items' slopes."""
    vector_slopes = slopes[:, None] * user
    if decay:
        vector_slopes.add_(vectors, alpha=decay)
    _add_rows(items.slopes, rows, vector_slopes)
    if items.bias is not None and items.bias_slopes is not None:
        _add_rows(items.bias_slopes, rows, slopes + decay * items.bias.index_select(0, rows))


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
