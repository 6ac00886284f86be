"""LightGCN: vectors of users and items, averaged with those around them in the graph."""

from __future__ import annotations

from collections.abc import Mapping

from ecv_core.models.parameters import Algorithm
from ecv_core.models.shared_epochs import shared_epochs
from ecv_core.models.training import NeuralRecommender, Schedule, schedule_parameters
from ecv_core.models.training_parameters import (
    SEARCH,
    Training,
    batch_size,
    epochs,
    factors,
    layers,
    learning_rate,
    negatives,
    regularization,
)
from ecv_core.records import ParamValue


def build(params: Mapping[str, ParamValue]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.light_gcn_net import LightGCNNet

    return NeuralRecommender(
        "light-gcn",
        lambda train, seed: LightGCNNet(
            train,
            seed,
            Training.of(params),
            factors=int(params["factors"]),
            layers=int(params["layers"]),
            regularization=float(params["regularization"]),
        ),
        Schedule.of(params),
    )


LIGHT_GCN = Algorithm(
    id="light-gcn",
    title="LightGCN",
    summary=(
        "Gives users and items vectors, and averages each with those of its neighbours in the "
        "graph of who has what. The graph network that most studies compare with today; seconds "
        "to minutes on a processor."
    ),
    paper="He, Deng, Wang, Li, Zhang, Wang (2020): LightGCN",
    parameters=(
        factors(64),
        layers(2),
        regularization(0.005),
        negatives(4, source=SEARCH),
        learning_rate(0.05),
        batch_size(8192, "Training pairs per step; the whole graph is averaged at each."),
        *schedule_parameters(epochs=epochs(30, over="all training pairs"), averaging=0.8),
    ),
    build=build,
    sharing=shared_epochs(build),
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
