"""NGCF: vectors of users and items, mixed with those around them in the graph by learnt weights."""

from __future__ import annotations

from collections.abc import Mapping

from ecv_core.models.parameters import Algorithm, Parameter
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
    from ecv_core.models.ngcf_net import NGCFNet

    return NeuralRecommender(
        "ngcf",
        lambda train, seed: NGCFNet(
            train,
            seed,
            Training.of(params),
            factors=int(params["factors"]),
            layers=int(params["layers"]),
            dropout=float(params["dropout"]),
            regularization=float(params["regularization"]),
        ),
        Schedule.of(params),
    )


NGCF = Algorithm(
    id="ngcf",
    title="NGCF",
    summary=(
        "Mixes the vector of each user and item with those of its neighbours in the graph of who "
        "has what, by learnt weights. Slower than LightGCN, which leaves the weights out and ranks "
        "better; take it to compare with work that reports it."
    ),
    paper="Wang, He, Wang, Feng, Chua (2019): Neural graph collaborative filtering",
    parameters=(
        factors(64),
        layers(1),
        Parameter(
            name="dropout",
            default=0.1,
            low=0,
            high=0.99,
            help="Share of each layer's output that is switched off in training.",
            source="Wang et al. (2019)",
        ),
        regularization(0.03),
        negatives(4, source=SEARCH),
        learning_rate(0.05),
        batch_size(4096, "Training pairs per step; the whole graph is mixed at each."),
        *schedule_parameters(epochs=epochs(30, over="all training pairs"), averaging=0.8),
    ),
    build=build,
    sharing=shared_epochs(build),
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
