"""Triple2vec: vectors of users and items, learnt from pairs of items in a user's baskets."""

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
    learning_rate,
    negatives,
    noise_popularity,
    weight_decay,
)
from ecv_core.records import Need, ParamValue


def build(params: Mapping[str, ParamValue]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.triple2vec_net import Triple2vecNet

    return NeuralRecommender(
        "triple2vec",
        lambda train, seed, history: Triple2vecNet(
            train,
            history,
            seed,
            Training.of(params),
            factors=int(params["factors"]),
        ),
        Schedule.of(params),
    )


TRIPLE2VEC = Algorithm(
    id="triple2vec",
    title="Triple2vec",
    summary=(
        "Learns vectors of users and items from who bought which two items together. For data with "
        "baskets, such as groceries; it needs them."
    ),
    paper="Wan, Wang, Liu, Bennett, McAuley (2018): Representing and recommending shopping baskets",
    parameters=(
        factors(64),
        negatives(5, source=SEARCH),
        noise_popularity(),
        learning_rate(0.02),
        batch_size(2048, "Triples of a user and two items per step."),
        weight_decay(0.25),
        *schedule_parameters(
            epochs=epochs(10, over="all interactions, each with another of its basket"),
            averaging=0.8,
        ),
    ),
    build=build,
    sharing=shared_epochs(build),
    needs=Need.BASKETS,
    # Of Beta-RecSys, the library of the study that compares it under several splits.
    paper_default={
        "noise_popularity": 0.75,
        "learning_rate": 0.0005,
        "batch_size": 256,
        "weight_decay": 0.0,
        "epochs": 120,
        "averaging": 0.0,
    },
)
