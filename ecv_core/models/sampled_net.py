"""Networks that learn from sampled batches, and how their weights are changed; loads torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.optim.adamw import adamw

from ecv_core.models.base import Indices, Settings
from ecv_core.models.device import best_device, threads
from ecv_core.records.interactions import History


def gradient(weight: Tensor) -> Tensor:
    """Where an optimizer looks for a weight's slopes; zeros if there were none."""
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

    def dropout_weights(self, *shape: int) -> Tensor:
        """For each input 0 where it is dropped, else what keeps the expected sum; drawn anew."""
        dropout = self.params["dropout"]
        draws = torch.rand(shape, generator=self.random, device=self.device)
        return (draws >= dropout) / (1 - dropout)

    def drawn_from(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """Vectors at random from these normal distributions, so that gradients reach both.

        Source: Kingma & Welling (2014), the reparameterization trick.
        """
        noise = torch.empty_like(mean).normal_(generator=self.random)
        return mean + noise * torch.exp(log_variance / 2)

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


def divergence_parts(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Twice what each factor adds to the divergence of normal distributions from the standard one.

    The divergence is Kullback and Leibler's; of the same shape as both.
    """
    return mean.square() + log_variance.exp() - 1 - log_variance
