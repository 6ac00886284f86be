"""The models that are networks, as users know them; torch loads once one is built."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import PAPER_COUNTS, Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter


def _built(name: str, module: str, net: str, params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    return NeuralRecommender(name, getattr(import_module(f"ecv_core.models.{module}"), net), params)


def _network(name: str, module: str, net: str, *parameters: Parameter, **about: Any) -> Algorithm:  # noqa: ANN401
    """A model that trains a network by epochs.

    Args:
        name: its id.
        module: of this package, that has the network.
        net: its class there.
        parameters: with defaults from our own search, but for those that say another source.
        about: what else `Algorithm` says of it.
    """
    return Algorithm(
        id=name,
        parameters=with_source(common.SEARCH, *parameters),
        build=partial(_built, name, module, net),
        sharing=SHARED_EPOCHS,
        **about,
    )


BPR_MF = _network(
    "bpr-mf",
    "sampled_net",
    "BPRNet",
    common.factors(64),
    common.regularization(0.02),
    Parameter(
        "tied_regularization",
        False,
        "In place of regularization, pulls vectors of users by a 20th of the learning rate and "
        "those of items by a 200th, as Anelli et al. (2019) do.",
        source="Anelli et al. (2019)",
        later=True,
    ),
    common.negatives(
        4, source="our choice, as He et al. (2017) draw; Rendle et al. (2009) draw one"
    ),
    common.learning_rate(0.02),
    common.batch_size(1024, "Training pairs per step."),
    *common.schedule(8, "all training pairs", averaging=0.7),
    title="BPR-MF",
    summary=(
        "Factorises so that items a user has rank above items drawn at random. "
        "Seconds on a processor; a classic to compare with, usually a little behind ImplicitMF."
    ),
    paper="Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009): BPR",
    spaces={
        "default": {
            "factors": (32, 64, 128),
            "epochs": (4, 8, 16),
            "learning_rate": (0.01, 0.02, 0.04),
        },
        "paper": {
            "factors": PAPER_COUNTS,
            "epochs": (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128),
            "learning_rate": (
                *(0.20000389, 0.10000195, 0.05000097, 0.02500049, 0.01250024),
                *(0.00625012, 0.00312506, 0.00156253, 0.00078127, 0.00039063),
                *(0.00019532, 0.00009766, 0.00004883, 0.00002441, 0.00001221),
            ),
            "tied_regularization": (True,),
        },
    },
)

NEU_MF = _network(
    "neu-mf",
    "sampled_net",
    "NeuMFNet",
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
    common.dropout(0.0, "Share of the first layer that is switched off in training."),
    common.negatives(4, source="He et al. (2017)"),
    common.learning_rate(0.005),
    common.batch_size(1024, "Training pairs per step, not counting negatives."),
    common.weight_decay(0.3),
    *common.schedule(10, "all training pairs", averaging=0.7),
    title="NeuMF",
    summary=(
        "Learns a vector for each user and item, and a small network that says how well they fit. "
        "The most expensive model here for what it scores; take it to compare with work that "
        "reports it, and to see what a deep model costs."
    ),
    paper="He, Liao, Zhang, Nie, Hu, Chua (2017): Neural collaborative filtering",
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

MULTI_VAE = _network(
    "multi-vae",
    "multi_vae_net",
    "MultiVAENet",
    Parameter("hidden", 500, "Width of the hidden layers.", low=1, high=8192),
    Parameter("latent", 100, "Length of a user's latent vector.", low=1, high=4096),
    common.dropout(
        0.5,
        "Share of a user's items that is hidden from the input in training.",
        source="Liang et al. (2018)",
    ),
    Parameter(
        "kl_weight",
        0.2,
        "Weight of the KL term once it is annealed (beta): more regularizes more.",
        low=0,
        high=10,
        source="Liang et al. (2018)",
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
    title="MultiVAE",
    summary=(
        "A neural network squeezes a user's items through a few hundred numbers and rebuilds them "
        "as probabilities of all items. Seconds to minutes on a processor; strong where users have "
        "many items, and the place to look for what deep models cost in energy."
    ),
    paper="Liang, Krishnan, Hoffman, Jebara (2018): Variational autoencoders for CF",
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

LIGHT_GCN = _network(
    "light-gcn",
    "graph_net",
    "LightGCNNet",
    common.factors(64),
    common.layers(2),
    common.regularization(0.005),
    common.negatives(4),
    common.learning_rate(0.05),
    common.batch_size(8192, "Training pairs per step; the whole graph is averaged at each."),
    *common.schedule(30, "all training pairs", averaging=0.8),
    title="LightGCN",
    summary=(
        "Gives users and items vectors, and averages each with those of its neighbours in the "
        "graph of who has what. The graph network that most studies compare with today; seconds "
        "to minutes on a processor."
    ),
    paper="He, Deng, Wang, Li, Zhang, Wang (2020): LightGCN",
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

NGCF = _network(
    "ngcf",
    "graph_net",
    "NGCFNet",
    common.factors(64),
    common.layers(1),
    common.dropout(
        0.1,
        "Share of each layer's output that is switched off in training.",
        source="Wang et al. (2019)",
    ),
    common.regularization(0.03),
    common.negatives(4),
    common.learning_rate(0.05),
    common.batch_size(4096, "Training pairs per step; the whole graph is mixed at each."),
    *common.schedule(30, "all training pairs", averaging=0.8),
    title="NGCF",
    summary=(
        "Mixes the vector of each user and item with those of its neighbours in the graph of who "
        "has what, by learnt weights. Slower than LightGCN, which leaves the weights out and ranks "
        "better; take it to compare with work that reports it."
    ),
    paper="Wang, He, Wang, Feng, Chua (2019): Neural graph collaborative filtering",
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

_NOISE_POPULARITY = Parameter(
    "noise_popularity",
    0.0,
    "Negatives are drawn by popularity to this power; 0 draws all alike.",
    low=0,
    high=1,
)
_OF_BASKETS = "all interactions, each with another of its basket"
_BETA_RECSYS = {
    "noise_popularity": 0.75,
    "learning_rate": 0.0005,
    "batch_size": 256,
    "epochs": 120,
    "averaging": 0.0,
}
"""Of Beta-RecSys, by VBCAR's authors: the study that compares both under several splits uses it."""

