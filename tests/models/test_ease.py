import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.models import algorithm, ease
from ecv_core.records.errors import RunError

pytestmark = pytest.mark.usefixtures("on_the_processor")


def scores_of(dense, **params):
    chosen = algorithm("ease")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(csr_array(dense), seed=0)
    return model.score(np.arange(len(dense))).numpy()


def regressed(dense, regularization):
    """Each item by a ridge regression on all the others: the problem that EASE solves at once."""
    items = dense.shape[1]
    weights = np.zeros((items, items))
    for target in range(items):
        others = np.delete(np.arange(items), target)
        x = dense[:, others].astype(np.float64)
        gram = x.T @ x + regularization * np.eye(len(others))
        weights[others, target] = np.linalg.solve(gram, x.T @ dense[:, target])
    return dense @ weights


@pytest.mark.parametrize("cheaper", [True, False])
@pytest.mark.parametrize("regularization", [0.5, 20.0])
def test_agrees_with_one_regression_per_item(monkeypatch, cheaper, regularization):
    monkeypatch.setattr(ease, "dense_is_cheaper", lambda train: cheaper)
    dense = (np.random.default_rng(0).random((30, 45)) < 0.2).astype(np.float32)
    scores = scores_of(dense, regularization=regularization)
    np.testing.assert_allclose(scores, regressed(dense, regularization), rtol=1e-3, atol=1e-4)


@pytest.fixture
def threads_as_they_were():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads_as_they_were")
def test_scores_are_the_same_to_the_last_bit_on_any_number_of_cores():
    dense = (np.random.default_rng(0).random((800, 500)) < 0.05).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(scores_of(dense))
        assert torch.get_num_threads() == threads
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_hand_worked_case():
    # Two items that two users share: the weight of either on the other is 2 / (2 + 2).
    np.testing.assert_allclose(
        scores_of(np.ones((2, 2), dtype=np.float32), regularization=2.0),
        [[0.5, 0.5], [0.5, 0.5]],
        rtol=1e-6,
    )


def test_unsolvable_numbers_are_one_sentence():
    # What the range of the parameter lets through can always be solved on data this small.
    with pytest.raises(RunError, match=r"regularization -5000: .* try a higher one"):
        ease.EASE({"regularization": -5000.0}).fit(csr_array(np.ones((9, 2), np.float32)), seed=0)
