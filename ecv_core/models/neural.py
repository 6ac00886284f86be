"""The models that are networks, as users know them; torch loads once one is built."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from ecv_core.models.base import PAPER_COUNTS, SEARCH, Algorithm, shared, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter


def _built(name: str, module: str, net: str, params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    return NeuralRecommender(name, getattr(import_module(f"ecv_core.models.{module}"), net), params)


_EARLY_STOPPING = (
    Parameter(
        "early_stopping",
        False,
        "Hide a part of the training data, stop when it is ranked no better any more, and "
        "keep the best epoch; off: train all epochs on all of it.",
    ),
    Parameter(
        "patience",
        5,
        "Early stopping: epochs without a better inner nDCG@100 before training ends.",
        low=1,
        high=1000,
        source="own choice",
    ),
    Parameter(
        "validation_share",
        0.05,
        "Early stopping: share of the training interactions that is hidden.",
        low=0.001,
        high=0.9,
        source="own choice",
    ),
)
"""Of every network; `training` reads them."""


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
        parameters=with_source(SEARCH, *parameters, *_EARLY_STOPPING),
        build=partial(_built, name, module, net),
        sharing=SHARED_EPOCHS,
        **about,
    )


BPR_MF = _network(
    "bpr-mf",
    "sampled_net",
    "BPRNet",
    *shared(factors=64, regularization=0.02),
    Parameter(
        "tied_regularization",
        False,
        "In place of regularization, pulls vectors of users by a 20th of the learning rate and "
        "those of items by a 200th, as Anelli et al. (2019) do.",
        source="Anelli et al. (2019)",
        later=True,
    ),
    *with_source(
        "our choice, as He et al. (2017) draw; Rendle et al. (2009) draw one", *shared(negatives=4)
    ),
    *shared(learning_rate=0.02, batch_size=1024, epochs=8, averaging=0.7),
    title="BPR-MF",
    summary="Factorises so that items a user has rank above items drawn at random. "
    "Seconds on a processor; a classic to compare with, usually a little behind ImplicitMF.",
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
    *shared(dropout=0.0),
    *with_source("He et al. (2017)", *shared(negatives=4)),
    *shared(learning_rate=0.005, batch_size=1024, weight_decay=0.3, epochs=10, averaging=0.7),
    title="NeuMF",
    summary=(
        "Learns a vector for each user and item, and a small network that says how well they fit. "
        "The most expensive model here for what it scores; take it to compare with work that "
        "reports it, and to see what a deep model costs."
    ),
    paper="He, Liao, Zhang, Nie, Hu, Chua (2017): Neural collaborative filtering",
    log_odds=True,  # it learns a binary cross-entropy
)

MULTI_VAE = _network(
    "multi-vae",
    "multi_vae_net",
    "MultiVAENet",
    Parameter("hidden", 500, "Width of the hidden layers.", low=1, high=8192),
    Parameter("latent", 100, "Length of a user's latent vector.", low=1, high=4096),
    *with_source(
        "Liang et al. (2018)",
        *shared("Share of a user's items that is hidden from the input in training.", dropout=0.5),
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
    Parameter(
        "sampled_items",
        0,
        "0 learns from all items in each step. Otherwise from the items of its users and so many "
        "drawn ones, and changes only theirs: faster on large catalogues.",
        low=0,
        high=10_000_000,
        later=True,
    ),
    *shared(learning_rate=0.004),
    *shared("Users per step.", batch_size=128),
    *shared(weight_decay=0.0, epochs=20, averaging=0.9),
    title="MultiVAE",
    summary=(
        "A neural network squeezes a user's items through a few hundred numbers and rebuilds them "
        "as probabilities of all items. Seconds to minutes on a processor; strong where users have "
        "many items, and the place to look for what deep models cost in energy."
    ),
    paper="Liang, Krishnan, Hoffman, Jebara (2018): Variational autoencoders for CF",
)

LIGHT_GCN = _network(
    "light-gcn",
    "graph_net",
    "LightGCNNet",
    *shared(factors=64, layers=2, regularization=0.005, negatives=4, learning_rate=0.05),
    *shared("Training pairs per step; the whole graph is averaged at each.", batch_size=8192),
    *shared(epochs=30, averaging=0.8),
    title="LightGCN",
    summary="Gives users and items vectors, and averages each with those of its neighbours in the "
    "graph of who has what. The graph network that most studies compare with today; seconds "
    "to minutes on a processor.",
    paper="He, Deng, Wang, Li, Zhang, Wang (2020): LightGCN",
)

NGCF = _network(
    "ngcf",
    "graph_net",
    "NGCFNet",
    *shared(factors=64, layers=1),
    *with_source("Wang et al. (2019)", *shared(dropout=0.1)),
    *shared(regularization=0.03, negatives=4, learning_rate=0.05),
    *shared("Training pairs per step; the whole graph is mixed at each.", batch_size=4096),
    *shared(epochs=30, averaging=0.8),
    title="NGCF",
    summary=(
        "Mixes the vector of each user and item with those of its neighbours in the graph of who "
        "has what, by learnt weights. Slower than LightGCN, which leaves the weights out and ranks "
        "better; take it to compare with work that reports it."
    ),
    paper="Wang, He, Wang, Feng, Chua (2019): Neural graph collaborative filtering",
)

_NOISE_POPULARITY = Parameter(
    "noise_popularity",
    0.0,
    "Negatives are drawn by popularity to this power; 0 draws all alike.",
    low=0,
    high=1,
)

TRIPLE2VEC = _network(
    "triple2vec",
    "triple_net",
    "Triple2vecNet",
    *shared(factors=64, negatives=5),
    _NOISE_POPULARITY,
    *shared(learning_rate=0.02),
    *shared("Triples of a user and two items per step.", batch_size=2048),
    *shared(weight_decay=0.25, epochs=10, averaging=0.8),
    title="Triple2vec",
    summary=(
        "Learns vectors of users and items from who bought which two items together. For data with "
        "baskets, such as groceries; it needs them."
    ),
    paper="Wan, Wang, Liu, Bennett, McAuley (2018): Representing and recommending shopping baskets",
    needs=Need.BASKETS,
)

VBCAR = _network(
    "vbcar",
    "triple_net",
    "VBCARNet",
    *shared(factors=64),
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
    *shared(negatives=5),
    _NOISE_POPULARITY,
    *shared(learning_rate=0.01),
    *shared("Triples of a user and two items per step.", batch_size=2048),
    *shared(weight_decay=0.0, epochs=8, averaging=0.8),
    title="VBCAR",
    summary="Learns, from who bought which two items together, how sure it can be of the vector of "
    "each user and item. For data with baskets, such as groceries; it needs them.",
    paper="Meng, McCreadie, Macdonald, Ounis (2019): Variational Bayesian context-aware "
    "representation for grocery recommendation",
    needs=Need.BASKETS,
)
