"""Biased matrix factorization by alternating least squares, through LensKit's pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.models.base import Algorithm, Report, with_source
from ecv_core.models.lenskit_start import load_lenskit, panics_as
from ecv_core.records.errors import RunError
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.spec import Task

_DIVERGED = (
    "biased-als could not be trained: its equations have no finite solution in single precision; "
    "try a higher regularization or a smaller dimension"
)


class BiasedALS:
    """LensKit's BiasedMFScorer, trained epoch by epoch, and its pipeline for predictions.

    The pipeline solves a user's vector once more against the final items, and falls back to
    LensKit's biases for users and items without a rating.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Load what it needs, so that no fold is charged for it."""
        load_lenskit("lenskit.als", "lenskit.batch")
        self._params = params

    def predict(
        self, train: Ratings, asked: Pairs, *, seed: int, report: Report
    ) -> NDArray[np.float64]:
        epochs = self._params["epochs"]
        report(0, epochs)
        import pandas as pd
        from lenskit.als import BiasedMFScorer
        from lenskit.batch import predict
        from lenskit.data import ItemList, ItemListCollection, from_interactions_df
        from lenskit.pipeline import predict_pipeline
        from lenskit.training import TrainingOptions

        scorer = BiasedMFScorer(
            embedding_size=self._params["dimension"],
            epochs=epochs,
            regularization=self._params["regularization"],
            damping=self._params["damping"],
        )
        frame = pd.DataFrame(
            {"user_id": train.users, "item_id": train.items, "rating": train.values}
        )
        data = from_interactions_df(frame, rating_col="rating")
        options = TrainingOptions(rng=np.random.default_rng(seed))
        with panics_as(_DIVERGED):
            trainer = scorer.create_trainer(data, options)  # type: ignore[no-untyped-call]
            for epoch in range(epochs):
                trainer.train_epoch()
                if epoch + 1 < epochs:
                    report(epoch + 1, epochs)
            trainer.finalize()
        if scorer.user_embeddings is None or not (
            np.isfinite(scorer.user_embeddings).all() and np.isfinite(scorer.item_embeddings).all()
        ):
            raise RunError(_DIVERGED)
        scorer.trained_epochs = epochs  # the pipeline trains what is left, the biases
        pipeline = predict_pipeline(scorer)
        pipeline.train(data, TrainingOptions(retrain=False, rng=options.rng))
        predicted: NDArray[np.float64] = np.empty(len(asked))
        order = np.argsort(asked.users, kind="stable")
        users, starts = np.unique(asked.users[order], return_index=True)
        places = dict(zip(users.tolist(), np.split(order, starts[1:]), strict=True))
        lists = ItemListCollection.from_dict(
            {user: ItemList(item_ids=asked.items[rows]) for user, rows in places.items()}, "user_id"
        )
        for key, answers in predict(pipeline, lists, n_jobs=1):
            predicted[places[key[0]]] = answers.scores()
        report(epochs, epochs, predicted)
        return predicted


BIASED_ALS = Algorithm(
    id="biased-als",
    title="Biased MF (ALS)",
    summary=(
        "Biased matrix factorization of ratings by alternating least squares, as LensKit has it. "
        "Seconds; few settings, and weaker than the Bayesian models."
    ),
    paper="Zhou, Wilkinson, Schreiber, Pan (2008): Large-Scale Parallel Collaborative Filtering",
    task=Task.RATINGS,
    parameters=with_source(
        "LensKit 2025.8",
        Parameter("dimension", 50, "Length of a vector.", low=1, high=2048),
        Parameter("epochs", 10, "Passes over all users and all items.", low=1, high=1000),
        Parameter(
            "regularization",
            0.1,
            "Pulls vectors towards zero, times the number of ratings.",
            low=1e-6,
            high=1e6,
        ),
        Parameter(
            "damping",
            5.0,
            "Ratings without deviation that every user and item is given, for the biases.",
            low=0,
            high=1e6,
        ),
    ),
    build=BiasedALS,
)
