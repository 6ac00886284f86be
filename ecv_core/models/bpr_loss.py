"""The loss of BPR for a batch, and its slopes by vector; loads torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import logsigmoid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vectors:
    """Vectors of all users or of all items, and where their slopes are added up."""

    values: torch.Tensor
    """Shape (rows, factors)."""
    slopes: torch.Tensor
    """Of the same shape."""
    bias: torch.Tensor | None = None
    """Added to each row's scores; shape (rows,)."""
    bias_slopes: torch.Tensor | None = None

    def add(self, rows: torch.Tensor, slopes: torch.Tensor) -> None:
        """Add to the slopes of rows, which may repeat."""
        _add_rows(self.slopes, rows, slopes)


def gradient(weight: torch.Tensor) -> torch.Tensor:
    """Where an optimizer looks for a weight's slopes; zeros if there were none."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


def bpr(
    users: Vectors,
    items: Vectors,
    batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    decay: float = 0.0,
) -> torch.Tensor:
    """Mean of -log sigmoid(score of an owned item - score of another); adds up its slopes.

    By hand: autograd takes several times as long, most of it in batched products.

    Args:
        users: of all users; without a bias, which would cancel out.
        items: of all items.
        batch: users, shape (batch,), an item that each has, shape (batch,), and some that each has
            not, shape (batch, negatives).
        decay: weight of half the squared length of the vectors in the batch, in the slopes only;
            the items of a user share it.
    Returns: the loss, a scalar.
    """
    with torch.no_grad():
        rows, own_rows, other_rows = batch
        size, count = other_rows.shape
        share = decay / size / (count + 1)
        user, item = users.values[rows], items.values[own_rows]
        slopes = torch.zeros_like(user)
        own = _scores(items, user, item, own_rows)
        own_slope = torch.zeros_like(own)
        total = torch.zeros((), device=user.device)
        for other in other_rows.unbind(dim=1):
            vector = items.values[other]
            lead = own - _scores(items, user, vector, other)
            total -= logsigmoid(lead).sum()
            slope = torch.sigmoid(-lead) / (size * count)
            own_slope -= slope
            slopes.addcmul_(slope[:, None], vector)
            _add_items(items, other, user, vector, slope, share)
        slopes.addcmul_(own_slope[:, None], item)
        if decay:
            slopes.add_(user, alpha=decay / size)
        _add_items(items, own_rows, user, item, own_slope, share)
        users.add(rows, slopes)
    return total / (size * count)


def _scores(
    items: Vectors, user: torch.Tensor, vector: torch.Tensor, rows: torch.Tensor
) -> torch.Tensor:
    scores = (user * vector).sum(dim=1)
    return scores if items.bias is None else scores + items.bias[rows]


def _add_items(
    items: Vectors,
    rows: torch.Tensor,
    user: torch.Tensor,
    vector: torch.Tensor,
    slope: torch.Tensor,
    decay: float,
) -> None:
    """Add a batch's slopes by score, and the decay, to the items' slopes."""
    slopes = slope[:, None] * user
    items.add(rows, slopes.add_(vector, alpha=decay) if decay else slopes)
    if items.bias is not None and items.bias_slopes is not None:
        _add_rows(items.bias_slopes, rows, slope + decay * items.bias[rows])


def _add_rows(target: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> None:
    """Add values to rows of target, which may repeat; in the same order each time."""
    if target.is_cuda:  # index_add_ adds in any order there, and so would not repeat exactly
        target.index_put_((rows,), values, accumulate=True)
    else:
        target.index_add_(0, rows, values)
