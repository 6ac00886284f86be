"""Networks on (user, item) pairs with sampled negatives, BPR and NeuMF; loads torch and numba."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, embedding, logsigmoid

from ecv_core.models import pair_kernel
from ecv_core.models.device import BinaryMatrix, low_precision
from ecv_core.models.sampled_net import BatchLoss, SampledNet, gradient_buffer
from ecv_core.records.arrays import Indices
from ecv_core.records.interactions import History

REDRAWS = 3
"""Times that negatives which turn out to be positives are drawn again."""
MARKS_PER_PAIR = 8
"""Bits for each training pair, so that at most one in eight of other pairs is looked up."""


class LookupByKeys:
    """Finds a training pair by bisection among all; for a GPU."""

    def __init__(self, keys: Tensor, n_items: int) -> None:
        """Keep the keys of all pairs, user * n_items + item, in order; shape (pairs,)."""
        self._keys = keys
        self._n_items = n_items

    def indices_of_training_pairs(self, users: Tensor, items: Tensor) -> Tensor:
        """Indices, in order, of the training pairs among these; both of shape (pairs,)."""
        keys = users * self._n_items + items
        positions = torch.searchsorted(self._keys, keys)
        # A key above all others would be looked for after the end.
        positions = positions.clamp_(max=len(self._keys) - 1)
        is_training_pair = self._keys[positions] == keys
        return is_training_pair.nonzero()[:, 0]


class LookupByMarks:
    """Finds a training pair in its user's row; compiled, for a processor.

    Most pairs at random are in no training matrix, which the last digits of their keys show.
    """

    def __init__(self, train: BinaryMatrix, keys: Tensor, n_items: int) -> None:
        """Keep the training matrix, and mark the keys of its pairs; shape (pairs,)."""
        self._starts = train.starts.numpy()
        self._columns = train.columns.numpy()
        self._n_items = n_items
        # A Bloom filter with one hash function, a key's last binary digits: they are the number of
        # the bit that is set. So the number of bits is a power of two.
        digits = math.ceil(math.log2(max(8, MARKS_PER_PAIR * len(keys))))
        self._marks = np.zeros(2**digits // 8, dtype=np.uint8)
        pair_kernel.mark(keys.numpy(), self._marks)

    def indices_of_training_pairs(self, users: Tensor, items: Tensor) -> Tensor:
        """As of `LookupByKeys`."""
        indices = pair_kernel.indices_of_training_pairs(
            users.numpy(), items.numpy(), self._n_items, self._starts, self._columns, self._marks
        )
        return torch.from_numpy(indices)


class TrainingPairs:
    """The (user, item) pairs of a training matrix on a device, with negatives on demand."""

    def __init__(self, train: csr_array, device: torch.device) -> None:
        matrix = BinaryMatrix.from_csr(train, device)
        self.n_items = train.shape[1]
        self.users = matrix.row_of_entry
        self.items = matrix.columns.long()
        # The keys ascend, as rows and their columns do.
        keys = self.users * self.n_items + self.items
        self._lookup: LookupByMarks | LookupByKeys
        if device.type == "cpu":
            # A processor finds a pair sooner in its user's row than among the keys of all pairs.
            self._lookup = LookupByMarks(matrix, keys, self.n_items)
        else:
            self._lookup = LookupByKeys(keys, self.n_items)

    def __len__(self) -> int:
        return len(self.users)

    def sample_negatives(self, users: Tensor, random: torch.Generator) -> Tensor:
        """For each of these users an item at random that the user does not have.

        A draw that hits one of the user's items is repeated REDRAWS times; after that it stays,
        so that a user who has nearly everything cannot hold training up.

        Args:
            users: Shape (pairs,), any order.
            random: Decides.

        Returns:
            Item numbers, shape (pairs,).
        """
        items = self._random_items(len(users), random)
        positives = self._lookup.indices_of_training_pairs(users, items)
        for _ in range(REDRAWS):
            if not len(positives):
                break
            redrawn = self._random_items(len(positives), random)
            items[positives] = redrawn
            positive_again = self._lookup.indices_of_training_pairs(users[positives], redrawn)
            positives = positives[positive_again]
        return items

    def _random_items(self, count: int, random: torch.Generator) -> Tensor:
        return torch.randint(self.n_items, (count,), generator=random, device=random.device)

    def shuffled_batches(
        self, size: int, random: torch.Generator
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """All pairs once, in random order, in batches of at most `size`: (users, items)."""
        order = torch.randperm(len(self), generator=random, device=self.users.device)
        for batch in torch.split(order, size):
            yield self.users[batch], self.items[batch]


class PairNet(SampledNet):
    """Learns from each training pair beside some items at random that the user does not have."""

    def keep_training_data(self, train: csr_array, history: History | None) -> None:
        self._pairs = TrainingPairs(train, self.device)

    @abstractmethod
    def backpropagate(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        """Put the gradient of a batch's mean loss into the weights; gives that loss, detached.

        Args:
            users: Shape (batch,).
            items: One that each user has; shape (batch,).
            negatives: Some that each has not; shape (batch, negatives).
        """

    def backpropagated_batches(self) -> Iterator[BatchLoss]:
        for users, items in self._pairs.shuffled_batches(self.params["batch_size"], self.random):
            user_of_negative = users.repeat_interleave(self.params["negatives"])
            drawn = self._pairs.sample_negatives(user_of_negative, self.random)
            negatives = drawn.view(len(users), -1)
            yield BatchLoss(self.backpropagate(users, items, negatives), len(users))


# The loss of BPR for a batch, and its gradients by vector.


@dataclass(frozen=True, kw_only=True, eq=False)
class Vectors:
    """Vectors of all users or of all items, and where their gradients are added up."""

    values: Tensor
    """Shape (rows, factors)."""
    gradients: Tensor
    """Of the same shape."""
    biases: Tensor | None = None
    """Added to each row's scores; shape (rows,)."""
    bias_gradients: Tensor | None = None


