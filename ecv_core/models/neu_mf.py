"""NeuMF: a neural network on pairs of users and items, beside a weighted product of factors."""

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
    learning_rate,
    negatives,
    weight_decay,
)
from ecv_core.records import ParamValue


def build(params: Mapping[str, ParamValue]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.neu_mf_net import NeuMFNet, Settings

    settings = Settings(
        factors=int(params["factors"]),
        hidden=int(params["hidden"]),
        dropout=float(params["dropout"]),
    )
    return NeuralRecommender(
        "neu-mf",
        lambda train, seed: NeuMFNet(
            train,
            settings,
            seed,
            Training.of(params),
        ),
        Schedule.of(params),
    )


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
    parameters=(
        Parameter(
            name="factors",
            default=32,
            low=1,
            high=1024,
            help="Length of the vectors; each user and item has two.",
            source=SEARCH,
        ),
        Parameter(
            name="hidden",
            default=64,
            low=2,
            high=4096,
            help="Width of the perceptron's first layer; its second is half as wide.",
            source=SEARCH,
        ),
        Parameter(
            name="dropout",
            default=0.0,
            low=0,
            high=0.99,
            help="Share of the first layer that is switched off in training.",
            source=SEARCH,
        ),
        negatives(4, source=_PAPER),
        learning_rate(0.005),
        batch_size(1024, "Training pairs per step, not counting negatives."),
        weight_decay(0.3),
        *schedule_parameters(
            epochs=epochs(10, over="all training pairs"),
            averaging=0.7,
        ),
    ),
    build=build,
    sharing=shared_epochs(build),
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
