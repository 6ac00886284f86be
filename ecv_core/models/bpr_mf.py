"""BPR-MF: users and items as short vectors, learnt from pairs of an owned and another item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecv_core.models import training_parameters as common
from ecv_core.models.base import PAPER_COUNTS, Algorithm, with_source
from ecv_core.models.training import SHARED_EPOCHS, NeuralRecommender


def build(params: Mapping[str, Any]) -> NeuralRecommender:
    """An unfitted model with these parameters."""
    from ecv_core.models.bpr_mf_net import BPRNet

    return NeuralRecommender("bpr-mf", BPRNet, params)


BPR_MF = Algorithm(
    id="bpr-mf",
    title="BPR-MF",
    summary=(
        "Factorises so that items a user has rank above items drawn at random. "
        "Seconds on a processor; a classic to compare with, usually a little behind ImplicitMF."
    ),
    paper="Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009): BPR",
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        common.regularization(0.02),
        common.negatives(
            4, source="our choice, as He et al. (2017) draw; Rendle et al. (2009) draw one"
        ),
        common.learning_rate(0.02),
        common.batch_size(1024, "Training pairs per step."),
        *common.schedule(8, "all training pairs", averaging=0.7),
    ),
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
        },
    },
    build=build,
    sharing=SHARED_EPOCHS,
)
