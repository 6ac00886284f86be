"""The network of MultiVAE, and how it is trained and scores; loads torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import embedding

from ecv_core.models.device import BinaryMatrix, low_precision
from ecv_core.models.sampled_net import BatchLoss, Layer, SampledNet, kl_divergences
from ecv_core.records.arrays import Indices
from ecv_core.records.interactions import History

MULTIPLICATIONS_WORTH_THREADS = 150_000_000
"""Multiplications of the last layer in a step from which threads on several cores are quicker."""


class _LogLikelihood(torch.autograd.Function):
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
        row_sizes: Tensor,
    ) -> Tensor:
        """Sum of the log-probabilities of entries (rows, columns); `row_sizes` of them in each row.

        The log-probability of an entry is its logit less the row's log of the sum of exp(logits).
        """
        log_sums = torch.logsumexp(logits, dim=1)
        ctx.save_for_backward(logits, log_sums, rows, columns, row_sizes)
        return logits[rows, columns].sum() - (log_sums * row_sizes).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # noqa: ANN401
        """1 at each entry, less the row's probabilities times its number of entries."""
        logits, log_sums, rows, columns, row_sizes = ctx.saved_tensors
        # An entry's log-probability is its logit minus the log of a sum over its row. The gradient
        # of the first is 1, and that of the second are the probabilities of the row, which count
        # once for each entry of the row.
        probabilities = torch.sub(logits, log_sums[:, None]).exp_()
        logit_gradients = probabilities.mul_((-row_sizes * grad)[:, None])
        logit_gradients[rows, columns] += grad
        return logit_gradients, None, None, None


