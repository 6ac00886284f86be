"""The network of MultiVAE, and how it is trained and scores; loads torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import embedding

from ecv_core.models.base import Indices
from ecv_core.models.device import Rows, low_precision
from ecv_core.models.sampled_net import SampledNet, divergence_parts
from ecv_core.records.interactions import History

SHARED_WORK = 150_000_000
"""Multiplications of the last layer in a step from which it is shared by the cores."""


class _Multinomial(torch.autograd.Function):
    """Log-likelihood of some entries of a softmax over each row, summed.

    Two passes over the logits where log_softmax and indexing take five: most of the time of a step
    on many items is spent here.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  torch's own
        logits: Tensor,
        rows: Tensor,
        columns: Tensor,
        sizes: Tensor,
    ) -> Tensor:
        """Sum of the log-probabilities of entries (rows, columns); `sizes` of them in each row."""
        log_sums = torch.logsumexp(logits, dim=1)
        ctx.save_for_backward(logits, log_sums, rows, columns, sizes)
        return logits[rows, columns].sum() - (log_sums * sizes).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # noqa: ANN401
        """1 at each entry, less the row's probabilities times its number of entries."""
        logits, log_sums, rows, columns, sizes = ctx.saved_tensors
        slope = torch.sub(logits, log_sums[:, None]).exp_()
        slope.mul_((-sizes * grad)[:, None])
        slope[rows, columns] += grad
        return slope, None, None, None


class Layer(NamedTuple):
    """The weights of a layer."""

    weight: Tensor
    bias: Tensor


class MultiVAENet(SampledNet):
    """Users' items -> hidden -> latent -> hidden -> a multinomial over all items; tanh between.

    The first layer sums the weights of a user's items, instead of a product with a row that is
    mostly zeros.
    """

    def hold(self, train: csr_array, history: History | None) -> None:
        self._input = Rows.of(train, self.device)

    def start(self) -> None:
        hidden = self.params["hidden"]
        latent = self.params["latent"]
        self._sampled = int(self.params.get("sampled_items", 0))
        width = self.n_items
        if self._sampled:  # the drawn items, and about as many of the batch's own
            width = min(width, 2 * self._sampled)
        self._work = self.params["batch_size"] * hidden * width
        self.small_steps = self._work < SHARED_WORK
        self._epoch = 0
        self._into = Layer(self._weight(self.n_items, hidden), self._bias(hidden))
        # Mean and variance come from one product, yet each is a layer of its own.
        spread = math.sqrt(2 / (hidden + latent))
        encode = self.normal(hidden, 2 * latent, std=spread)
        self._encode = Layer(encode, self._bias(2 * latent))
        self._decode = Layer(self._weight(latent, hidden), self._bias(hidden))
        if self._sampled:  # a row for each item, and its bias
            out = self._weight(self.n_items, hidden)
            self._out = Layer(out, self.normal(self.n_items, 1, std=0.0))
        else:
            self._out = Layer(self._weight(hidden, self.n_items), self._bias(self.n_items))

    def _weight(self, inputs: int, outputs: int) -> Tensor:
        return self.normal(inputs, outputs, std=math.sqrt(2 / (inputs + outputs)))

    def _bias(self, outputs: int) -> Tensor:
        return self.trained(torch.zeros(outputs, device=self.device))

    def tables(self) -> list[Tensor]:
        if not self._sampled:
            return []
        return [self._into.weight, self._out.weight, self._out.bias]

    def steps(self) -> Iterator[tuple[Tensor, int]]:
        order = torch.randperm(self.n_users, generator=self.random, device=self.device)
        self._epoch += 1
        ramp = max(1, self.params["anneal_epochs"])
        kl_weight = self.params["kl_weight"] * min(1.0, self._epoch / ramp)
        for batch in self._input.take(order).batches(self.params["batch_size"]):
            loss = self._loss(batch, kl_weight)
            torch.autograd.backward(loss)
            yield loss.detach(), len(batch.starts) - 1

    def _loss(self, batch: Rows, kl_weight: float) -> Tensor:
        """The negative evidence lower bound of a batch, a mean over its users; a scalar.

        Args:
            batch: users' items.
            kl_weight: of the divergence of the latent distributions from the standard normal one.
        """
        dropout_weights = self.dropout_weights(len(batch.columns))
        with low_precision(self.device, largest=self._work):
            mean, log_variance = self._encoded(batch, dropout_weights)
            latent = self.drawn_from(mean, log_variance)
            logits, columns = self._training_logits(latent, batch.columns)
        log_likelihood: Tensor = _Multinomial.apply(  # type: ignore[no-untyped-call]
            logits.float(), batch.owners, columns, batch.sizes
        )
        divergence = 0.5 * divergence_parts(mean.float(), log_variance.float()).sum()
        user_count = len(batch.starts) - 1
        return (kl_weight * divergence - log_likelihood) / user_count

    def _training_logits(self, latent: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all items, or of those in the batch and some of the others, drawn alike.

        Each drawn item stands for as many as were not drawn: its share of the sum over all items
        is multiplied by so much, which makes that sum right in expectation.

        Returns: shape (users, items or fewer), and where in it each of the batch's entries is.
        """
        if not self._sampled:
            return self._decoded(latent), columns
        own, places = torch.unique(columns, return_inverse=True)
        is_other = torch.ones(self.n_items, device=self.device).index_fill_(0, own.long(), 0)
        others = is_other.nonzero()[:, 0]
        order = torch.randperm(len(others), generator=self.random, device=self.device)
        drawn = others[order[: self._sampled]]
        items = torch.cat((own, drawn))
        weight = embedding(items, self._out.weight, sparse=True)
        bias = embedding(items, self._out.bias, sparse=True)[:, 0]
        # Each drawn item stands for as many of the others as were not drawn.
        log_counts = torch.zeros(len(items), device=self.device)
        log_counts[len(own) :] = math.log(max(len(others), 1) / max(len(drawn), 1))
        return torch.addmm(bias + log_counts, self._hidden(latent), weight.T), places

    def _encoded(self, batch: Rows, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        sizes = batch.sizes
        # Each row of ones is scaled to the length 1, as in the paper.
        scale = sizes.clamp(min=1).rsqrt().repeat_interleave(sizes, output_size=len(batch.columns))
        if weights is not None:
            scale = scale * weights
        summed = batch.sums(self._into.weight, scale, sparse=bool(self._sampled))
        hidden = torch.tanh(summed + self._into.bias)
        mean_and_log_variance = torch.addmm(self._encode.bias, hidden, self._encode.weight)
        mean, log_variance = mean_and_log_variance.chunk(2, dim=1)
        return mean, log_variance

    def _decoded(self, latent: Tensor) -> Tensor:
        """Logits of all items; shape (users, items)."""
        weight = self._out.weight
        bias = self._out.bias
        if self._sampled:  # then the weights lie as a row for each item
            weight = weight.T
            bias = bias[:, 0]
        return torch.addmm(bias, self._hidden(latent), weight)

    def _hidden(self, latent: Tensor) -> Tensor:
        return torch.tanh(torch.addmm(self._decode.bias, latent, self._decode.weight))

    def use_rows_of(self, train: csr_array) -> None:
        self.hold(train, None)

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():  # in float32: lower precision would make ties
            mean, _ = self._encoded(self._input.take(users))
            return self._decoded(mean)
