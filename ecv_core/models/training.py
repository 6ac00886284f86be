"""Epochs of any neural model: progress, cancelling, divergence and early stopping, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from ecv_core.models.base import Fitted, Settings, Sharing
from ecv_core.models.device import BinaryMatrix, best_device
from ecv_core.records.arrays import Indices, Mask, rows_of_entries
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
MAX_USERS = 1_000
"""At most this many users are ranked per validation, so that it costs little beside an epoch."""
CELLS_AT_ONCE = 2_000_000
"""Scores held at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Validation:
    """Interactions hidden from training, to see how well they are found.

    Only ever made from the training part of a fold: what the fold holds out is not touched.
    """

    visible: csr_array
    """What is left to train on; shape (users, items)."""
    is_visible: Mask
    """Which stored entries of the whole are left; shape (entries,)."""
    users: Indices
    """Who is ranked."""
    visible_rows: BinaryMatrix
    """As `visible`, on the device."""
    hidden_rows: BinaryMatrix
    """What is hidden, on the device; of the same shape."""

    @classmethod
    def hide_share(cls, train: csr_array, share: float, seed: int) -> Self | None:
        """Hide this share of the interactions of users who have at least two.

        Args:
            train: Shape (users, items), each stored entry 1.0.
            share: The share of the interactions, in (0, 1).
            seed: Fixes which.

        Returns:
            None if the data is too small to hide anything.
        """
        # These are not the numbers that training draws by the same seed.
        rng = np.random.default_rng([seed, 1])
        row_sizes = np.diff(train.indptr)
        user_of_entry = rows_of_entries(train)
        # A user's interaction with the lowest draw stays visible, so that nobody loses everything.
        draws = rng.random(train.nnz)
        by_user_and_draw = np.lexsort((draws, user_of_entry))
        first_of_user = train.indptr[:-1][row_sizes > 0]
        must_stay = np.zeros(train.nnz, dtype=bool)
        must_stay[by_user_and_draw[first_of_user]] = True
        is_hidden = (draws > 1 - share) & ~must_stay
        if not is_hidden.any():
            return None
        visible = _select_entries(train, ~is_hidden)
        hidden = _select_entries(train, is_hidden)
        users = np.flatnonzero(np.diff(hidden.indptr))
        if len(users) > MAX_USERS:
            users = np.sort(rng.choice(users, MAX_USERS, replace=False))
        device = best_device()
        return cls(
            visible=visible,
            is_visible=~is_hidden,
            users=users,
            visible_rows=BinaryMatrix.from_csr(visible, device),
            hidden_rows=BinaryMatrix.from_csr(hidden, device),
        )

    def ndcg(self, score: Callable[[Indices], Tensor]) -> float:
        """Mean nDCG@100 of the hidden interactions, among all items a user does not have visible.

        Args:
            score: Users (block,) -> scores (block, items), as `Recommender.score`; overwritten.
        """
        import torch

        item_count = self.visible.shape[1]
        list_length = min(LIST_LENGTH, item_count)
        device = self.visible_rows.columns.device
        ranks = torch.arange(1, list_length + 1, dtype=torch.float64, device=device)
        discounts = 1 / torch.log2(ranks + 1)
        best_dcg = discounts.cumsum(0)  # The entries are the ideal gains of 1, 2, ... hits.
        ndcg_sum = 0.0
        users_at_once = max(1, CELLS_AT_ONCE // item_count)
        for start in range(0, len(self.users), users_at_once):
            users = self.users[start : start + users_at_once]
            scores = score(users)
            visible = self.visible_rows.take_rows(users)
            scores[visible.row_of_entry, visible.columns] = -torch.inf
            hidden = self.hidden_rows.take_rows(users)
            is_hidden = torch.zeros(scores.shape, dtype=torch.bool, device=device)
            is_hidden[hidden.row_of_entry, hidden.columns] = True
            hits = is_hidden.gather(1, scores.topk(list_length, dim=1).indices)
            dcg = (hits * discounts).sum(dim=1)
            most_hits = hidden.row_sizes.clamp(max=list_length).long()
            ndcg_sum += float((dcg / best_dcg[most_hits - 1]).sum())
        return ndcg_sum / len(self.users)


def _select_entries(matrix: csr_array, is_selected: Mask) -> csr_array:
    """The matrix with some of its stored entries alone; `is_selected` has shape (entries,)."""
    selected = matrix.copy()
    selected.data[~is_selected] = 0
    selected.eliminate_zeros()
    return selected


class NeuralRecommender:
    """A recommender that trains a network for some epochs, by any schedule."""

    def __init__(self, name: str, make: Callable[..., SampledNet], params: Settings) -> None:
        """Hold what is needed to train.

        Args:
            name: The model's id, for messages.
            make: Training matrix, parameters, seed and history -> a network that is not yet
                trained; the history is None for a model that does not need it.
            params: Every parameter of the algorithm.
        """
        self.name = name
        self.params = params
        self._make = make

    def untrained_net(self, train: csr_array, seed: int, history: History | None) -> SampledNet:
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
            validation = Validation.hide_share(train, self.params["validation_share"], seed)
        visible = train
        if validation is not None:
            visible = validation.visible
            if history is not None:
                history = history.take(validation.is_visible)
        self._net = self.untrained_net(visible, seed, history)
        ndcg_by_epoch = run_epochs(self.name, self._net, self.params, validation, progress)
        self.inner_curve = tuple(ndcg_by_epoch)
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
        name: The model's id, for messages.
        net: Not yet trained.
        params: The params of the algorithm.
        validation: Interactions the network is not trained on; None for fixed epochs.
        progress: Told the epoch after every batch.

    Returns:
        NDCG on the validation part after each epoch; empty without one.

    Raises:
        RunError: That names the epoch if the loss is not finite.
        Cancelled: From `progress`.
    """
    ndcg_by_epoch = []

    def report(epoch: int) -> None:
        progress("fit", epoch, params["epochs"])

    best_weights = []
    average = AveragedWeights(net.weights, params["averaging"])
    for epochs_done in train_epochs(name, net, params["epochs"], average, report):
        if validation is not None:
            with average.replacing_weights():
                ndcg_by_epoch.append(validation.ndcg(net.score))
                # If epochs are equally good, the weights of the last are kept, but patience counts
                # from the first.
                if ndcg_by_epoch[-1] >= max(ndcg_by_epoch):
                    best_weights = _copies(net.weights)
            best_epoch = int(np.argmax(ndcg_by_epoch)) + 1
            if epochs_done - best_epoch >= params["patience"]:
                break
        report(epochs_done)
    # Without validation no epoch is known to be the best, and the averaged weights count.
    _overwrite(net.weights, best_weights or average.means)
    report(params["epochs"])
    return ndcg_by_epoch


def train_epochs(
    name: str,
    net: SampledNet,
    epochs: int,
    average: AveragedWeights,
    report: Callable[[int], None],
) -> Iterator[int]:
    """Train a network epoch by epoch; gives the number of epochs that are done.

    Args:
        name: The model's id, for messages.
        net: Not yet trained.
        epochs: How many there are at most.
        average: Counts in the weights after each.
        report: Told the number of the epoch, from 0 on, after every batch; it may raise Cancelled.

    Raises:
        RunError: That names the epoch if the loss is not finite.
    """
    for epoch in range(epochs):
        mean_loss = net.train_epoch(after_batch=partial(report, epoch))
        if not math.isfinite(mean_loss):
            raise RunError(
                f"{name} diverged in epoch {epoch + 1} of {epochs}: its loss is not "
                "finite; try a lower learning_rate"
            )
        average.update()
        yield epoch + 1


class AveragedWeights:
    """A running mean of weights over epochs: less noisy, and so better, than the newest ones.

    Source: Polyak & Juditsky (1992); exponential, and without bias towards the first epochs as in
    Adam.
    """

    def __init__(self, weights: list[Tensor], kept_share: float) -> None:
        """Average these weights; an epoch keeps this share of the mean, and 0 averages nothing."""
        self._weights = weights
        self._kept_share = kept_share
        self._epochs = 0
        # Without averaging, `means` are the network's weights themselves, so that they are always
        # the newest ones.
        self.means = weights
        if kept_share:
            self.means = _copies(weights)

    def update(self) -> None:
        """Count in the weights as they are now."""
        self._epochs += 1
        if self._kept_share:
            # The newest weights have this share in an exponential mean of so many epochs. It begins
            # with 1, so that the first weights do not count too much (as in Adam).
            newest_share = (1 - self._kept_share) / (1 - self._kept_share**self._epochs)
            for mean, weight in zip(self.means, self._weights, strict=True):
                mean.lerp_(weight.detach(), newest_share)

    @contextmanager
    def replacing_weights(self) -> Iterator[None]:
        """Put the mean into the weights for a while."""
        newest_weights = _copies(self._weights)
        try:
            _overwrite(self._weights, self.means)
            yield
        finally:
            _overwrite(self._weights, newest_weights)


def _copies(weights: Sequence[Tensor]) -> list[Tensor]:
    return [weight.detach().clone() for weight in weights]


def _overwrite(weights: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Overwrite weights with values of the same shapes."""
    for weight, value in zip(weights, values, strict=True):
        weight.detach().copy_(value)


# One training run for configurations that differ in their number of epochs.


def _fit_shared(
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
    # The models differ only in their numbers of epochs, so the first one stands for all.
    name = models[0].name
    epochs_of_models = [model.params["epochs"] for model in models]
    most_epochs = max(epochs_of_models)
    net = models[0].untrained_net(train, seed, history)

    def report(epoch: int) -> None:
        progress("fit", epoch, most_epochs)

    def fitted_models() -> Iterator[tuple[int, Fitted]]:
        average = AveragedWeights(net.weights, models[0].params["averaging"])
        for epochs_done in train_epochs(name, net, most_epochs, average, report):
            report(epochs_done)
            for model_index, epochs in enumerate(epochs_of_models):
                if epochs == epochs_done:
                    with average.replacing_weights():
                        yield model_index, net

    return fitted_models()


SHARED_EPOCHS = Sharing(
    parameters=frozenset({"epochs"}),
    fit=_fit_shared,
    continues_from_previous=True,
    # With early stopping a configuration may end at another epoch.
    possible=lambda params: not params["early_stopping"],
)
"""What algorithms that train by epochs say of their configurations."""
