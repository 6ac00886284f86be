"""Epochs of any neural model: progress, cancelling, divergence and early stopping, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.models.base import Fitted, Indices, Settings, Sharing
from ecv_core.models.device import Rows, best_device
from ecv_core.records.errors import RunError
from ecv_core.records.interactions import History
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor

    from ecv_core.models.sampled_net import SampledNet


# An inner validation part of a training matrix, and how well a model ranks it.


LIST_LENGTH = 100
"""As Liang et al. (2018) validate: long lists are a far less noisy measure than short ones."""
USERS = 1_000
"""At most this many users are ranked per validation, so that it costs little beside an epoch."""
CELLS = 2_000_000
"""Scores held at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Validation:
    """Interactions hidden from training, to see how well they are found.

    Only ever made from the training part of a fold: what the fold holds out is not touched.
    """

    visible: csr_array
    """What is left to train on; shape (users, items)."""
    kept: NDArray[np.bool_]
    """Which stored entries of the whole are left; shape (entries,)."""
    users: Indices
    """Who is ranked."""
    seen: Rows
    hidden: Rows

    @classmethod
    def of(cls, train: csr_array, share: float, seed: int) -> Self | None:
        """Hide this share of the interactions of users who have at least two.

        Args:
            train: shape (users, items), each stored entry 1.0.
            share: of the interactions, in (0, 1).
            seed: fixes which.
        Returns: None if the data is too small to hide anything.
        """
        rng = np.random.default_rng([seed, 1])
        sizes = np.diff(train.indptr)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        # A user's first in a random order stays visible, so that nobody loses everything.
        chance = rng.random(train.nnz)
        order = np.lexsort((chance, owners))
        spared = np.zeros(train.nnz, dtype=bool)
        spared[order[train.indptr[:-1][sizes > 0]]] = True
        hide = (chance > 1 - share) & ~spared
        if not hide.any():
            return None
        visible = _entries(train, owners, ~hide)
        hidden = _entries(train, owners, hide)
        users = np.flatnonzero(np.diff(hidden.indptr))
        if len(users) > USERS:
            users = np.sort(rng.choice(users, USERS, replace=False))
        device = best_device()
        return cls(
            visible=visible,
            kept=~hide,
            users=users,
            seen=Rows.of(visible, device),
            hidden=Rows.of(hidden, device),
        )

    def ndcg(self, score: Callable[[Indices], Tensor]) -> float:
        """Mean nDCG@100 of the hidden interactions, among all items a user does not have visible.

        Args: score: users (block,) -> scores (block, items), as `Recommender.score`; overwritten.
        """
        import torch

        items = self.visible.shape[1]
        n = min(LIST_LENGTH, items)
        device = self.seen.columns.device
        discount = 1 / torch.log2(torch.arange(2, n + 2, dtype=torch.float64, device=device))
        ideal = discount.cumsum(0)
        total = 0.0
        size = max(1, CELLS // items)
        for start in range(0, len(self.users), size):
            users = self.users[start : start + size]
            scores = score(users)
            seen = self.seen.take(users)
            hidden = self.hidden.take(users)
            scores[seen.owners, seen.columns] = -torch.inf
            wanted = torch.zeros(scores.shape, dtype=torch.bool, device=device)
            wanted[hidden.owners, hidden.columns] = True
            hits = wanted.gather(1, scores.topk(n, dim=1).indices)
            best = ideal[hidden.sizes.clamp(max=n).long() - 1]
            total += float(((hits * discount).sum(dim=1) / best).sum())
        return total / len(self.users)


def _entries(train: csr_array, owners: Indices, chosen: NDArray[np.bool_]) -> csr_array:
    """The matrix with the chosen of its stored entries alone; `owners` has the row of each."""
    starts = np.zeros(train.shape[0] + 1, dtype=np.int32)
    np.cumsum(np.bincount(owners[chosen], minlength=train.shape[0]), out=starts[1:])
    chosen_entries = (train.data[chosen], train.indices[chosen], starts)
    return scipy.sparse.csr_array(chosen_entries, shape=train.shape)


class NeuralRecommender:
    """A recommender that trains a network for some epochs, by any schedule."""

    def __init__(self, name: str, make: Callable[..., SampledNet], params: Settings) -> None:
        """Hold what is needed to train.

        Args:
            name: the model's id, for messages.
            make: training matrix, parameters, seed and history -> a network that is not yet
                trained; the history is None for a model that does not need it.
            params: every parameter of the algorithm.
        """
        self.name = name
        self.params = params
        self._make = make

    def untrained(self, train: csr_array, seed: int, history: History | None = None) -> SampledNet:
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
            if history is not None:
                history = history.take(validation.kept)
        self._net = self.untrained(visible, seed, history)
        curve = run_epochs(self.name, self._net, self.params, validation, progress)
        self.inner_curve = tuple(curve)
        # Items hidden for validation count again when users are scored.
        self._net.use_rows_of(train)

    def score(self, users: Indices) -> Tensor:
        return self._net.score(users)


def run_epochs(
    name: str,
    net: SampledNet,
    params: Settings,
    validation: Validation | None,
    progress: Progress,
) -> list[float]:
    """Train a network; with a validation part, until that is ranked no better any more.

    With a validation part the network ends with the weights of its best epoch.

    Args:
        name: the model's id, for messages.
        net: not yet trained.
        params: of the algorithm.
        validation: interactions the network is not trained on; None for fixed epochs.
        progress: told the epoch after every batch.
    Returns: nDCG on the validation part after each epoch; empty without one.
    Raises: RunError that names the epoch if the loss is not finite; Cancelled from `progress`.
    """
    curve: list[float] = []

    def report(epoch: int) -> None:
        progress("fit", epoch, params["epochs"])

    best: list[Tensor] = []
    average = Average(net.weights(), params["averaging"])
    for done in trained(name, net, params["epochs"], average, report):
        if validation is not None:
            with average.in_place():
                curve.append(validation.ndcg(net.score))
                if curve[-1] >= max(curve):
                    best = _copies(net.weights())
            if done - 1 - int(np.argmax(curve)) >= params["patience"]:
                break
        report(done)
    _put(best or average.values, net.weights())
    report(params["epochs"])
    return curve


def trained(
    name: str, net: SampledNet, epochs: int, average: Average, report: Callable[[int], None]
) -> Iterator[int]:
    """Train a network epoch by epoch; gives the number of epochs that are done.

    Args:
        name: the model's id, for messages.
        net: not yet trained.
        epochs: how many there are at most.
        average: counts in the weights after each.
        report: told the number of the epoch, from 0 on, after every batch; it may raise Cancelled.
    Raises: RunError that names the epoch if the loss is not finite.
    """
    for epoch in range(epochs):
        if not math.isfinite(net.epoch(partial(report, epoch))):
            raise RunError(
                f"{name} diverged in epoch {epoch + 1} of {epochs}: its loss is not "
                "finite; try a lower learning_rate"
            )
        average.update()
        yield epoch + 1


class Average:
    """A running mean of weights over epochs: less noisy, and so better, than the newest ones.

    Source: Polyak & Juditsky (1992); exponential, and without bias towards the first epochs as in
    Adam.
    """

    def __init__(self, weights: list[Tensor], share: float) -> None:
        """Average these weights, keeping `share` of the mean per epoch; 0 is the newest only."""
        self._weights = weights
        self._share = share
        self._epochs = 0
        self.values = weights
        if share:
            self.values = _copies(weights)

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
        newest = _copies(self._weights)
        try:
            _put(self.values, self._weights)
            yield
        finally:
            _put(newest, self._weights)


def _copies(weights: Sequence[Tensor]) -> list[Tensor]:
    return [weight.detach().clone() for weight in weights]


def _put(values: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """Overwrite weights with values of the same shapes."""
    for weight, value in zip(weights, values, strict=True):
        weight.detach().copy_(value)


# One training run for configurations that differ in their number of epochs.


def _shared(
    models: Sequence[NeuralRecommender],
    train: csr_array,
    *,
    seed: int,
    progress: Progress,
    history: History | None,
) -> Iterator[tuple[int, Fitted]]:
    """Train once, for the most epochs, and stop on the way where a configuration ends.

    The models are alike but for their epochs, none with early stopping.
    """
    name = models[0].name
    ends = [model.params["epochs"] for model in models]
    net = models[0].untrained(train, seed, history)

    def report(epoch: int) -> None:
        progress("fit", epoch, max(ends))

    def fits() -> Iterator[tuple[int, Fitted]]:
        average = Average(net.weights(), models[0].params["averaging"])
        for done in trained(name, net, max(ends), average, report):
            report(done)
            for place, end in enumerate(ends):
                if end == done:
                    with average.in_place():
                        yield place, net

    return fits()


SHARED_EPOCHS = Sharing(
    parameters=frozenset({"epochs"}),
    fit=_shared,
    goes_on=True,
    # With early stopping a configuration may end at another epoch.
    possible=lambda params: not params["early_stopping"],
)
"""What algorithms that train by epochs say of their configurations."""
