"""The layers of LightGCN; loads torch."""

from __future__ import annotations

import torch

from ecv_core.models.graph_net import GraphNet


class LightGCNNet(GraphNet):
    """A final vector is the mean of a node's own, its neighbours', their neighbours', and so on."""

    def vectors(
        self, of: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        users, items = self.users, self.items
        user_sum, item_sum = users, items
        for _ in range(self.params["layers"]):
            users, items = self.graph.to_users(items), self.graph.to_items(users)
            user_sum, item_sum = user_sum + users, item_sum + items
        if of is not None:
            user_sum, item_sum = user_sum.index_select(0, of[0]), item_sum.index_select(0, of[1])
        count = self.params["layers"] + 1
        return user_sum / count, item_sum / count