TRIPLE2VEC = _network(
    "triple2vec",
    "triple_net",
    "Triple2vecNet",
    common.factors(64),
    common.negatives(5),
    _NOISE_POPULARITY,
    common.learning_rate(0.02),
    common.batch_size(2048, "Triples of a user and two items per step."),
    common.weight_decay(0.25),
    *common.schedule(10, _OF_BASKETS, averaging=0.8),
    title="Triple2vec",
    summary=(
        "Learns vectors of users and items from who bought which two items together. For data with "
        "baskets, such as groceries; it needs them."
    ),
    paper="Wan, Wang, Liu, Bennett, McAuley (2018): Representing and recommending shopping baskets",
    needs=Need.BASKETS,
    paper_default=_BETA_RECSYS | {"weight_decay": 0.0},
)

VBCAR = _network(
    "vbcar",
    "triple_net",
    "VBCARNet",
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
    _NOISE_POPULARITY,
    common.learning_rate(0.01),
    common.batch_size(2048, "Triples of a user and two items per step."),
    common.weight_decay(0.0),
    *common.schedule(8, _OF_BASKETS, averaging=0.8),
    title="VBCAR",
    summary=(
        "Learns, from who bought which two items together, how sure it can be of the vector of "
        "each user and item. For data with baskets, such as groceries; it needs them."
    ),
    paper=(
        "Meng, McCreadie, Macdonald, Ounis (2019): Variational Bayesian context-aware "
        "representation for grocery recommendation"
    ),
    needs=Need.BASKETS,
    paper_default=_BETA_RECSYS | {"hidden": 256, "kl_weight": 0.001},
)
