"""The network of MultiVAE, and how it is trained and scores; loads torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.device import Rows, best_device, low_precision, one_thread

SHARED_WORK = 150_000_000
"""Multiplications of the last layer in a step from which it is shared by the cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The network and how it learns; see the parameters in `multi_vae.py`."""

    hidden: int
    latent: int
    dropout: float
    kl_weight: float
    anneal_epochs: int
    learning_rate: float
    batch_size: int
    weight_decay: float


class _Multinomial(torch.autograd.Function):
    """Log-likelihood of some entries of a softmax over each row, summed.

    Two passes over the logits where log_softmax and indexing take five: most of the time of a step
    on many items is spent here.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  torch's own
        logits: torch.Tensor,
        rows: torch.Tensor,
        columns: torch.Tensor,
        sizes: torch.Tensor,
    ) -> torch.Tensor:
        """Sum of the log-probabilities of entries (rows, columns); `sizes` of them in each row."""
        log_sums = torch.logsumexp(logits, dim=1)
        ctx.save_for_backward(logits, log_sums, rows, columns, sizes)
        return logits[rows, columns].sum() - (log_sums * sizes).sum()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:  # noqa: ANN401
        """1 at each entry, less the row's probabilities times its number of entries."""
        logits, log_sums, rows, columns, sizes = ctx.saved_tensors
        slope = torch.sub(logits, log_sums[:, None]).exp_()
        slope.mul_((-sizes * grad)[:, None])
        slope[rows, columns] += grad
        return slope, None, None, None


class MultiVAENet:
    """Users' items -> hidden -> latent -> hidden -> a multinomial over all items; tanh between.

    The first layer sums the weights of a user's items, instead of a product with a row that is
    mostly zeros.
    """

    def __init__(self, settings: Settings, train: csr_array, seed: int) -> None:
        self._settings = settings
        self._device = best_device()
        self._input = Rows.of(train, self._device)
        self._random = torch.Generator(self._device).manual_seed(seed)
        self._items = train.shape[1]
        self._work = settings.batch_size * settings.hidden * self._items
        self._epoch = 0
        hidden, latent = settings.hidden, settings.latent
        self._into = self._layer(self._items, hidden), self._bias(hidden)
        self._encode = self._layer(hidden, 2 * latent, fans=hidden + latent), self._bias(2 * latent)
        self._decode = self._layer(latent, hidden), self._bias(hidden)
        self._out = self._layer(hidden, self._items), self._bias(self._items)
        self._optimizer = torch.optim.AdamW(
            self.weights(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def _layer(self, inputs: int, outputs: int, fans: int | None = None) -> torch.Tensor:
        weight = torch.empty((inputs, outputs), device=self._device)
        weight.normal_(0.0, math.sqrt(2 / (fans or inputs + outputs)), generator=self._random)
        return weight.requires_grad_()

    def _bias(self, outputs: int) -> torch.Tensor:
        return torch.zeros(outputs, device=self._device, requires_grad=True)

    def weights(self) -> list[torch.Tensor]:
        return [*self._into, *self._encode, *self._decode, *self._out]

    def epoch(self, between: Callable[[], None]) -> float:
        users = len(self._input.starts) - 1
        order = torch.randperm(users, generator=self._random, device=self._device)
        total = torch.zeros((), device=self._device)
        settings = self._settings
        ramp = max(1, settings.anneal_epochs)
        kl_weight = settings.kl_weight * min(1.0, (self._epoch + 1) / ramp)
        with one_thread(when=self._work < SHARED_WORK):
            for batch in self._input.take(order).batches(settings.batch_size):
                loss = self._loss(batch, kl_weight)
                self._optimizer.zero_grad()
                torch.autograd.backward(loss)
                self._optimizer.step()
                total += loss.detach() * (len(batch.starts) - 1)
                between()
        self._epoch += 1
        return float(total) / users

    def _loss(self, batch: Rows, kl_weight: float) -> torch.Tensor:
        kept = torch.rand(len(batch.columns), generator=self._random, device=self._device)
        kept = (kept >= self._settings.dropout) / (1 - self._settings.dropout)
        with low_precision(self._device, largest=self._work):
            mean, log_variance = self._encoded(batch, kept)
            noise = torch.empty_like(mean).normal_(generator=self._random)
            logits = self._decoded(mean + noise * torch.exp(log_variance / 2))
        likelihood: torch.Tensor = _Multinomial.apply(  # type: ignore[no-untyped-call]
            logits.float(), batch.owners, batch.columns, batch.sizes
        )
        mean, log_variance = mean.float(), log_variance.float()
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
        return (kl_weight * kl - likelihood) / (len(batch.starts) - 1)

    def _encoded(
        self, batch: Rows, weights: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        sizes = batch.sizes
        scale = sizes.clamp(min=1).rsqrt().repeat_interleave(sizes, output_size=len(batch.columns))
        summed = torch.nn.functional.embedding_bag(
            batch.columns,
            self._into[0],
            batch.starts,
            mode="sum",
            include_last_offset=True,
            per_sample_weights=scale if weights is None else scale * weights,
        )
        hidden = torch.tanh(summed + self._into[1])
        mean, log_variance = torch.addmm(self._encode[1], hidden, self._encode[0]).chunk(2, dim=1)
        return mean, log_variance

    def _decoded(self, latent: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(torch.addmm(self._decode[1], latent, self._decode[0]))
        return torch.addmm(self._out[1], hidden, self._out[0])

    def see(self, train: csr_array) -> None:
        self._input = Rows.of(train, self._device)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():  # in float32: lower precision would make ties
            return self._decoded(self._encoded(self._input.take(users))[0])
