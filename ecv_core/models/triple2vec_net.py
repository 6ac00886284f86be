"""The vectors of Triple2vec; loads torch."""

from __future__ import annotations

import torch
from torch.nn.functional import embedding

from ecv_core.models.triple_net import TripleNet


class Triple2vecNet(TripleNet):
    """One vector per user and two per item: as the first and as the second of a pair."""

    def start(self) -> None:
        super().start()
        factors = self.params["factors"]
        self._users = self.normal(self.n_users, factors, std=0.1)
        self._firsts = self.normal(self.n_items, factors, std=0.1)
        self._seconds = self.normal(self.n_items, factors, std=0.1)

    def weights(self) -> list[torch.Tensor]:
        return [self._users, self._firsts, self._seconds, *self.biases()]

    def vectors(
        self, users: torch.Tensor, firsts: torch.Tensor, seconds: torch.Tensor
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        tables = (users, self._users), (firsts, self._firsts), (seconds, self._seconds)
        return [embedding(*table) for table in tables], torch.zeros((), device=self.device)

    def final(self, users: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self._users[users], self._firsts + self._seconds
