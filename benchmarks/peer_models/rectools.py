"""RecTools' own models; its ALS, BPR and item-knn are implicit's, fitted and ranked by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import CosineRecommender
from rectools import Columns
from rectools.dataset import Dataset
from rectools.metrics import NDCG
from rectools.models import (
    EASEModel,
    ImplicitALSWrapperModel,
    ImplicitItemKNNWrapperModel,
    PopularModel,
)

from benchmarks.peer_models import FACTORS, NEIGHBOURS, RIDGE, SEED, TOP, Fold, Lists


class Model:
    """A model with RecTools' defaults, but for sizes."""

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        self._name = name
        self._length = length
        self._users = fold.test_users()
        self._data = Dataset.construct(_frame(fold.train))
        self._test = _frame(fold.test)

    def fit(self) -> None:
        self._model = self._made()
        self._model.fit(self._data)

    def _made(self) -> Any:  # noqa: ANN401  RecTools' types are not here
        if self._name == "popular":
            return PopularModel()
        if self._name == "item-knn":
            return ImplicitItemKNNWrapperModel(CosineRecommender(K=NEIGHBOURS))
        if self._name == "ease":
            return EASEModel(regularization=RIDGE)
        return ImplicitALSWrapperModel(
            AlternatingLeastSquares(factors=FACTORS, iterations=self._length, random_state=SEED)
        )

    def lists(self) -> Lists:
        self._lists = self._model.recommend(self._users, self._data, k=TOP, filter_viewed=True)
        lists = {}
        for user, rows in self._lists.groupby(Columns.User, sort=False):
            lists[int(user)] = rows[Columns.Item].to_numpy()
        return lists

    def own_score(self) -> float:
        metric = NDCG(k=TOP, divide_by_achievable=True)
        return float(metric.calc(self._lists, self._test))


def _frame(pairs: np.ndarray) -> pd.DataFrame:
    """Pairs as a table that RecTools reads, which asks for weights and times."""
    return pd.DataFrame(
        {
            Columns.User: pairs[:, 0],
            Columns.Item: pairs[:, 1],
            Columns.Weight: 1.0,
            Columns.Datetime: pd.Timestamp("2026-01-01"),
        }
    )
