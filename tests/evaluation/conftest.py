"""Small matrices, models with given scores, and the released folds of ml-100k."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core import dataset as datasets
from ecv_core.dataset.pruning import prepare
from ecv_core.evaluation import evaluate
from ecv_core.models import algorithm

FOLDS = Path(__file__).with_name("ml-100k.folds.gz")
"""Of each interaction of the prepared data, by user and then item: the digit of its fold."""


class GivenScores:
    """A model whose scores are given; counts how often it is asked."""

    def __init__(self, scores):
        self.scores = torch.tensor(np.asarray(scores), dtype=torch.float32)
        self.blocks = []

    def score(self, users):
        self.blocks.append(len(users))
        return self.scores[torch.from_numpy(users)]


@pytest.fixture(scope="session")
def given_scores():
    return GivenScores


@pytest.fixture(scope="session")
def matrix():
    return lambda *rows: csr_array(np.array(rows, dtype=np.float32))


@pytest.fixture(scope="session")
def ml_100k():
    """The prepared dataset, wherever this machine has it, as in `tests/conftest.py`."""
    if not datasets.available(datasets.entry("ml-100k")):
        pytest.skip("ml-100k is not on this machine: python -m ecv_core download ml-100k")
    return prepare(datasets.load("ml-100k"))


@pytest.fixture(scope="session")
def released_fold_numbers():
    """The fold of each interaction of `ml_100k`; shape (interactions,)."""
    return np.frombuffer(gzip.decompress(FOLDS.read_bytes()), dtype=np.uint8) - ord("0")


@pytest.fixture(scope="session")
def released_folds(ml_100k, released_fold_numbers):
    """Fold -> (train, held out) of ml-100k, as RecBole and LensKit got them."""

    def part(chosen):
        ones = np.ones(chosen.sum(), dtype=np.float32)
        shape = (ml_100k.n_users, ml_100k.n_items)
        result = csr_array((ones, (ml_100k.users[chosen], ml_100k.items[chosen])), shape=shape)
        result.sort_indices()
        return result

    return lambda fold: (part(released_fold_numbers != fold), part(released_fold_numbers == fold))


@pytest.fixture(scope="session")
def peer_means(released_folds):
    """(algorithm, fold) -> every metric at 10, with defaults where nothing is given."""

    @cache
    def means(algorithm_id, fold, **params):
        train, held_out = released_folds(fold)
        chosen = algorithm(algorithm_id)
        model = chosen.build(dict(chosen.resolve(params)))
        model.fit(train, seed=42)
        return evaluate(model, train, held_out, [10]).means

    return means
