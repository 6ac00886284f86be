"""LensKit's pipelines, batch recommendation and metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from lenskit import batch
from lenskit.als import ImplicitMFScorer
from lenskit.basic import PopScorer
from lenskit.data import ItemListCollection, from_interactions_df
from lenskit.flexmf import FlexMFImplicitScorer
from lenskit.knn import EASEScorer, ItemKNNScorer
from lenskit.metrics import NDCG, RunAnalysis
from lenskit.pipeline import topn_pipeline
from lenskit.training import TrainingOptions

from benchmarks.peer_models import FACTORS, NEIGHBOURS, RIDGE, SEED, TOP, Fold, Lists


class Model:
    """A model with LensKit's defaults, but for sizes, and of ALS also for what it is told below."""

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        self._name = name
        self._length = length
        self._users = fold.test_users()
        self._data = from_interactions_df(_frame(fold.train))
        self._test = ItemListCollection.from_df(_frame(fold.test), ["user_id"])

    def fit(self) -> None:
        self._pipeline = topn_pipeline(self._scorer(), n=TOP)
        self._pipeline.train(self._data, TrainingOptions(rng=np.random.default_rng(SEED)))

    def _scorer(self) -> Any:  # noqa: ANN401  LensKit has no types here
        if self._name == "popular":
            return PopScorer()
        if self._name == "item-knn":
            return ItemKNNScorer(max_nbrs=NEIGHBOURS, save_nbrs=NEIGHBOURS, feedback="implicit")
        if self._name == "ease":
            return EASEScorer(regularization=RIDGE)
        if self._name == "implicit-mf":
            # Regularization and weight are this project's: with LensKit's own it ranks far worse.
            return ImplicitMFScorer(
                embedding_size=FACTORS, epochs=self._length, regularization=40, weight=8
            )
        return FlexMFImplicitScorer(preset="bpr", embedding_size=FACTORS, epochs=self._length)

    def lists(self) -> Lists:
        self._lists = batch.recommend(self._pipeline, self._users.tolist(), n=TOP)
        lists = {}
        for key, ranked in self._lists:
            lists[int(key.user_id)] = np.asarray(ranked.ids(), dtype=np.int64)
        return lists

    def own_score(self) -> float:
        analysis = RunAnalysis()
        analysis.add_metric(NDCG(n=TOP))
        summary = analysis.measure(self._lists, self._test).list_summary()
        return float(summary["mean"].to_numpy()[0])


def _frame(pairs: np.ndarray) -> pd.DataFrame:
    """Pairs as a table that LensKit reads."""
    return pd.DataFrame({"user_id": pairs[:, 0], "item_id": pairs[:, 1]})
