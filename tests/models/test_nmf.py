import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array

from ecv_core.models import algorithm
from ecv_core.records.errors import Cancelled

pytestmark = pytest.mark.usefixtures("on_the_processor")


def fitted(dense, **params):
    chosen = algorithm("nmf")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(csr_array(dense), seed=1)
    return model


@pytest.fixture
def blocks():
    """Three groups of users, each with items of its own: a product of rank 3 without negatives."""
    dense = np.zeros((12, 21), dtype=np.float32)
    for group in range(3):
        dense[4 * group : 4 * group + 4, 7 * group : 7 * group + 7] = 1
    return dense


def test_exact_product_without_negatives_is_found(blocks):
    model = fitted(blocks, factors=3, regularization=0.0, epochs=200)
    np.testing.assert_allclose(model.score(np.arange(12)).numpy(), blocks, atol=1e-3)


@pytest.mark.parametrize("regularization", [0.0, 0.7])
def test_solution_is_the_least_squares_without_negatives_of_each_user_and_item(
    lopsided, regularization
):
    dense = lopsided.toarray()
    model = fitted(dense, factors=4, regularization=regularization, epochs=3000)
    users, items = model._user_factors.numpy(), model._item_factors.numpy()
    pull = np.sqrt(regularization) * np.eye(4)

    def alone(given, wanted):
        return nnls(np.vstack((given.T, pull)), np.concatenate((wanted, np.zeros(4))))[0]

    for user in range(13):
        np.testing.assert_allclose(users[:, user], alone(items, dense[user]), atol=5e-3)
    for item in range(41):
        np.testing.assert_allclose(items[:, item], alone(users, dense[:, item]), atol=5e-3)


def test_no_factor_is_negative_and_the_empty_have_none(lopsided):
    model = fitted(lopsided.toarray(), factors=6, regularization=0.1)
    assert (model._user_factors >= 0).all()
    assert (model._item_factors >= 0).all()
    assert (model._user_factors[:, 3] == 0).all()
    assert (model._item_factors[:, 7] == 0).all()


def test_cancel_takes_effect_within_an_epoch(lopsided):
    calls = []

    def cancel_later(phase, step, steps):
        calls.append(step)
        if len(calls) == 5:
            raise Cancelled("enough")

    chosen = algorithm("nmf")
    with pytest.raises(Cancelled):
        chosen.build(dict(chosen.resolve({}))).fit(lopsided, seed=1, progress=cancel_later)
    assert calls == [0] * 5