class SampledBatch(NamedTuple):
    """Numbers of users, and of items that they have and have not."""

    users: Tensor
    """Shape (batch,)."""
    positives: Tensor
    """An item that each user has; shape (batch,)."""
    negatives: Tensor
    """Some that each user has not; shape (batch, negatives)."""


class Decay(NamedTuple):
    """Weights of half the squared length of vectors in a batch."""

    users: float = 0.0
    items: float = 0.0
    """Of all items of a user together."""


NO_DECAY = Decay()


def bpr_loss(
    users: Vectors, items: Vectors, batch: SampledBatch, decay: Decay = NO_DECAY
) -> Tensor:
    """Mean of -log sigmoid(positive's score - negative's score); adds up its gradients.

    By hand: autograd takes several times as long, most of it in batched products.

    Args:
        users: The vectors of all users; without biases, which would cancel out.
        items: The vectors of all items.
        batch: What is learnt from.
        decay: The decay of the vectors, in the gradients only.

    Returns:
        The loss, a scalar.
    """
    with torch.no_grad():
        size, negative_count = batch.negatives.shape
        user_vectors = users.values.index_select(0, batch.users)
        positive_scores = _scores(items, user_vectors, batch.positives)
        differences = positive_scores.new_empty(negative_count, size)
        score_gradients = torch.empty_like(differences)
        for number, negatives in enumerate(batch.negatives.unbind(dim=1)):
            differences[number] = positive_scores - _scores(items, user_vectors, negatives)
            # The derivative of -log sigmoid(x) is -sigmoid(-x), and a negative's score lowers x.
            score_gradients[number] = torch.sigmoid(-differences[number]) / (size * negative_count)
        decay_of_each = Decay(decay.users / size, decay.items / size / (negative_count + 1))
        if score_gradients.is_cuda:
            add_gradients(users, items, batch, score_gradients, decay_of_each)
        else:
            add_gradients_compiled(users, items, batch, score_gradients, decay_of_each)
        return -logsigmoid(differences).sum() / (size * negative_count)


def _scores(items: Vectors, user_vectors: Tensor, rows: Tensor) -> Tensor:
    """The score of each item of a batch for its user; shape (batch,)."""
    scores = (user_vectors * items.values.index_select(0, rows)).sum(dim=1)
    if items.biases is None:
        return scores
    return scores + items.biases.index_select(0, rows)


