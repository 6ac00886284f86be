"""BPR-MF: users and items as short vectors, learnt from pairs of an owned and another item."""

from __future__ import annotations

from collections.abc import Mapping

from ecv_core.models.parameters import Algorithm, Parameter
from ecv_core.models.training import NeuralRecommender, Schedule, schedule_parameters
from ecv_core.records import ParamValue


def build(params: Mapping[str, ParamValue]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.bpr_mf_net import BPRNet

    return NeuralRecommender(
        "bpr-mf",
        lambda train, seed: BPRNet(
            train,
            seed=seed,
            factors=int(params["factors"]),
            regularization=float(params["regularization"]),
            batch_size=int(params["batch_size"]),
            negatives=int(params["negatives"]),
            learning_rate=float(params["learning_rate"]),
        ),
        Schedule.of(params),
    )


_SEARCH = "own search on inner validation folds, benchmarks/README.md"

BPR_MF = Algorithm(
    id="bpr-mf",
    title="BPR-MF",
    summary=(
        "Factorises so that items a user has rank above items drawn at random. "
        "Seconds on a processor; a classic to compare with, usually a little behind ImplicitMF."
    ),
    paper="Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009): BPR",
    parameters=(
        Parameter(
            name="factors", default=64, low=1, high=2048, help="Length of a vector.", source=_SEARCH
        ),
        Parameter(
            name="regularization",
            default=0.02,
            low=0,
            high=100.0,
            help="Weight of the squared length of the vectors in a batch.",
            source=_SEARCH,
        ),
        Parameter(
            name="negatives",
            default=4,
            low=1,
            high=100,
            help="Items drawn at random beside each training pair.",
            source="Rendle et al. (2009)",
        ),
        Parameter(
            name="learning_rate",
            default=0.02,
            low=1e-6,
            high=1.0,
            help="Adam's step size.",
            source=_SEARCH,
        ),
        Parameter(
            name="batch_size",
            default=1024,
            low=1,
            high=1000000,
            help="Training pairs per step.",
            source=_SEARCH,
        ),
        *schedule_parameters(
            epochs=Parameter(
                name="epochs",
                default=8,
                low=1,
                high=10_000,
                help="Passes over all training pairs; at most, with early stopping.",
                source=_SEARCH,
            ),
            averaging=0.7,
        ),
    ),
    build=build,
)
