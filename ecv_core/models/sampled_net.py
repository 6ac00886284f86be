"""Networks that learn from sampled batches, and how their weights are changed; loads torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.optim.adamw import adamw

from ecv_core.models.base import Settings
from ecv_core.models.device import best_device, threads
from ecv_core.records.arrays import Indices
from ecv_core.records.interactions import History


def gradient_buffer(weight: Tensor) -> Tensor:
    """Where an optimizer looks for a weight's gradient; zeros are put there if there is none."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


class AdamW:
    """Adam with decoupled weight decay, and torch's defaults but for the two that are passed.

    The steps are those of `torch.optim.AdamW`. That class imports torch's compiler, which is not
    needed here and takes the first fold of a process most of a second.
    """

    def __init__(self, weights: Sequence[Tensor], rate: float, decay: float) -> None:
        """Train these weights.

        Args:
            weights: The weights of any shapes; each has a gradient at every step.
            rate: The learning rate.
            decay: How much of a weight is taken away in a step, times the rate.
        """
        self._weights = list(weights)
        self._rate = rate
        self._decay = decay
        # Adam keeps running means of the gradients and squared gradients of each weight.
        self._gradient_means: list[Tensor] = []
        self._squared_gradient_means: list[Tensor] = []
        self._step_counts: list[Tensor] = []
        for weight in self._weights:
            self._gradient_means.append(torch.zeros_like(weight))
            self._squared_gradient_means.append(torch.zeros_like(weight))
            self._step_counts.append(torch.zeros((), device=weight.device))

    def step(self) -> None:
        """Change the weights by their gradients."""
        with torch.no_grad():
            adamw(
                self._weights,
                [gradient_buffer(weight) for weight in self._weights],
                self._gradient_means,
                self._squared_gradient_means,
                [],
                self._step_counts,
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


class Layer(NamedTuple):
    """The weights of a linear layer."""

    weight: Tensor
    """Shape (inputs, outputs)."""
    bias: Tensor
    """Shape (outputs,)."""

    def apply(self, rows: Tensor) -> Tensor:
        """rows @ weight + bias; shape (rows, outputs)."""
        return torch.addmm(self.bias, rows, self.weight)


class BatchLoss(NamedTuple):
    """What a batch has come to, once its gradient is in the weights."""

    mean: Tensor
    """The loss, a mean over the batch; a detached scalar."""
    size: int
    """Of the batch."""


class SampledNet(ABC):
    """A network in training, that takes one step of Adam for each batch of an epoch."""

    with_one_thread = True
    """Whether a step is so small that sharing it between cores would cost more than it saves."""

    def __init__(
        self, train: csr_array, params: Settings, seed: int, history: History | None = None
    ) -> None:
        """Hold the data and make the weights; arguments as of `training.NeuralRecommender`."""
        self.params = params
        self.device = best_device()
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.n_users, self.n_items = train.shape
        self.weights: list[Tensor] = []
        """Everything that training changes, in the order in which it was made."""
        # Weights may look at the training data, and the optimizers take the weights that there are.
        self.keep_training_data(train, history)
        self.make_weights()
        self._optimizers = self._make_optimizers()

    def _make_optimizers(self) -> list[AdamW | torch.optim.SparseAdam]:
        """AdamW for all weights but those with sparse gradients, which need SparseAdam."""
        rate = self.params["learning_rate"]
        undecayed_weights = self.undecayed_weights()
        sparse_weights = self.sparse_weights()
        # Tensors are told apart by identity, as == compares their values.
        other_ids = {id(weight) for weight in (*undecayed_weights, *sparse_weights)}
        decayed_weights = [weight for weight in self.weights if id(weight) not in other_ids]
        decay = self.params.get("weight_decay", 0.0)
        optimizers: list[AdamW | torch.optim.SparseAdam] = [AdamW(decayed_weights, rate, decay)]
        if undecayed_weights:
            optimizers.append(AdamW(undecayed_weights, rate, decay=0.0))
        if sparse_weights:
            optimizers.append(torch.optim.SparseAdam(sparse_weights, lr=rate))
        return optimizers

    @abstractmethod
    def keep_training_data(self, train: csr_array, history: History | None) -> None:
        """Keep what batches are made of."""

    @abstractmethod
    def make_weights(self) -> None:
        """Make the weights, at random."""

    @abstractmethod
    def backpropagated_batches(self) -> Iterator[BatchLoss]:
        """The batches of one epoch, in random order.

        For each the gradient of its mean loss is put into the weights, where there is none.
        """

    def undecayed_weights(self) -> list[Tensor]:
        """Those of the weights that do not decay."""
        return []

    def sparse_weights(self) -> list[Tensor]:
        """Those whose gradients are sparse: a step changes the rows of its batch alone."""
        return []

    @abstractmethod
    def score(self, users: Indices) -> Tensor:
        """As `Recommender.score`."""

    def add_normal_weight(self, *shape: int, std: float) -> Tensor:
        """A new weight to be trained, drawn from a normal distribution around 0."""
        weight = torch.empty(shape, device=self.device)
        return self.add_weight(weight.normal_(0.0, std, generator=self.random))

    def add_weight(self, weight: Tensor) -> Tensor:
        """Have this weight trained; gives it back."""
        self.weights.append(weight.requires_grad_())
        return weight

    def dropout_weights(self, *shape: int) -> Tensor:
        """For each input 0 where it is dropped, else what keeps the expected sum; drawn anew."""
        dropout = self.params["dropout"]
        draws = torch.rand(shape, generator=self.random, device=self.device)
        return (draws >= dropout) / (1 - dropout)

    def sample_normal(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """Vectors at random from these normal distributions, so that gradients reach both.

        Source: Kingma & Welling (2014), the reparameterization trick.
        """
        noise = torch.empty_like(mean).normal_(generator=self.random)
        return mean + noise * torch.exp(log_variance / 2)

    def train_epoch(self, after_batch: Callable[[], None]) -> float:
        """Pass over the training data once; gives the mean loss.

        `after_batch` may raise Cancelled.
        """
        total_loss = torch.zeros((), device=self.device)
        sample_count = 0
        self._clear_gradients()
        # A small step takes longer on several cores than on one.
        with threads(1, when=self.with_one_thread):
            for loss in self.backpropagated_batches():
                total_loss += loss.mean * loss.size
                sample_count += loss.size
                for optimizer in self._optimizers:
                    optimizer.step()
                self._clear_gradients()
                after_batch()
        return float(total_loss) / max(1, sample_count)

    def _clear_gradients(self) -> None:
        for optimizer in self._optimizers:
            optimizer.zero_grad()

    def use_rows_of(self, train: csr_array) -> None:
        """Score users by all their items from now on, those hidden from training too.

        Nothing is to be done where users are known by their number, whatever their items.
        """
        return


def kl_divergences(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Kullback and Leibler's divergence of normal distributions from the standard one.

    Of the same shape as both: each factor has its own, and those of a vector are added up.
    """
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
