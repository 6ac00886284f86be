"""implicit: ALS, BPR and item-knn, compiled with Cython."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from implicit.nearest_neighbours import CosineRecommender
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from benchmarks.peer_models import FACTORS, NEIGHBOURS, SEED, TOP, Fold, Lists


class Model:
    """A model with implicit's defaults, but for sizes; `recommend` lists users by blocks."""

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        self._name = name
        self._length = length
        self._users = fold.test_users()
        values = np.ones(len(fold.train), dtype=np.float32)
        self._train = csr_matrix((values, fold.train.T), shape=(fold.users, fold.items))

    def fit(self) -> None:
        self._model = self._made()
        # One thread is what its warning asks for; ALS is four times as fast.
        with threadpool_limits(1, user_api="blas"):
            self._model.fit(self._train, show_progress=False)

    def _made(self) -> Any:  # noqa: ANN401  implicit has no types
        if self._name == "item-knn":
            return CosineRecommender(K=NEIGHBOURS)
        if self._name == "implicit-mf":
            return AlternatingLeastSquares(
                factors=FACTORS, iterations=self._length, random_state=SEED
            )
        return BayesianPersonalizedRanking(
            factors=FACTORS, iterations=self._length, random_state=SEED
        )

    def lists(self) -> Lists:
        items, _ = self._model.recommend(self._users, self._train[self._users], N=TOP)
        return dict(zip(self._users.tolist(), items, strict=True))

    def own_score(self) -> float:
        return math.nan  # its evaluation cuts what it ranks at random itself
