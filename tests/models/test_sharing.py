"""Configurations fitted together give, bit for bit, the scores of separate fits."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.models import ALGORITHMS
from ecv_core.records.interactions import History, Need
from ecv_core.records.run import no_progress

VALUES = {
    "neighbours": (7, 1, 30, 3, 12, 100),
    "regularization": (250.0, 0.5, 10.0),
    "epochs": (5, 1, 3),
}
SHARING = sorted(name for name, one in ALGORITHMS.items() if one.sharing is not None)


def history_of(algorithm_id: str, train: csr_array) -> History | None:
    if ALGORITHMS[algorithm_id].needs is Need.NOTHING:
        return None
    return History(baskets=np.zeros(train.nnz, dtype=np.int64))


def configurations(algorithm_id: str, **more) -> list[dict]:
    algorithm = ALGORITHMS[algorithm_id]
    (name,) = algorithm.sharing.parameters
    return [dict(algorithm.resolve({name: value, **more})) for value in VALUES[name]]


def separate(algorithm_id: str, params: dict, train: csr_array, users: np.ndarray) -> torch.Tensor:
    algorithm = ALGORITHMS[algorithm_id]
    model = algorithm.build(params)
    algorithm.fit(model, train, lambda: history_of(algorithm_id, train), seed=7)
    return model.score(users).clone()


def check(algorithm_id: str, wanted: list[dict], train: csr_array) -> None:
    users = np.arange(train.shape[0])
    algorithm = ALGORITHMS[algorithm_id]
    models = [algorithm.build(params) for params in wanted]
    history = history_of(algorithm_id, train)
    fits = algorithm.sharing.fit(models, train, seed=7, progress=no_progress, history=history)
    places = []
    for place, model in fits:
        model.score(users)  # what is scored must not disturb what is fitted next
        expected = separate(algorithm_id, wanted[place], train, users)
        assert torch.equal(model.score(users), expected), wanted[place]
        places.append(place)
    assert sorted(places) == list(range(len(wanted)))


@pytest.fixture
def tied() -> csr_array:
    """60 users x 90 items in few patterns, so that many neighbours are equally near."""
    rng = np.random.default_rng(1)
    patterns = rng.random((9, 90)) < 0.3
    return csr_array(patterns[rng.integers(9, size=60)].astype(np.float32))


@pytest.mark.parametrize("algorithm_id", SHARING)
def test_together_as_on_their_own(algorithm_id: str, lopsided: csr_array) -> None:
    check(algorithm_id, configurations(algorithm_id), lopsided)


@pytest.mark.parametrize("algorithm_id", ["item-knn", "user-knn"])
@pytest.mark.parametrize("dense", [True, False])
def test_neighbours_that_tie(
    algorithm_id: str, dense: bool, tied: csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecv_core.models.neighbourhood.dense_is_cheaper", lambda _: dense)
    check(algorithm_id, configurations(algorithm_id, shrink=0.5), tied)


@pytest.mark.parametrize("algorithm_id", ["item-knn", "user-knn"])
def test_neighbours_of_a_matrix_in_parts(
    algorithm_id: str, lopsided: csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecv_core.models.neighbourhood.dense_is_cheaper", lambda _: False)
    monkeypatch.setattr("ecv_core.models.neighbourhood.MAX_SCIPY_PAIRS", 300)
    check(algorithm_id, configurations(algorithm_id), lopsided)


def test_only_shared_parameters_may_differ() -> None:
    bpr = ALGORITHMS["bpr-mf"]
    one, other = bpr.resolve({"epochs": 4}), bpr.resolve({"epochs": 9})
    assert bpr.common_params_of(one) == bpr.common_params_of(other) is not None
    assert bpr.common_params_of(bpr.resolve({"factors": 8})) != bpr.common_params_of(one)
    assert bpr.common_params_of(bpr.resolve({"early_stopping": True})) is None
    popular = ALGORITHMS["popular"]
    assert popular.common_params_of(popular.resolve({})) is None
