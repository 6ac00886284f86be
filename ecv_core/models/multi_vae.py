"""MultiVAE: a variational autoencoder of users' items with a multinomial likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.parameters import Parameter


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.multi_vae_net import MultiVAENet

    return NeuralRecommender("multi-vae", MultiVAENet, params)


_PAPER = "Liang et al. (2018)"

MULTI_VAE = Algorithm(
    id="multi-vae",
    title="MultiVAE",
    summary=(
        "A neural network squeezes a user's items through a few hundred numbers and rebuilds them "
        "as probabilities of all items. Seconds to minutes on a processor; strong where users have "
        "many items, and the place to look for what deep models cost in energy."
    ),
    paper="Liang, Krishnan, Hoffman, Jebara (2018): Variational autoencoders for CF",
    parameters=with_source(
        common.SEARCH,
        Parameter("hidden", 500, "Width of the hidden layers.", low=1, high=8192),
        Parameter("latent", 100, "Length of a user's latent vector.", low=1, high=4096),
        Parameter(
            "dropout",
            0.5,
            "Share of a user's items that is hidden from the input in training.",
            low=0,
            high=0.99,
            source=_PAPER,
        ),
        Parameter(
            "kl_weight",
            0.2,
            "Weight of the KL term once it is annealed (beta): more regularizes more.",
            low=0,
            high=10,
            source=_PAPER,
        ),
        Parameter(
            "anneal_epochs",
            20,
            "Epochs over which the KL term grows to its weight.",
            low=0,
            high=10_000,
        ),
        common.learning_rate(0.004),
        common.batch_size(128, "Users per step."),
        common.weight_decay(0.0),
        *common.schedule(20, "all users", averaging=0.9),
    ),
    build=build,
    sharing=SHARED_EPOCHS,
    paper_default={
        "hidden": 600,
        "latent": 200,
        "learning_rate": 0.001,
        "batch_size": 500,
        "epochs": 200,
        "anneal_epochs": 200,
        "averaging": 0.0,
        "early_stopping": True,
        "patience": 200,
    },
)
