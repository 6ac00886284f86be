"""Cornac's models, partly compiled, which rank one user at a time."""

from __future__ import annotations

from typing import Any

import script  # ecv_core/bridges/script.py, whose folder is on the path
from cornac import models
from cornac.eval_methods.base_method import BaseMethod

from benchmarks.peer_models import FACTORS, NEIGHBOURS, RIDGE, SEED, TOP, Fold, Lists


class Model:
    """A model with Cornac's defaults, but for sizes."""

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        self._name = name
        self._length = length
        self._parts = {"train": fold.train, "validation": fold.train[:0], "test": fold.test}
        triples = {}
        for part, pairs in self._parts.items():
            triples[part] = [(user, item, 1.0) for user, item in pairs.tolist()]
        self._method = BaseMethod.from_splits(
            triples["train"], triples["test"], fmt="UIR", exclude_unknowns=False, seed=SEED
        )
        self._job = {"metric": "ndcg", "n": TOP, "train_items": False}

    def fit(self) -> None:
        self._model = self._made()
        self._model.fit(self._method.train_set)

    def _made(self) -> Any:  # noqa: ANN401  Cornac has no types
        if self._name == "popular":
            return models.MostPop()
        if self._name == "item-knn":
            return models.ItemKNN(k=NEIGHBOURS, similarity="cosine", verbose=False, seed=SEED)
        if self._name == "ease":
            return models.EASE(lamb=RIDGE, posB=False, verbose=False, seed=SEED)
        return models.BPR(k=FACTORS, max_iter=self._length, verbose=False, seed=SEED)

    def lists(self) -> Lists:
        lists: Lists = script.cornac_lists(self._job, self._parts, self._model, self._method)
        return lists

    def own_score(self) -> float:
        return float(script.cornac_score(self._job, self._model, self._method))
