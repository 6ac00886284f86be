"""NeuMF: a neural network on pairs of users and items, beside a weighted product of factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.parameters import Parameter


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.neu_mf_net import NeuMFNet

    return NeuralRecommender("neu-mf", NeuMFNet, params)


_PAPER = "He et al. (2017)"

NEU_MF = Algorithm(
    id="neu-mf",
    title="NeuMF",
    summary=(
        "Learns a vector for each user and item, and a small network that says how well they fit. "
        "The most expensive model here for what it scores; take it to compare with work that "
        "reports it, and to see what a deep model costs."
    ),
    paper="He, Liao, Zhang, Nie, Hu, Chua (2017): Neural collaborative filtering",
    parameters=with_source(
        common.SEARCH,
        Parameter(
            "factors", 32, "Length of the vectors; each user and item has two.", low=1, high=1024
        ),
        Parameter(
            "hidden",
            64,
            "Width of the perceptron's first layer; its second is half as wide.",
            low=2,
            high=4096,
        ),
        Parameter(
            "dropout",
            0.0,
            "Share of the first layer that is switched off in training.",
            low=0,
            high=0.99,
        ),
        common.negatives(4, source=_PAPER),
        common.learning_rate(0.005),
        common.batch_size(1024, "Training pairs per step, not counting negatives."),
        common.weight_decay(0.3),
        *common.schedule(10, "all training pairs", averaging=0.7),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
    log_odds=True,  # it learns a binary cross-entropy
    # Network as RecBole builds it, trained as He et al. publish it: their own network is smaller.
    paper_default_title="near RecBole's default",
    paper_default={
        "factors": 64,
        "hidden": 128,
        "learning_rate": 0.001,
        "batch_size": 256,
        "weight_decay": 0.0,
        "epochs": 20,
        "averaging": 0.0,
        "early_stopping": False,
    },
)
