"""LightGCN: vectors of users and items, averaged with those around them in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.graph_net import LightGCNNet

    return NeuralRecommender("light-gcn", LightGCNNet, params)


LIGHT_GCN = Algorithm(
    id="light-gcn",
    title="LightGCN",
    summary=(
        "Gives users and items vectors, and averages each with those of its neighbours in the "
        "graph of who has what. The graph network that most studies compare with today; seconds "
        "to minutes on a processor."
    ),
    paper="He, Deng, Wang, Li, Zhang, Wang (2020): LightGCN",
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        common.layers(2),
        common.regularization(0.005),
        common.negatives(4),
        common.learning_rate(0.05),
        common.batch_size(8192, "Training pairs per step; the whole graph is averaged at each."),
        *common.schedule(30, "all training pairs", averaging=0.8),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
    paper_default={
        "layers": 3,
        "regularization": 1e-4,
        "negatives": 1,
        "learning_rate": 0.001,
        "batch_size": 2048,
        "epochs": 1000,
        "averaging": 0.0,
    },
)
