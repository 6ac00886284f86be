"""Matrix factorization by alternating least squares, implicit and of ratings, through LensKit."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.models.base import SEARCH, Algorithm, Report, Settings, common, with_source
from ecv_core.records.arrays import Floats, Indices, rows_of_entries
from ecv_core.records.errors import RunError
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress, no_progress
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    from lenskit.als import BiasedMFScorer, ImplicitMFScorer
    from lenskit.data import Dataset
    from lenskit.pipeline import Pipeline
    from scipy.sparse import csr_array
    from torch import Tensor

# LensKit made ready: its thread pools set up once, and what its compiled part panics at said.


def load_lenskit(*modules: str) -> None:
    """Import LensKit and these of its modules; set its thread pools up once, torch's stay.

    Left alone LensKit sets torch to one thread, and warns and logs if torch is already in use.
    Where its pools are set up already, it changes nothing, and logs that.
    """
    for module in ("pandas", "lenskit.data", "lenskit.pipeline", *modules):
        import_module(module)
    import torch
    from lenskit.parallel import initialize

    threads = torch.get_num_threads()
    # LensKit warns and logs if torch is in use already. Here that is usual, so nobody is told.
    lenskit_log = logging.getLogger(initialize.__module__)
    usual_level = lenskit_log.level
    lenskit_log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            initialize(processes=1, threads=threads, backend_threads=threads)
    finally:
        lenskit_log.setLevel(usual_level)


_DIVERGED = (
    "{} could not be trained: its equations have no finite solution in single precision; "
    "try a higher regularization {}"
)


@contextmanager
def lenskit_training(
    scorer: ImplicitMFScorer | BiasedMFScorer, divergence_message: str
) -> Iterator[None]:
    """While LensKit trains: numpy's BLAS in one thread, and a divergence as a RunError.

    With more threads scores would depend on their number in the sixth digit, and cores be kept
    busy by waiting between small products: a fit of implicit-mf on ml-100k would take twice as
    long.

    Args:
        scorer: What is trained; its vectors are looked at in the end.
        divergence_message: Of that RunError.
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    except BaseException as error:
        # On a singular system of equations the compiled part of LensKit panics. A panic is no
        # `Exception`, and its class cannot be imported, so it is recognised by its name.
        if type(error).__name__ != "PanicException":
            raise
        raise RunError(divergence_message) from error
    for vectors in (scorer.user_embeddings, scorer.item_embeddings):
        if vectors is None or not np.isfinite(vectors).all():
            raise RunError(divergence_message)


# Implicit feedback: the whole matrix of users and items.


class ImplicitMF:
    """LensKit's ImplicitMFScorer, trained epoch by epoch and scored in blocks.

    LensKit scores one user at a time through a pipeline, which is too slow here; only its trainer
    is used. As in its pipeline, users are solved once more against the final items.
    """

    def __init__(self, params: Settings) -> None:
        """Load what it needs: a second, once per process, that no fit should be charged for."""
        load_lenskit("lenskit.als")
        self._params = params

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        import torch
        from lenskit.als import ImplicitMFScorer
        from lenskit.training import TrainingOptions

        epochs = self._params["epochs"]
        progress("fit", 0, epochs)
        scorer = ImplicitMFScorer(
            embedding_size=self._params["factors"],
            epochs=epochs,
            regularization=self._params["regularization"],
            weight=self._params["weight"],
        )
        options = TrainingOptions(rng=np.random.default_rng(seed))
        trainer = scorer.create_trainer(dataset_of(train), options)  # type: ignore[no-untyped-call]
        with lenskit_training(scorer, _DIVERGED.format("implicit-mf", "or fewer factors")):
            for epoch in range(epochs):
                trainer.train_epoch()
                progress("fit", epoch + 1, epochs)
            # The users are fitted once more, against the final items, as LensKit's own pipeline
            # does.
            trainer.als_half_epoch(epochs + 1, trainer.u_ctx)
        self._users = torch.from_numpy(scorer.user_embeddings)
        self._items = torch.from_numpy(scorer.item_embeddings)

    @property
    def product(self) -> tuple[Tensor, Tensor]:
        """As of `evaluation.Scorer`."""
        return self._users, self._items.T

    def score(self, users: Indices) -> Tensor:
        import torch

        return self._users[torch.from_numpy(users)] @ self._items.T


def dataset_of(train: csr_array) -> Dataset:
    """A training part as LensKit has it; user and item ids are the codes of rows and columns."""
    import pandas as pd
    from lenskit.data import from_interactions_df

    users, items = train.shape
    frame = pd.DataFrame({"user_id": rows_of_entries(train), "item_id": train.indices})
    return from_interactions_df(frame, users=np.arange(users), items=np.arange(items))


