"""Implicit matrix factorisation: users and items as short vectors, by alternating least squares."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.errors import RunError
from ecv_core.models.lenskit_start import panics_as, start_lenskit
from ecv_core.models.parameters import Algorithm, Parameter
from ecv_core.records import ParamValue, Progress, no_progress

if TYPE_CHECKING:
    import torch
    from lenskit.data import Dataset

_DIVERGED = (
    "implicit-mf could not be trained: its equations have no finite solution in single precision; "
    "try a higher regularization, a lower weight or fewer factors"
)


class ImplicitMF:
    """LensKit's ImplicitMFScorer, trained epoch by epoch and scored in blocks.

    LensKit scores one user at a time through a pipeline, which is too slow here; only its trainer
    is used. As in its pipeline, users are solved once more against the final items.
    """

    def __init__(self, *, factors: int, epochs: int, regularization: float, weight: float) -> None:
        self._factors = factors
        self._epochs = epochs
        self._regularization = regularization
        self._weight = weight

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        import torch

        progress("fit", 0, self._epochs)
        from lenskit.als import ImplicitMFScorer
        from lenskit.training import TrainingOptions

        scorer = ImplicitMFScorer(
            embedding_size=self._factors,
            epochs=self._epochs,
            regularization=self._regularization,
            weight=self._weight,
        )
        options = TrainingOptions(rng=np.random.default_rng(seed))
        trainer = scorer.create_trainer(dataset_of(train), options)  # type: ignore[no-untyped-call]
        with panics_as(_DIVERGED):
            for epoch in range(self._epochs):
                trainer.train_epoch()
                progress("fit", epoch + 1, self._epochs)
            trainer.als_half_epoch(self._epochs + 1, trainer.u_ctx)
        users, items = scorer.user_embeddings, scorer.item_embeddings
        if users is None or not (np.isfinite(users).all() and np.isfinite(items).all()):
            raise RunError(_DIVERGED)
        self._users, self._items = torch.from_numpy(users), torch.from_numpy(items)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        import torch

        return self._users[torch.from_numpy(users)] @ self._items.T


def dataset_of(train: csr_array) -> Dataset:
    """A training part as LensKit has it; user and item ids are the codes of rows and columns."""
    import pandas as pd
    from lenskit.data import from_interactions_df

    users, items = train.shape
    frame = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), np.diff(train.indptr)),
            "item_id": train.indices,
        }
    )
    return from_interactions_df(frame, users=np.arange(users), items=np.arange(items))


def build(params: Mapping[str, ParamValue]) -> ImplicitMF:
    """An unfitted model with these parameters."""
    for module in ("pandas", "lenskit.als", "lenskit.data"):
        import_module(module)  # a second, once per process, that no fit should be charged for
    start_lenskit()
    return ImplicitMF(
        factors=int(params["factors"]),
        epochs=int(params["epochs"]),
        regularization=float(params["regularization"]),
        weight=float(params["weight"]),
    )


_SEARCH = "own search on inner validation folds, benchmarks/README.md"

IMPLICIT_MF = Algorithm(
    id="implicit-mf",
    title="ImplicitMF",
    summary=(
        "Factorises the whole user-item matrix, with more weight on what users have (iALS). "
        "Fits in seconds; strong when its weight and regularization suit the data, weak when not."
    ),
    paper="Hu, Koren, Volinsky (2008): Collaborative filtering for implicit feedback datasets",
    parameters=(
        Parameter(
            name="factors", default=64, low=1, high=2048, help="Length of a vector.", source=_SEARCH
        ),
        Parameter(
            name="epochs",
            default=10,
            low=1,
            high=1000,
            help="Passes over all users and all items.",
            source=_SEARCH,
        ),
        Parameter(
            name="regularization",
            default=40.0,
            low=1e-6,
            high=1e6,
            help="Pulls vectors towards zero; more for small or sparse data.",
            source=_SEARCH,
        ),
        Parameter(
            name="weight",
            default=8.0,
            low=1e-3,
            high=1e6,
            help="How much more an interaction counts than a missing one.",
            source=_SEARCH,
        ),
    ),
    build=build,
)
