"""Matrix factorisation for BPR, and how it is trained and scores; loads torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.models.pair_net import PairNet


class BPRNet(PairNet):
    """A user's vector times an item's; items that a user has shall score above those at random."""

    def __init__(
        self,
        train: csr_array,
        *,
        factors: int,
        regularization: float,
        **how: Any,  # noqa: ANN401
    ) -> None:
        self._factors = factors
        self._regularization = regularization
        super().__init__(train, weight_decay=0.0, **how)

    def start(self) -> None:
        self._users = self.normal(self.n_users, self._factors, std=0.1)
        self._items = self.normal(self.n_items, self._factors, std=0.1)
        self._bias = self.normal(self.n_items, 1, std=0.0)

    def weights(self) -> list[torch.Tensor]:
        return [self._users, self._items, self._bias]

    def learn(
        self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor
    ) -> torch.Tensor:
        # By hand: autograd takes several times as long, most of it in batched products.
        with torch.no_grad():
            user = self._users[users]
            slopes = torch.zeros_like(user)
            size = len(users)
            count = negatives.shape[1]
            item = self._items[items]
            own = (user * item).sum(dim=1) + self._bias[items, 0]
            own_slope = torch.zeros_like(own)
            total = torch.zeros((), device=self.device)
            for other in negatives.unbind(dim=1):
                vector = self._items[other]
                lead = own - (user * vector).sum(dim=1) - self._bias[other, 0]
                total -= logsigmoid(lead).sum()
                slope = torch.sigmoid(-lead) / (size * count)
                own_slope -= slope
                slopes.addcmul_(slope[:, None], vector)
                self._add(other, user, vector, slope, 1 / (count + 1))
            slopes.addcmul_(own_slope[:, None], item)
            slopes.add_(user, alpha=2 * self._regularization / size)
            self._add(items, user, item, own_slope, 1 / (count + 1))
            _add_rows(_grad(self._users), users, slopes)
        return total / (size * count)

    def _add(
        self,
        items: torch.Tensor,
        user: torch.Tensor,
        vector: torch.Tensor,
        slope: torch.Tensor,
        share: float,
    ) -> None:
        """Add a batch's slopes by score, and the regularization, to the items' gradients."""
        decay = 2 * self._regularization * share / len(items)
        slopes = torch.addcmul(vector * decay, slope[:, None], user)
        _add_rows(_grad(self._items), items, slopes)
        _add_rows(_grad(self._bias)[:, 0], items, slope + decay * self._bias[items, 0])

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():
            rows = torch.as_tensor(users, device=self.device)
            return torch.addmm(self._bias[:, 0], self._users[rows], self._items.T)


def _grad(weight: torch.Tensor) -> torch.Tensor:
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


def _add_rows(target: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> None:
    """Add values to rows of target, which may repeat; in the same order each time."""
    if target.is_cuda:  # index_add_ adds in any order there, and so would not repeat exactly
        target.index_put_((rows,), values, accumulate=True)
    else:
        target.index_add_(0, rows, values)
