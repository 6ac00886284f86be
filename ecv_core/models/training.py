"""Epochs of any neural model: progress, cancelling, divergence and early stopping, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import RunError
from ecv_core.models.validation import Validation
from ecv_core.records import History, Progress, no_progress

if TYPE_CHECKING:
    import torch


class Net(Protocol):
    """A network in training."""

    def epoch(self, between: Callable[[], None]) -> float:
        """One pass over the training data; gives its mean loss.

        `between` is to be called after every batch; it may raise Cancelled.
        """

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""

    def weights(self) -> list[torch.Tensor]:
        """Everything that training changes, to be copied and put back."""

    def see(self, train: csr_array) -> None:
        """Score users by all their items from now on, those hidden from training too."""


class NeuralRecommender:
    """A recommender that trains a network for some epochs, by any schedule."""

    def __init__(self, name: str, make: Callable[..., Net], params: Mapping[str, Any]) -> None:
        """Hold what is needed to train.

        Args:
            name: the model's id, for messages.
            make: training matrix, parameters, seed and history -> a network that is not yet
                trained; the history is None for a model that does not need it.
            params: every parameter of the algorithm, those of
                `training_parameters.schedule` among them.
        """
        self.name = name
        self.params = params
        self._make = make

    def untrained(self, train: csr_array, seed: int, history: History | None = None) -> Net:
        """The network as it is before its first epoch."""
        return self._make(train, self.params, seed, history)

    def fit(
        self,
        train: csr_array,
        *,
        seed: int,
        progress: Progress = no_progress,
        history: History | None = None,
    ) -> None:
        progress("fit", 0, self.params["epochs"])
        validation = None
        if self.params["early_stopping"]:
            validation = Validation.of(train, self.params["validation_share"], seed)
        visible = train
        if validation is not None:
            visible = validation.visible
            history = None if history is None else history.take(validation.kept)
        self._net = self.untrained(visible, seed, history)
        run_epochs(self.name, self._net, self.params, validation, progress)
        self._net.see(train)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        return self._net.score(users)


def run_epochs(
    name: str,
    net: Net,
    params: Mapping[str, Any],
    validation: Validation | None,
    progress: Progress,
) -> None:
    """Train a network; with a validation part, until that is ranked no better any more.

    With a validation part the network ends with the weights of its best epoch.

    Args:
        name: the model's id, for messages.
        net: not yet trained.
        params: how long, see `training_parameters.schedule`.
        validation: interactions the network is not trained on; None for fixed epochs.
        progress: told the epoch after every batch, and with a validation part its curve so far.
    Raises: RunError that names the epoch if the loss is not finite; Cancelled from `progress`.
    """
    epochs = params["epochs"]
    curve: list[float] = []
    best: list[torch.Tensor] = []
    average = Average(net.weights(), params["averaging"])
    for epoch in range(epochs):
        between = partial(progress, "fit", epoch, epochs, curve=tuple(curve))
        run_epoch(name, net, epoch, epochs, between)
        average.update()
        if validation is not None:
            with average.in_place():
                curve.append(validation.ndcg(net.score))
                if curve[-1] >= max(curve):
                    best = [weight.detach().clone() for weight in net.weights()]
            if epoch - int(np.argmax(curve)) >= params["patience"]:
                break
        progress("fit", epoch + 1, epochs, curve=tuple(curve))
    for weight, kept in zip(net.weights(), best or average.values, strict=True):
        weight.detach().copy_(kept)
    progress("fit", epochs, epochs, curve=tuple(curve))


def run_epoch(name: str, net: Net, epoch: int, epochs: int, between: Callable[[], None]) -> None:
    """Train a network for an epoch.

    Args:
        name: the model's id, for messages.
        net: in training.
        epoch: its number, from 0 on.
        epochs: how many there are.
        between: called after every batch.
    Raises: RunError that names the epoch if the loss is not finite; Cancelled from `between`.
    """
    if not math.isfinite(net.epoch(between)):
        raise RunError(
            f"{name} diverged in epoch {epoch + 1} of {epochs}: its loss is not "
            "finite; try a lower learning_rate"
        )


class Average:
    """A running mean of weights over epochs: less noisy, and so better, than the newest ones.

    Source: Polyak & Juditsky (1992); exponential, and without bias towards the first epochs as in
    Adam.
    """

    def __init__(self, weights: list[torch.Tensor], share: float) -> None:
        """Average these weights, keeping `share` of the mean per epoch; 0 is the newest only."""
        self._weights = weights
        self._share = share
        self._epochs = 0
        self.values = [weight.detach().clone() for weight in weights] if share else weights

    def update(self) -> None:
        """Count in the weights as they are now."""
        self._epochs += 1
        if self._share:
            new = (1 - self._share) / (1 - self._share**self._epochs)
            for value, weight in zip(self.values, self._weights, strict=True):
                value.lerp_(weight.detach(), new)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the mean into the weights for a while."""
        if not self._share:
            yield
            return
        newest = [weight.detach().clone() for weight in self._weights]
        try:
            self._put(self.values)
            yield
        finally:
            self._put(newest)

    def _put(self, values: list[torch.Tensor]) -> None:
        for weight, value in zip(self._weights, values, strict=True):
            weight.detach().copy_(value)