class MultiVAENet(SampledNet):
    """Users' items -> hidden -> latent -> hidden -> a multinomial over all items; tanh between.

    The first layer sums the weights of a user's items, instead of a product with a row that is
    mostly zeros.
    """

    def keep_training_data(self, train: csr_array, history: History | None) -> None:
        self._input = BinaryMatrix.from_csr(train, self.device)

    def make_weights(self) -> None:
        hidden = self.params["hidden"]
        latent = self.params["latent"]
        self._sampled_count = int(self.params.get("sampled_items", 0))
        # This sets `with_one_thread`, and `_multiplications` for `_loss`.
        self._decide_on_threads()
        self._epoch = 0
        self._input_layer = Layer(self._weight(self.n_items, hidden), self._bias(hidden))
        # Mean and variance come from one product, yet each is drawn as a layer of `latent` outputs.
        latent_std = math.sqrt(2 / (hidden + latent))
        latent_weight = self.add_normal_weight(hidden, 2 * latent, std=latent_std)
        self._latent_layer = Layer(latent_weight, self._bias(2 * latent))
        self._decoder_layer = Layer(self._weight(latent, hidden), self._bias(hidden))
        if self._sampled_count:
            # A row for each item, so that a step can change the rows of its items alone.
            output_weight = self._weight(self.n_items, hidden)
            output_bias = self.add_normal_weight(self.n_items, 1, std=0.0)
        else:
            output_weight = self._weight(hidden, self.n_items)
            output_bias = self._bias(self.n_items)
        self._output_layer = Layer(output_weight, output_bias)

    def _decide_on_threads(self) -> None:
        """Count the multiplications of a step, and set whether one thread is enough for them."""
        users_per_step = self.params["batch_size"]
        items_per_step = self.n_items
        # On a sample of the items, a step has those that are drawn, and about as many of the
        # batch's own.
        if self._sampled_count:
            items_per_step = min(self.n_items, 2 * self._sampled_count)
        # Those of the output layer alone, which takes by far the most of the time of a step.
        self._multiplications = users_per_step * self.params["hidden"] * items_per_step
        self.with_one_thread = self._multiplications < MULTIPLICATIONS_WORTH_THREADS

    def _weight(self, inputs: int, outputs: int) -> Tensor:
        return self.add_normal_weight(inputs, outputs, std=math.sqrt(2 / (inputs + outputs)))

    def _bias(self, outputs: int) -> Tensor:
        return self.add_weight(torch.zeros(outputs, device=self.device))

    def sparse_weights(self) -> list[Tensor]:
        if not self._sampled_count:
            return []
        return [self._input_layer.weight, *self._output_layer]

    def backpropagated_batches(self) -> Iterator[BatchLoss]:
        order = torch.randperm(self.n_users, generator=self.random, device=self.device)
        self._epoch += 1
        anneal_epochs = max(1, self.params["anneal_epochs"])
        kl_weight = self.params["kl_weight"] * min(1.0, self._epoch / anneal_epochs)
        for batch in self._input.take_rows(order).batches(self.params["batch_size"]):
            loss = self._loss(batch, kl_weight)
            torch.autograd.backward(loss)
            yield BatchLoss(loss.detach(), len(batch.row_sizes))

    def _loss(self, batch: BinaryMatrix, kl_weight: float) -> Tensor:
        """The negative evidence lower bound of a batch, a mean over its users; a scalar.

        Args:
            batch: Users' items.
            kl_weight: The weight of the divergence of the latent distributions from the standard
                normal one.
        """
        dropout_weights = self.dropout_weights(len(batch.columns))
        with low_precision(self.device, multiplications=self._multiplications):
            mean, log_variance = self._latent_distributions(batch, dropout_weights)
            latent = self.sample_normal(mean, log_variance)
            logits, columns = self._training_logits(latent, batch.columns)
        log_likelihood: Tensor = _LogLikelihood.apply(  # type: ignore[no-untyped-call]
            logits.float(), batch.row_of_entry, columns, batch.row_sizes
        )
        divergence = kl_divergences(mean.float(), log_variance.float()).sum()
        return (kl_weight * divergence - log_likelihood) / len(batch.row_sizes)

    def _training_logits(self, latent: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all items, or of those in the batch and some of the others, drawn alike.

        Each drawn item stands for as many as were not drawn: its share of the sum over all items
        is multiplied by so much, which makes that sum right in expectation.

        Returns:
            Shape (users, items or fewer), and where in it each of the batch's entries is.
        """
        if not self._sampled_count:
            return self._item_logits(latent), columns
        batch_items, item_indices = torch.unique(columns, return_inverse=True)
        is_other_item = torch.ones(self.n_items, device=self.device)
        is_other_item.index_fill_(0, batch_items.long(), 0)
        other_items = is_other_item.nonzero()[:, 0]
        order = torch.randperm(len(other_items), generator=self.random, device=self.device)
        drawn_items = other_items[order[: self._sampled_count]]
        items = torch.cat((batch_items, drawn_items))
        weight = embedding(items, self._output_layer.weight, sparse=True)
        bias = embedding(items, self._output_layer.bias, sparse=True)[:, 0]
        # A drawn item stands for several of the others: a logit with the logarithm of their number
        # added counts in the softmax as so many equal ones.
        log_counts = torch.zeros(len(items), device=self.device)
        items_per_draw = max(len(other_items), 1) / max(len(drawn_items), 1)
        log_counts[len(batch_items) :] = math.log(items_per_draw)
        logits = torch.addmm(bias + log_counts, self._decoder_hidden(latent), weight.T)
        return logits, item_indices

    def _latent_distributions(
        self, batch: BinaryMatrix, dropout_weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of users' latent vectors; (users, latent) each."""
        # Each row of ones is scaled to the length 1, as in the paper.
        scale_of_row = batch.row_sizes.clamp(min=1).rsqrt()
        entry_weights = scale_of_row[batch.row_of_entry]
        if dropout_weights is not None:
            entry_weights = entry_weights * dropout_weights
        # If the output layer is trained on a sample of the items, its gradients are sparse. Then
        # those of the input layer are sparse too.
        item_sums = batch.times(
            self._input_layer.weight, entry_weights, sparse=bool(self._sampled_count)
        )
        hidden = torch.tanh(item_sums + self._input_layer.bias)
        mean, log_variance = self._latent_layer.apply(hidden).chunk(2, dim=1)
        return mean, log_variance

    def _item_logits(self, latent: Tensor) -> Tensor:
        """Logits of all items; shape (users, items)."""
        layer = self._output_layer
        if self._sampled_count:  # then it has a row for each item
            layer = Layer(layer.weight.T, layer.bias[:, 0])
        return layer.apply(self._decoder_hidden(latent))

    def _decoder_hidden(self, latent: Tensor) -> Tensor:
        return torch.tanh(self._decoder_layer.apply(latent))

    def use_rows_of(self, train: csr_array) -> None:
        self.keep_training_data(train, None)

    def score(self, users: Indices) -> Tensor:
        with torch.no_grad():  # Scores are in float32, as lower precision would make ties.
            mean, _ = self._latent_distributions(self._input.take_rows(users))
            return self._item_logits(mean)
