import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core.models import algorithm, neighbourhood


def weights_of(dense, alpha, beta):
    """The walk of the paper from item to item, path by path."""
    items = dense.shape[1]
    popularity, activity = dense.sum(axis=0), dense.sum(axis=1)
    weights = np.zeros((items, items))
    for first in range(items):
        for other in np.flatnonzero(dense[:, first]):
            for last in np.flatnonzero(dense[other]):
                if last != first:
                    chance = (1 / popularity[first]) ** alpha * (1 / activity[other]) ** alpha
                    weights[first, last] += chance / popularity[last] ** beta
    return weights


def data_without_ties(alpha):
    """Items that are reached from any two others with different weights: none to choose freely."""
    rng = np.random.default_rng(3)
    while True:
        dense = (rng.random((60, 12)) < 0.4).astype(np.float32)
        weights = weights_of(dense, alpha, 0.0)
        if np.diff(np.sort(weights, axis=0), axis=0).min() > 1e-5 * weights.max():
            return dense


@pytest.fixture(params=["dense", "sparse"])
def representation(request, monkeypatch):
    """Forces one of the two ways to compute, so that both are tested on the same small data."""
    dense = request.param == "dense"
    monkeypatch.setattr(neighbourhood, "dense_is_cheaper", lambda train: dense)
    monkeypatch.setattr(neighbourhood, "DENSE_ITEMS", 1_000_000 if dense else 0)


def scores_of(dense, **params):
    chosen = algorithm("rp3beta")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(csr_array(dense), seed=0)
    return model.score(np.arange(len(dense))).numpy()


@pytest.mark.usefixtures("representation")
@pytest.mark.parametrize("k", [3, 200])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 0.4), (0.2, 0.1), (1.3, 0.9)])
def test_agrees_with_the_walk_path_by_path_over_the_k_best_first_items(k, alpha, beta):
    dense = data_without_ties(alpha)
    weights = weights_of(dense, alpha, beta)
    for last in range(12):
        weights[np.argsort(-weights[:, last])[k:], last] = 0
    scores = scores_of(dense, neighbours=k, alpha=alpha, beta=beta)
    np.testing.assert_allclose(scores, dense @ weights, rtol=1e-4)


def test_hand_worked_walk():
    # User 0 has a alone; user 1 has a, b, c. From a the walk is at user 1 with chance 1/2, and goes
    # on to b or c with chance 1/3 each.
    dense = np.array([[1, 0, 0], [1, 1, 1]], dtype=np.float32)
    np.testing.assert_allclose(scores_of(dense, alpha=1.0, beta=0.0)[0], [0, 1 / 6, 1 / 6])
