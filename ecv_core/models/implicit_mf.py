"""Implicit matrix factorisation: users and items as short vectors, by alternating least squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.lenskit_start import load_lenskit, panics_as
from ecv_core.records.errors import RunError
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress, no_progress

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

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Load what it needs: a second, once per process, that no fit should be charged for."""
        load_lenskit("lenskit.als")
        self._params = params

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        import torch

        epochs = self._params["epochs"]
        progress("fit", 0, epochs)
        from lenskit.als import ImplicitMFScorer
        from lenskit.training import TrainingOptions

        scorer = ImplicitMFScorer(
            embedding_size=self._params["factors"],
            epochs=epochs,
            regularization=self._params["regularization"],
            weight=self._params["weight"],
        )
        options = TrainingOptions(rng=np.random.default_rng(seed))
        trainer = scorer.create_trainer(dataset_of(train), options)  # type: ignore[no-untyped-call]
        with panics_as(_DIVERGED):
            for epoch in range(epochs):
                trainer.train_epoch()
                progress("fit", epoch + 1, epochs)
            trainer.als_half_epoch(epochs + 1, trainer.u_ctx)
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


IMPLICIT_MF = Algorithm(
    id="implicit-mf",
    title="ImplicitMF",
    summary=(
        "Factorises the whole user-item matrix, with more weight on what users have (iALS). "
        "Fits in seconds; strong when its weight and regularization suit the data, weak when not."
    ),
    paper="Hu, Koren, Volinsky (2008): Collaborative filtering for implicit feedback datasets",
    parameters=with_source(
        common.SEARCH,
        common.factors(64),
        Parameter("epochs", 10, "Passes over all users and all items.", low=1, high=1000),
        Parameter(
            "regularization",
            40.0,
            "Pulls vectors towards zero; more for small or sparse data.",
            low=1e-6,
            high=1e6,
        ),
        Parameter(
            "weight",
            8.0,
            "How much more an interaction counts than a missing one.",
            low=1e-3,
            high=1e6,
        ),
    ),
    build=ImplicitMF,
)
