"""Small matrices, models with given scores, and the released folds of ml-100k."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.evaluation import evaluate
from ecv_core.models import algorithm

FOLDS = Path(__file__).parents[3] / "shared" / "reference" / "ml-100k.folds.csv.gz"


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
def released_folds():
    """Fold -> (train, held out) of ml-100k, as RecBole and LensKit got them."""
    if not FOLDS.exists():
        pytest.skip("needs ../shared/reference/ml-100k.folds.csv.gz")
    frame = pd.read_csv(FOLDS)
    users = pd.factorize(frame["user_id"], sort=True)[0]
    items = pd.factorize(frame["item_id"], sort=True)[0]

    def part(chosen):
        ones = np.ones(chosen.sum(), dtype=np.float32)
        shape = (users.max() + 1, items.max() + 1)
        result = csr_array((ones, (users[chosen], items[chosen])), shape=shape)
        result.sort_indices()
        return result

    return lambda fold: (part(frame["fold"] != fold), part(frame["fold"] == fold))


@pytest.fixture(scope="session")
def peer_means(released_folds):
    """(algorithm, fold) -> every metric at 10, with the algorithm's defaults."""

    def means(algorithm_id, fold):
        train, held_out = released_folds(fold)
        chosen = algorithm(algorithm_id)
        model = chosen.build(dict(chosen.resolve({})))
        model.fit(train, seed=42)
        return evaluate(model, train, held_out, [10]).means

    return means