def add_gradients_compiled(
    users: Vectors, items: Vectors, batch: SampledBatch, score_gradients: Tensor, decay: Decay
) -> None:
    """As `add_gradients`, to the last bit where factors are a multiple of 32; on a processor.

    It takes a third of the time: torch writes every product out before it adds it to a row.
    """
    biases = score_gradients.new_empty(0)
    bias_gradients = biases
    if items.biases is not None and items.bias_gradients is not None:
        biases = items.biases
        bias_gradients = items.bias_gradients
    # These arrays share the tensors' memory: what is added to them is added to the tensors.
    user_gradients = users.gradients.numpy()
    item_gradients = items.gradients.numpy()
    pair_kernel.add_gradients(
        users.values.numpy(),
        items.values.numpy(),
        biases.numpy(),
        user_gradients,
        item_gradients,
        bias_gradients.numpy(),
        batch.users.numpy(),
        batch.positives.numpy(),
        batch.negatives.numpy(),
        score_gradients.numpy(),
        decay.users,
        decay.items,
    )


def add_gradients(
    users: Vectors, items: Vectors, batch: SampledBatch, score_gradients: Tensor, decay: Decay
) -> None:
    """Add the gradients of a batch's loss by vectors and biases, given those by its scores.

    Args:
        users, items, batch: as of `bpr_loss`; their gradients are added to.
        score_gradients: The score gradients of the loss by each negative's score; shape (negatives,
            batch).
        decay: The decay of each vector in the batch, added times the vector.
    """
    user_vectors = users.values.index_select(0, batch.users)
    user_gradients = torch.zeros_like(user_vectors)
    # The loss looks at positive less negative score: the gradient by a positive's score is that by
    # all of its negatives' scores with the other sign.
    positive_score_gradients = torch.zeros_like(score_gradients[0])
    for negatives, gradients in zip(batch.negatives.unbind(dim=1), score_gradients, strict=True):
        positive_score_gradients -= gradients
        user_gradients.addcmul_(gradients[:, None], items.values.index_select(0, negatives))
        _add_item_gradients(items, negatives, user_vectors, gradients, decay.items)
    positive_vectors = items.values.index_select(0, batch.positives)
    user_gradients.addcmul_(positive_score_gradients[:, None], positive_vectors)
    user_gradients.add_(user_vectors, alpha=decay.users)
    _add_item_gradients(items, batch.positives, user_vectors, positive_score_gradients, decay.items)
    _add_rows(users.gradients, batch.users, user_gradients)


def _add_item_gradients(
    items: Vectors, rows: Tensor, user_vectors: Tensor, score_gradients: Tensor, decay: float
) -> None:
    """Add to the items' gradients what follows from those by score, and the decay."""
    # A score is user times item, plus the item's bias: its gradient by the item's vector is the
    # user's vector, and by the bias 1.
    vector_gradients = score_gradients[:, None] * user_vectors
    vector_gradients.add_(items.values.index_select(0, rows), alpha=decay)
    _add_rows(items.gradients, rows, vector_gradients)
    if items.biases is not None and items.bias_gradients is not None:
        bias_gradients = score_gradients + decay * items.biases.index_select(0, rows)
        _add_rows(items.bias_gradients, rows, bias_gradients)


def _add_rows(target: Tensor, rows: Tensor, values: Tensor) -> None:
    """Add values to rows of target, which may repeat; in the same order each time."""
    if target.is_cuda:  # index_add_ adds in any order there, and so would not repeat exactly
        target.index_put_((rows,), values, accumulate=True)
    else:
        target.index_add_(0, rows, values)


