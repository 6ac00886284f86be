"""NGCF: vectors of users and items, mixed with those around them in the graph by learnt weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.parameters import Parameter


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.graph_net import NGCFNet

    return NeuralRecommender("ngcf", NGCFNet, params)


NGCF = Algorithm(
    id="ngcf",
    title="NGCF",
    summary=(
        "Mixes the vector of each user and item with those of its neighbours in the graph of who "
        "has what, by learnt weights. Slower than LightGCN, which leaves the weights out and ranks "
        "better; take it to compare with work that reports it."
    ),
    paper="Wang, He, Wang, Feng, Chua (2019): Neural graph collaborative filtering",
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        common.layers(1),
        Parameter(
            "dropout",
            0.1,
            "Share of each layer's output that is switched off in training.",
            low=0,
            high=0.99,
            source="Wang et al. (2019)",
        ),
        common.regularization(0.03),
        common.negatives(4),
        common.learning_rate(0.05),
        common.batch_size(4096, "Training pairs per step; the whole graph is mixed at each."),
        *common.schedule(30, "all training pairs", averaging=0.8),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
    # The authors' values for Gowalla.
    paper_default={
        "layers": 3,
        "regularization": 1e-5,
        "negatives": 1,
        "learning_rate": 1e-4,
        "batch_size": 1024,
        "epochs": 400,
        "averaging": 0.0,
        "early_stopping": True,
        "patience": 50,
    },
)
