"""What every algorithm that ranks promises; of ratings: test_rating_conformance.py."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.models import ALGORITHMS, serving
from ecv_core.models.base import Recommender
from ecv_core.records.errors import Cancelled, DatasetError
from ecv_core.records.interactions import History, Need
from ecv_core.records.run import no_progress
from ecv_core.records.tasks import Task

RANKING = sorted(serving(Task.TOP_N))
PERSONAL = sorted(set(RANKING) - {"popular"})


STEPS = {name: {"epochs": 100} for name in ("neu-mf", "triple2vec", "vbcar")}
"""What a model needs to learn from data so small that an epoch is a single step."""


class Tensors:
    """A model whose scores, arrays or tensors, are tensors over the same memory."""

    def __init__(self, model: Recommender) -> None:
        self._model = model

    def score(self, users):
        return torch.as_tensor(self._model.score(users))


def fitted(algorithm_id, train, *, seed=1, progress=no_progress, **params) -> Tensors:
    algorithm = ALGORITHMS[algorithm_id]
    model = algorithm.build(dict(algorithm.resolve(params)))
    history = History(baskets=np.zeros(train.nnz, dtype=np.int64))  # one for each user
    algorithm.fit(model, train, lambda: history, seed=seed, progress=progress)
    return Tensors(model)


@pytest.fixture(params=RANKING)
def algorithm_id(request):
    return request.param


@pytest.fixture(scope="module")
def known():
    return {}


@pytest.fixture
def model(algorithm_id, lopsided, known):
    """Fitted once, with seed 7, for all who only ask it for scores."""
    if algorithm_id not in known:
        known[algorithm_id] = fitted(algorithm_id, lopsided, seed=7)
    return known[algorithm_id]


def test_registry_key_is_the_algorithms_own_id(algorithm_id):
    assert ALGORITHMS[algorithm_id].id == algorithm_id


def test_defaults_pass_their_own_checks(algorithm_id):
    for parameter in ALGORITHMS[algorithm_id].parameters:
        assert parameter.parse(parameter.default) == parameter.default
        assert parameter.help
        assert parameter.source


def test_scores_are_finite_float32_one_per_user_and_item(model):
    scores = model.score(np.arange(13))  # user 3 has nothing to be trained on
    assert scores.shape == (13, 41)
    assert scores.dtype == torch.float32
    assert torch.isfinite(scores).all()


def test_same_seed_gives_the_same_scores(algorithm_id, lopsided, model):
    again = fitted(algorithm_id, lopsided, seed=7).score(np.arange(13))
    assert torch.equal(model.score(np.arange(13)), again)


def test_the_registry_says_which_models_draw_random_numbers(algorithm_id, lopsided, model):
    first = model.score(np.arange(13))
    other = fitted(algorithm_id, lopsided, seed=8).score(np.arange(13))
    assert torch.equal(first, other) is not ALGORITHMS[algorithm_id].random


def test_fitting_changes_neither_global_seeds_nor_the_training_matrix(algorithm_id, lopsided):
    before = lopsided.copy()
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = torch.rand(1), np.random.rand()  # noqa: NPY002
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    fitted(algorithm_id, lopsided).score(np.arange(13))
    assert (torch.rand(1), np.random.rand()) == expected  # noqa: NPY002
    assert (before != lopsided).nnz == 0
    assert lopsided.has_sorted_indices


def test_blocks_of_users_agree_with_all_at_once(model):
    together = model.score(np.arange(13))
    for block in ([0, 1, 2], [3], [12, 4, 4]):
        torch.testing.assert_close(model.score(np.array(block)), together[block])


def test_overwriting_a_block_of_scores_does_not_change_the_model(model):
    expected = model.score(np.arange(13)).clone()
    model.score(np.arange(13)).fill_(-torch.inf)
    assert torch.equal(model.score(np.arange(13)), expected)


@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (1, 4)])
def test_tiny_data_works(algorithm_id, shape):
    train = csr_array(np.ones(shape, dtype=np.float32))
    if ALGORITHMS[algorithm_id].needs is Need.BASKETS and shape[1] == 1:
        with pytest.raises(DatasetError, match="no basket of the training data holds two items"):
            fitted(algorithm_id, train)
        return
    scores = fitted(algorithm_id, train).score(np.arange(shape[0]))
    assert scores.shape == shape
    assert torch.isfinite(scores).all()


def test_reports_progress_up_to_its_last_step(algorithm_id, lopsided):
    calls = []
    fitted(algorithm_id, lopsided, progress=lambda *call, **_: calls.append(call))
    phases, steps, totals = zip(*calls, strict=True)
    assert set(phases) == {"fit"}
    assert list(steps) == sorted(steps)
    assert len(set(totals)) == 1
    assert steps[-1] == totals[-1] > 0


def test_progress_can_cancel_the_fit(algorithm_id, lopsided):
    def cancel(phase, step, steps):
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        fitted(algorithm_id, lopsided, progress=cancel)


@pytest.mark.parametrize("algorithm_id", PERSONAL)
def test_finds_the_one_item_that_all_similar_users_have(algorithm_id, checkerboard):
    given = STEPS.get(algorithm_id, {})
    scores = fitted(algorithm_id, checkerboard, **given).score(np.arange(20))
    scores[torch.from_numpy(checkerboard.toarray() > 0)] = -torch.inf
    assert scores.argmax(dim=1).tolist() == list(range(20))