_IMPLICIT_MF_PARAMETERS = with_source(
    SEARCH,
    *common(factors=64),
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
        "How much more an interaction counts than a missing one. Around 2 is better where users "
        "have long profiles (12 % on ml-1m), 8 where data are sparse.",
        low=1e-3,
        high=1e6,
    ),
)

IMPLICIT_MF = Algorithm(
    id="implicit-mf",
    title="ImplicitMF",
    summary="Factorises the whole user-item matrix, with more weight on what users have (iALS). "
    "Fits in seconds; strong when its weight and regularization suit the data, weak when not.",
    paper="Hu, Koren, Volinsky (2008): Collaborative filtering for implicit feedback datasets",
    parameters=_IMPLICIT_MF_PARAMETERS,
    build=ImplicitMF,
)


# Ratings, with biases, through LensKit's pipeline.


class BiasedALS:
    """LensKit's BiasedMFScorer, trained epoch by epoch, and its pipeline for predictions.

    The pipeline solves a user's vector once more against the final items, and falls back to
    LensKit's biases for users and items without a rating.
    """

    def __init__(self, params: Settings) -> None:
        """Load what it needs, so that no fold is charged for it."""
        load_lenskit("lenskit.als", "lenskit.batch")
        self._params = params

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        epochs = self._params["epochs"]
        report(0, epochs)
        pipeline = self._trained_pipeline(train, seed, report)
        predicted = _predictions(pipeline, asked)
        report(epochs, epochs, predicted)
        return predicted

    def _trained_pipeline(self, train: Ratings, seed: int, report: Report) -> Pipeline:
        """LensKit's pipeline for predictions, after all epochs. Raises: RunError; what report does.

        Args:
            train: Ratings to learn from.
            seed: The seed of the vectors at the beginning.
            report: Called after each epoch but the last, which has predictions to tell of.
        """
        import pandas as pd
        from lenskit.als import BiasedMFScorer
        from lenskit.data import from_interactions_df
        from lenskit.pipeline import predict_pipeline
        from lenskit.training import TrainingOptions

        epochs = self._params["epochs"]
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
        with lenskit_training(scorer, _DIVERGED.format("biased-als", "or a smaller dimension")):
            trainer = scorer.create_trainer(data, options)  # type: ignore[no-untyped-call]
            for epoch in range(epochs):
                trainer.train_epoch()
                if epoch + 1 < epochs:
                    report(epoch + 1, epochs)
            trainer.finalize()
        # With this number the pipeline leaves the scorer as it is, and trains only the biases.
        scorer.trained_epochs = epochs
        pipeline = predict_pipeline(scorer)
        pipeline.train(data, TrainingOptions(retrain=False, rng=options.rng))
        return pipeline


def _predictions(pipeline: Pipeline, pairs: Pairs) -> Floats:
    """What a trained pipeline predicts for pairs of user and item; shape (pairs,)."""
    from lenskit.batch import predict
    from lenskit.data import ItemList, ItemListCollection

    # LensKit predicts a list of items for each user, in the order of the list.
    by_user = np.argsort(pairs.users, kind="stable")
    users, starts = np.unique(pairs.users[by_user], return_index=True)
    pairs_of_user = dict(zip(users.tolist(), np.split(by_user, starts[1:]), strict=True))
    lists = {}
    for user, indices in pairs_of_user.items():
        lists[user] = ItemList(item_ids=pairs.items[indices])
    collection = ItemListCollection.from_dict(lists, "user_id")
    predicted: Floats = np.empty(len(pairs))
    for (user,), scored_items in predict(pipeline, collection, n_jobs=1):
        predicted[pairs_of_user[user]] = scored_items.scores()
    return predicted


_BIASED_ALS_PARAMETERS = with_source(
    "LensKit 2025.8",
    Parameter("dimension", 50, "How many numbers each vector has.", low=1, high=2048),
    Parameter("epochs", 10, "Passes over all users and all items.", low=1, high=1000),
    Parameter(
        "regularization",
        0.1,
        "Pulls vectors towards zero, in proportion to the number of ratings.",
        low=1e-6,
        high=1e6,
    ),
    Parameter(
        "damping",
        5.0,
        "The bias of a user or item counts as if it had so many more ratings at the average.",
        low=0,
        high=1e6,
    ),
)

BIASED_ALS = Algorithm(
    id="biased-als",
    title="Biased MF (ALS)",
    summary=(
        "Biased matrix factorization of ratings by alternating least squares, as LensKit has it. "
        "Takes seconds; has few settings, and is weaker than the Bayesian models."
    ),
    paper="Zhou, Wilkinson, Schreiber, Pan (2008): Large-Scale Parallel Collaborative Filtering",
    task=Task.RATINGS,
    parameters=_BIASED_ALS_PARAMETERS,
    build=BiasedALS,
)
