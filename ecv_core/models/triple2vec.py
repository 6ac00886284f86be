"""Triple2vec: vectors of users and items, learnt from pairs of items in a user's baskets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.interactions import Need


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.triple_net import Triple2vecNet

    return NeuralRecommender("triple2vec", Triple2vecNet, params)


TRIPLE2VEC = Algorithm(
    id="triple2vec",
    title="Triple2vec",
    summary=(
        "Learns vectors of users and items from who bought which two items together. For data with "
        "baskets, such as groceries; it needs them."
    ),
    paper="Wan, Wang, Liu, Bennett, McAuley (2018): Representing and recommending shopping baskets",
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        common.negatives(5),
        common.noise_popularity(),
        common.learning_rate(0.02),
        common.batch_size(2048, "Triples of a user and two items per step."),
        common.weight_decay(0.25),
        *common.schedule(10, "all interactions, each with another of its basket", averaging=0.8),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
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