class BPRNet(PairNet):
    """A user's vector times an item's; items that a user has shall score above those at random."""

    def make_weights(self) -> None:
        self._users = self.add_normal_weight(self.n_users, self.params["factors"], std=0.1)
        self._items = self.add_normal_weight(self.n_items, self.params["factors"], std=0.1)
        self._bias = self.add_normal_weight(self.n_items, 1, std=0.0)

    def backpropagate(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        user_vectors = Vectors(values=self._users, gradients=gradient_buffer(self._users))
        item_vectors = Vectors(
            values=self._items,
            gradients=gradient_buffer(self._items),
            biases=self._bias[:, 0],
            bias_gradients=gradient_buffer(self._bias)[:, 0],
        )
        batch = SampledBatch(users, items, negatives)
        # It adds its gradients to those of the vectors, too.
        return bpr_loss(user_vectors, item_vectors, batch, self._decay())

    def _decay(self) -> Decay:
        """The weights of the regularization; tied ones are those of Anelli et al. (2019)."""
        if self.params.get("tied_regularization"):
            rate = self.params["learning_rate"]
            return Decay(users=rate / 20, items=rate / 200)
        # A decay is the weight of half the squared length, so the regularization counts twice.
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

    def make_weights(self) -> None:
        factors = self.params["factors"]
        hidden = self.params["hidden"]
        second_width = max(1, hidden // 2)
        # Each weight is drawn with the deviation of Glorot & Bengio (2010), the tables with 0.01.
        self._gmf_users = self.add_normal_weight(self.n_users, factors, std=0.01)
        self._gmf_items = self.add_normal_weight(self.n_items, factors, std=0.01)
        self._mlp_users = self.add_normal_weight(self.n_users, factors, std=0.01)
        self._mlp_items = self.add_normal_weight(self.n_items, factors, std=0.01)
        # The first layer's input is a user's vector and an item's end to end; its weight is kept in
        # two parts, one for each.
        first_std = math.sqrt(2 / (2 * factors + hidden))
        self._first_users = self.add_normal_weight(factors, hidden, std=first_std)
        self._first_items = self.add_normal_weight(factors, hidden, std=first_std)
        self._first_bias = self.add_normal_weight(hidden, std=0.0)
        self._second = self.add_normal_weight(
            hidden, second_width, std=math.sqrt(2 / (hidden + second_width))
        )
        self._second_bias = self.add_normal_weight(second_width, std=0.0)
        out_std = math.sqrt(2 / (factors + second_width + 1))
        self._out_gmf = self.add_normal_weight(factors, std=out_std)
        self._out_mlp = self.add_normal_weight(second_width, std=out_std)
        self._out_bias = self.add_normal_weight(1, std=0.0)

    def backpropagate(self, users: Tensor, items: Tensor, negatives: Tensor) -> Tensor:
        candidates = torch.cat((items[:, None], negatives), dim=1)
        with low_precision(self.device):
            weighted_users = embedding(users, self._gmf_users) * self._out_gmf
            candidate_vectors = embedding(candidates, self._gmf_items)
            gmf_logits = (weighted_users[:, None] * candidate_vectors).sum(dim=2)
            # The first layer is linear in its input: its sum has a part of users, one of items.
            user_sums = _selected_product(self._mlp_users, self._first_users, users)
            user_sums = user_sums + self._first_bias
            item_sums = _selected_product(self._mlp_items, self._first_items, candidates)
            first_sums = user_sums[:, None] + item_sums
            mlp_logits = self._perceptron(first_sums, self.params["dropout"])
            logits = gmf_logits + mlp_logits + self._out_bias
        labels = torch.zeros_like(logits, dtype=torch.float32)
        labels[:, 0] = 1.0  # the first candidate is the item that the user has
        loss = binary_cross_entropy_with_logits(logits.float(), labels)
        torch.autograd.backward(loss)
        return loss.detach()

    def _perceptron(self, first_sums: Tensor, dropout: float = 0.0) -> Tensor:
        """From the first layer's sums, shape (..., hidden), to the output, shape (...,)."""
        hidden = torch.relu(first_sums)
        if dropout:
            draws = torch.rand(hidden.shape, generator=self.random, device=self.device)
            hidden = hidden * (draws >= dropout) / (1 - dropout)
        rows = hidden.view(-1, hidden.shape[-1])
        second_hidden = torch.relu(torch.addmm(self._second_bias, rows, self._second))
        return (second_hidden @ self._out_mlp).view(first_sums.shape[:-1])

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():  # Scores are in float32, as lower precision would make ties.
            rows = torch.as_tensor(users, device=self.device)
            weighted_users = self._gmf_users[rows] * self._out_gmf
            scores = torch.addmm(self._out_bias, weighted_users, self._gmf_items.T)
            user_sums = self._mlp_users[rows] @ self._first_users + self._first_bias
            item_sums = self._mlp_items @ self._first_items
            users_at_once = max(1, CELLS // item_sums.numel())
            for start in range(0, len(rows), users_at_once):
                block = slice(start, start + users_at_once)
                scores[block] += self._perceptron(user_sums[block, None] + item_sums)
        return scores


def _selected_product(table: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
    """table[rows] @ weight, by the order that multiplies less."""
    if len(table) < rows.numel():
        return embedding(rows, table @ weight)
    return embedding(rows, table) @ weight
