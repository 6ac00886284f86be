"""VBCAR: Triple2vec with distributions instead of vectors, from a small network."""

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
    learning_rate,
    negatives,
    noise_popularity,
    weight_decay,
)
from ecv_core.records import Need, ParamValue


def build(params: Mapping[str, ParamValue]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.vbcar_net import VBCARNet

    return NeuralRecommender(
        "vbcar",
        lambda train, seed, history: VBCARNet(
            train,
            history,
            seed,
            Training.of(params),
            factors=int(params["factors"]),
            hidden=int(params["hidden"]),
            kl_weight=float(params["kl_weight"]),
        ),
        Schedule.of(params),
    )


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
    parameters=(
        factors(64),
        Parameter(
            name="hidden",
            default=128,
            low=1,
            high=8192,
            help="Width of the layer between a user or item and its distribution.",
            source=SEARCH,
        ),
        Parameter(
            name="kl_weight",
            default=0.01,
            low=0,
            high=10,
            help="Weight of the KL term (alpha): more pulls what is seldom seen to the average.",
            source=SEARCH,
        ),
        negatives(5, source=SEARCH),
        noise_popularity(),
        learning_rate(0.01),
        batch_size(2048, "Triples of a user and two items per step."),
        weight_decay(0.0),
        *schedule_parameters(
            epochs=epochs(8, over="all interactions, each with another of its basket"),
            averaging=0.8,
        ),
    ),
    build=build,
    sharing=shared_epochs(build),
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
