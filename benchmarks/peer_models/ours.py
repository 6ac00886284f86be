"""The models of this project, fitted and evaluated as a fold of a run is."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from scipy.sparse import csr_array

from benchmarks.peer_models import SEED, TOP, Fold, Lists
from ecv_core import evaluation
from ecv_core.models import algorithm
from ecv_core.records.interactions import History


class Model:
    """A model with its defaults; its lists are not handed out, but evaluated where they are made.

    So what it is charged for its lists has all metrics of a run in it.
    """

    def __init__(self, name: str, length: int, fold: Fold) -> None:
        self._algorithm = algorithm(name)
        self._params = self._algorithm.with_defaults(())
        if "epochs" in self._params:
            self._params["epochs"] = length
        self._train = _matrix(fold.train, fold)
        self._test = _matrix(fold.test, fold)
        self._algorithm.build(self._params)  # imports what the model needs
        if self._algorithm.with_torch:
            import_module("torch")
        evaluation.load_compiled(fold.users * fold.items)

    def fit(self) -> None:
        self._model = self._algorithm.build(self._params)
        self._algorithm.fit(self._model, self._train, _no_history, seed=SEED)

    def lists(self) -> Lists:
        self._evaluated = evaluation.evaluate(
            self._model, self._train, self._test, (TOP,), train=self._train
        )
        return {}

    def own_score(self) -> float:
        return self._evaluated.means["ndcg@10"]


def _matrix(pairs: np.ndarray, fold: Fold) -> csr_array:
    """Pairs as a matrix of users and items."""
    values = np.ones(len(pairs), dtype=np.float32)
    matrix = csr_array((values, pairs.T), shape=(fold.users, fold.items))
    matrix.sort_indices()
    return matrix


def _no_history() -> History:
    raise NotImplementedError("none of the models that are compared needs times or baskets")
