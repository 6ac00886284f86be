"""The models that are networks, as users know them; torch loads once one is built."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from ecv_core.models.base import (
    PAPER_COUNTS,
    SEARCH,
    Algorithm,
    Settings,
    common,
    common_for,
    with_source,
)
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Parameter

_EARLY_STOPPING = Parameter(
    "early_stopping",
    False,
    "Hides a part of the training data, stops when the model no longer ranks it better, and keeps "
    "the best epoch. Off: trains for all epochs on all of the data.",
)
_PATIENCE = Parameter(
    "patience",
    5,
    "Early stopping: training ends after so many epochs without a better nDCG@100 on what is "
    "hidden.",
    low=1,
    high=1000,
    source="own choice",
)
_VALIDATION_SHARE = Parameter(
    "validation_share",
    0.05,
    "Early stopping: share of the training interactions that is hidden.",
    low=0.001,
    high=0.9,
    source="own choice",
)


def _network(
    id: str,
    class_path: str,
    parameters: tuple[Parameter, ...],
    **facts: Any,  # noqa: ANN401
) -> Algorithm:
    """A model that trains a network by epochs; each takes the parameters of early stopping too.

    Args:
        class_path: Where the network is in this package, as 'module:Class'.
        parameters: With defaults from our own search, but for those that say another source.
        facts: Other fields of `Algorithm`.
    """
    all_parameters = (*parameters, _EARLY_STOPPING, _PATIENCE, _VALIDATION_SHARE)
    return Algorithm(
        id=id,
        parameters=with_source(SEARCH, *all_parameters),
        build=partial(_build, id, class_path),
        sharing=SHARED_EPOCHS,
        **facts,
    )


def _build(id: str, class_path: str, params: Settings) -> NeuralRecommender:
    """An unfitted model; its network is imported now."""
    module, _, class_name = class_path.partition(":")
    network = getattr(import_module(f"ecv_core.models.{module}"), class_name)
    return NeuralRecommender(id, network, params)


_TIED_REGULARIZATION = Parameter(
    "tied_regularization",
    False,
    "Takes the place of regularization: vectors of users are pulled towards zero by a 20th of the "
    "learning rate and those of items by a 200th, as in Anelli et al. (2019).",
    source="Anelli et al. (2019)",
    added_later=True,
)
_PAPER_EPOCHS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
_PAPER_LEARNING_RATES = (
    *(0.20000389, 0.10000195, 0.05000097, 0.02500049, 0.01250024),
    *(0.00625012, 0.00312506, 0.00156253, 0.00078127, 0.00039063),
    *(0.00019532, 0.00009766, 0.00004883, 0.00002441, 0.00001221),
)
_BPR_MF_SPACES = {
    "default": {
        "factors": (32, 64, 128),
        "epochs": (4, 8, 16),
        "learning_rate": (0.01, 0.02, 0.04),
    },
    "paper": {
        "factors": PAPER_COUNTS,
        "epochs": _PAPER_EPOCHS,
        "learning_rate": _PAPER_LEARNING_RATES,
        "tied_regularization": (True,),
    },
}
_BPR_MF_PARAMETERS = (
    *common(factors=64, regularization=0.02),
    _TIED_REGULARIZATION,
    *with_source(
        "our choice, as He et al. (2017) draw; Rendle et al. (2009) draw one", *common(negatives=4)
    ),
    *common(learning_rate=0.02, batch_size=1024, epochs=8, averaging=0.7),
)
BPR_MF = _network(
    id="bpr-mf",
    class_path="pair_net:BPRNet",
    parameters=_BPR_MF_PARAMETERS,
    title="BPR-MF",
    summary="Learns a vector for each user and item so that the items a user has rank above items "
    "drawn at random. Takes seconds on a processor; a classic to compare with, usually a little "
    "behind ImplicitMF.",
    paper="Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009): BPR",
    spaces=_BPR_MF_SPACES,
)

_NEU_MF_HIDDEN = Parameter(
    "hidden",
    64,
    "Width of the perceptron's first layer; its second is half as wide.",
    low=2,
    high=4096,
)
_NEU_MF_PARAMETERS = (
    Parameter(
        "factors", 32, "Length of the vectors; each user and item has two.", low=1, high=1024
    ),
    _NEU_MF_HIDDEN,
    *common(dropout=0.0),
    *with_source("He et al. (2017)", *common(negatives=4)),
    *common(learning_rate=0.005, batch_size=1024, weight_decay=0.3, epochs=10, averaging=0.7),
)
NEU_MF = _network(
    id="neu-mf",
    class_path="pair_net:NeuMFNet",
    parameters=_NEU_MF_PARAMETERS,
    title="NeuMF",
    summary=(
        "Learns a vector for each user and item, and a small network that says how well they fit. "
        "The most expensive model here for the scores that it reaches; use it to compare with work "
        "that reports it, and to see what a deep model costs."
    ),
    paper="He, Liao, Zhang, Nie, Hu, Chua (2017): Neural collaborative filtering",
    log_odds=True,  # it learns a binary cross-entropy
)

_MULTI_VAE_HIDDEN = Parameter("hidden", 500, "Width of the hidden layers.", low=1, high=8192)
_LATENT = Parameter("latent", 100, "Length of a user's latent vector.", low=1, high=4096)
_MULTI_VAE_KL_WEIGHT = Parameter(
    "kl_weight",
    0.2,
    "Final weight of the KL term (beta); more regularizes more.",
    low=0,
    high=10,
    source="Liang et al. (2018)",
)
_ANNEAL_EPOCHS = Parameter(
    "anneal_epochs",
    20,
    "Epochs over which the KL term grows to its weight.",
    low=0,
    high=10_000,
)
_SAMPLED_ITEMS = Parameter(
    "sampled_items",
    0,
    "0: each step learns from all items. Otherwise it learns from the items of its users and so "
    "many others, drawn at random, and changes only their weights: faster on large catalogues.",
    low=0,
    high=10_000_000,
    added_later=True,
)
_MULTI_VAE_DROPOUT = with_source(
    "Liang et al. (2018)",
    *common_for("Share of a user's items that is hidden from the input in training.", dropout=0.5),
)
_MULTI_VAE_PARAMETERS = (
    _MULTI_VAE_HIDDEN,
    _LATENT,
    *_MULTI_VAE_DROPOUT,
    _MULTI_VAE_KL_WEIGHT,
    _ANNEAL_EPOCHS,
    _SAMPLED_ITEMS,
    *common(learning_rate=0.004),
    *common_for("Users per step.", batch_size=128),
    *common(weight_decay=0.0, epochs=20, averaging=0.9),
)
MULTI_VAE = _network(
    id="multi-vae",
    class_path="multi_vae_net:MultiVAENet",
    parameters=_MULTI_VAE_PARAMETERS,
    title="MultiVAE",
    summary=(
        "A neural network squeezes a user's items into about a hundred numbers and rebuilds them "
        "as probabilities of all items. Takes seconds to minutes on a processor; strong where "
        "users have many items, and a good example of what deep models cost in energy."
    ),
    paper="Liang, Krishnan, Hoffman, Jebara (2018): Variational autoencoders for CF",
)

_LIGHT_GCN_PARAMETERS = (
    *common(factors=64, layers=2, regularization=0.005, negatives=4, learning_rate=0.05),
    *common_for("Training pairs per step; the whole graph is averaged at each.", batch_size=8192),
    *common(epochs=30, averaging=0.8),
)
LIGHT_GCN = _network(
    id="light-gcn",
    class_path="graph_net:LightGCNNet",
    parameters=_LIGHT_GCN_PARAMETERS,
    title="LightGCN",
    summary="Gives users and items vectors, and averages each with those of its neighbours in the "
    "graph of who has what. The graph network that most studies compare with today; takes "
    "seconds to minutes on a processor.",
    paper="He, Deng, Wang, Li, Zhang, Wang (2020): LightGCN",
)

_NGCF_PARAMETERS = (
    *common(factors=64, layers=1),
    *with_source("Wang et al. (2019)", *common(dropout=0.1)),
    *common(regularization=0.03, negatives=4, learning_rate=0.05),
    *common_for("Training pairs per step; the whole graph is mixed at each.", batch_size=4096),
    *common(epochs=30, averaging=0.8),
)
NGCF = _network(
    id="ngcf",
    class_path="graph_net:NGCFNet",
    parameters=_NGCF_PARAMETERS,
    title="NGCF",
    summary=(
        "Mixes the vector of each user and item with those of its neighbours in the graph of who "
        "has what, by learnt weights. Slower than LightGCN, which leaves the weights out and ranks "
        "better; use it to compare with work that reports it."
    ),
    paper="Wang, He, Wang, Feng, Chua (2019): Neural graph collaborative filtering",
)

_NOISE_POPULARITY = Parameter(
    "noise_popularity",
    0.0,
    "Negatives are drawn in proportion to this power of their popularity; 0 draws all alike.",
    low=0,
    high=1,
)
_TRIPLE_NEGATIVES = common_for(
    "How many negatives each triple has in the loss; users and items that are drawn for the whole "
    "batch stand for them.",
    negatives=5,
)

_TRIPLE2VEC_PARAMETERS = (
    *common(factors=64),
    *_TRIPLE_NEGATIVES,
    _NOISE_POPULARITY,
    *common(learning_rate=0.02),
    *common_for("Triples of a user and two items per step.", batch_size=2048),
    *common(weight_decay=0.25, epochs=10, averaging=0.8),
)
TRIPLE2VEC = _network(
    id="triple2vec",
    class_path="triple_net:Triple2vecNet",
    parameters=_TRIPLE2VEC_PARAMETERS,
    title="Triple2vec",
    summary=(
        "Learns vectors of users and items from who bought which two items together. It needs "
        "data with baskets, such as those of groceries."
    ),
    paper="Wan, Wang, Liu, Bennett, McAuley (2018): Representing and recommending shopping baskets",
    needs=Need.BASKETS,
)

_VBCAR_HIDDEN = Parameter(
    "hidden",
    128,
    "Width of the layer between a user or item and its distribution.",
    low=1,
    high=8192,
)
_VBCAR_KL_WEIGHT = Parameter(
    "kl_weight",
    0.01,
    "Weight of the KL term (alpha): a higher weight pulls what is rarely seen towards the average.",
    low=0,
    high=10,
)
_VBCAR_PARAMETERS = (
    *common(factors=64),
    _VBCAR_HIDDEN,
    _VBCAR_KL_WEIGHT,
    *_TRIPLE_NEGATIVES,
    _NOISE_POPULARITY,
    *common(learning_rate=0.01),
    *common_for("Triples of a user and two items per step.", batch_size=2048),
    *common(weight_decay=0.0, epochs=8, averaging=0.8),
)
VBCAR = _network(
    id="vbcar",
    class_path="triple_net:VBCARNet",
    parameters=_VBCAR_PARAMETERS,
    title="VBCAR",
    summary="Learns, from who bought which two items together, the vector of each user and item "
    "and how sure it is of it. It needs data with baskets, such as those of groceries.",
    paper="Meng, McCreadie, Macdonald, Ounis (2019): Variational Bayesian context-aware "
    "representation for grocery recommendation",
    needs=Need.BASKETS,
)
