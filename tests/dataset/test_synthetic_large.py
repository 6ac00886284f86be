import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import synthetic
from ecv_core.dataset.pruning import prepare
from ecv_core.dataset.synthetic import generate_large as generate
from ecv_core.dataset.synthetic import size_of
from ecv_core.records.errors import InputError, UnknownName


def test_the_same_size_and_seed_give_the_same_data():
    one, two, other = generate(20_000, 1), generate(20_000, 1), generate(20_000, 2)
    np.testing.assert_array_equal(one.users, two.users)
    np.testing.assert_array_equal(one.items, two.items)
    assert len(one) != len(other)


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_has_about_the_size_asked_for_and_nothing_twice(size):
    data = prepare(generate(size))
    assert len(data) == pytest.approx(size, rel=0.15)
    cells = data.users.astype(np.int64) * data.n_items + data.items
    assert np.all(np.diff(cells) > 0)


def own_over_foreign() -> float:
    """How much nearer a user's items are to each other than to those of another user."""
    data = prepare(generate(50_000))
    rows = np.zeros((data.n_users, data.n_items), dtype=np.float32)
    rows[data.users, data.items] = 1
    near = rows[100:].T @ rows[100:]  # of users who are not looked at
    np.fill_diagonal(near, 0)
    near /= np.outer(rows.sum(axis=0), rows.sum(axis=0))  # popularity apart
    rows /= rows.sum(axis=1, keepdims=True)  # and activity
    own, other = rows[:50], rows[50:100]
    return ((own @ near) * own).sum() / ((own @ near) * other).sum()


def test_users_keep_to_what_they_like(monkeypatch):
    with_tastes = own_over_foreign()
    monkeypatch.setattr(synthetic, "LIKED_SHARE", 0.0)
    assert with_tastes > 1.2 * own_over_foreign()


def test_an_id_says_the_size():
    assert size_of("synthetic-large") == 1_000_000
    assert size_of("synthetic-large-20000") == 20_000
    assert size_of("synthetic") is None
    assert datasets.load("synthetic-large-20000").dataset == "synthetic-large-20000"
    assert datasets.available(datasets.entry("synthetic-large-20000"))
    with pytest.raises(InputError, match="from 10,000 to 1,000,000,000 interactions, not 7"):
        datasets.entry("synthetic-large-7")
    with pytest.raises(UnknownName):
        datasets.entry("synthetic-large-some")
