"""Matrix factorisation for BPR, and how it is trained and scores; loads torch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ecv_core.models.bpr_loss import Vectors, bpr, gradient
from ecv_core.models.pair_net import PairNet


class BPRNet(PairNet):
    """A user's vector times an item's; items that a user has shall score above those at random."""

    def start(self) -> None:
        self._users = self.normal(self.n_users, self.params["factors"], std=0.1)
        self._items = self.normal(self.n_items, self.params["factors"], std=0.1)
        self._bias = self.normal(self.n_items, 1, std=0.0)

    def weights(self) -> list[torch.Tensor]:
        return [self._users, self._items, self._bias]

    def learn(
        self, users: torch.Tensor, items: torch.Tensor, negatives: torch.Tensor
    ) -> torch.Tensor:
        return bpr(
            Vectors(values=self._users, slopes=gradient(self._users)),
            Vectors(
                values=self._items,
                slopes=gradient(self._items),
                bias=self._bias[:, 0],
                bias_slopes=gradient(self._bias)[:, 0],
            ),
            (users, items, negatives),
            decay=2 * self.params["regularization"],
        )

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        with torch.no_grad():
            rows = torch.as_tensor(users, device=self.device)
            return torch.addmm(self._bias[:, 0], self._users[rows], self._items.T)
