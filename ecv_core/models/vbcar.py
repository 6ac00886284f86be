"""VBCAR: Triple2vec with distributions instead of vectors, from a small network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.triple_net import VBCARNet

    return NeuralRecommender("vbcar", VBCARNet, params)


VBCAR = Algorithm(
    id="vbcar",
    title="VBCAR",
    summary=(
        "Learns, from who bought which two items together, how sure it can be of the vector of "
        "each user and item. For data with baskets, such as groceries; it needs them."
    ),
    paper=(
        "Meng, McCreadie, Macdonald, Ounis (2019): Variational Bayesian context-aware "
        "representation for grocery recommendation"
    ),
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        Parameter(
            "hidden",
            128,
            "Width of the layer between a user or item and its distribution.",
            low=1,
            high=8192,
        ),
        Parameter(
            "kl_weight",
            0.01,
            "Weight of the KL term (alpha): more pulls what is seldom seen to the average.",
            low=0,
            high=10,
        ),
        common.negatives(5),
        common.noise_popularity(),
        common.learning_rate(0.01),
        common.batch_size(2048, "Triples of a user and two items per step."),
        common.weight_decay(0.0),
        *common.schedule(8, "all interactions, each with another of its basket", averaging=0.8),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
    needs=Need.BASKETS,
    # Of Beta-RecSys, the authors' library.
    paper_default={
        "hidden": 256,
        "kl_weight": 0.001,
        "noise_popularity": 0.75,
        "learning_rate": 0.0005,
        "batch_size": 256,
        "epochs": 120,
        "averaging": 0.0,
    },
)
