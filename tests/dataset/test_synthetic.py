import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import synthetic
from ecv_core.dataset.pruning import prepare
from ecv_core.records.interactions import Interactions


@pytest.fixture(scope="module")
def prepared() -> Interactions:
    return prepare(datasets.load("synthetic"))


def test_the_same_seed_gives_the_same_data():
    one, two, other = (synthetic.generate(seed) for seed in (1, 1, 2))
    for name in ("users", "items", "ratings", "timestamps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert len(one) != len(other) or not np.array_equal(one.items, other.items)


def test_is_about_as_large_and_dense_as_movielens_100k(prepared: Interactions):
    assert prepared.n_users == pytest.approx(943, rel=0.05)
    assert prepared.n_items == pytest.approx(1_349, rel=0.05)
    assert len(prepared) == pytest.approx(99_287, rel=0.05)


def test_has_the_counts_that_the_catalogue_shows(prepared: Interactions):
    entry = datasets.entry("synthetic")
    found = (prepared.n_users, prepared.n_items, len(prepared))
    assert found == (entry.users, entry.items, entry.interactions)


def test_nobody_has_an_item_twice(prepared: Interactions):
    pairs = prepared.users.astype(np.int64) * prepared.n_items + prepared.items
    assert len(np.unique(pairs)) == len(prepared)


def test_activity_is_as_the_parameters_say():
    world = synthetic.Parameters()
    activity = np.bincount(synthetic.generate().users)
    assert activity.min() == world.least_activity
    assert activity.max() <= world.most_activity
    # Between the bounds it is log-normal, so the median is the parameter; 943 users, 3 errors.
    error = 1.2533 * world.activity_sigma / np.sqrt(world.users)
    assert abs(np.log(np.median(activity) / world.median_activity)) < 3 * error


def test_times_lie_in_the_visit_of_the_user_and_in_the_year():
    data = synthetic.generate()
    assert data.timestamps is not None
    year_2024 = np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[s]").astype(np.int64)
    assert data.timestamps.min() >= year_2024[0]
    assert data.timestamps.max() < year_2024[1]
    stays = [np.ptp(data.timestamps[data.users == user]) / 86_400 for user in range(100)]
    assert np.median(stays) < 40  # a user comes for weeks, not all year


def test_without_tastes_popularity_follows_zipf():
    world = synthetic.Parameters(
        users=2_000, items=100, taste_strength=0, zipf_exponent=1, zipf_shift=0,
        median_activity=1, activity_sigma=0, least_activity=1, share_released_later=0,
    )  # fmt: skip
    counts = np.sort(np.bincount(synthetic.generate(3, world).items, minlength=100))[::-1]
    harmonic = (1 / np.arange(1, 101)).sum()
    for rank in (1, 2, 3):
        expected = 2_000 / harmonic / rank
        assert counts[rank - 1] == pytest.approx(expected, abs=4 * np.sqrt(expected))


def test_nothing_is_taken_before_it_is_out():
    world = synthetic.Parameters(users=50, items=80, share_released_later=1.0)
    data = synthetic.generate(1, world)  # items few and late: some users cannot take their fill
    assert data.timestamps is not None
    assert np.bincount(data.users, minlength=50).min() < world.least_activity


def test_tastes_recommend_better_than_popularity(prepared: Interactions):
    """Cosine item similarities, worked out densely, against popularity: hits among the top 10."""
    held_out = np.random.default_rng(0).random(len(prepared)) < 0.1
    shape = (prepared.n_users, prepared.n_items)
    train, test = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=bool)
    train[prepared.users[~held_out], prepared.items[~held_out]] = 1
    test[prepared.users[held_out], prepared.items[held_out]] = True
    norms = np.maximum(np.linalg.norm(train, axis=0), 1)
    similar = (train.T @ train) / np.outer(norms, norms)
    np.fill_diagonal(similar, 0)

    def hits(scores: np.ndarray) -> int:
        top = np.argpartition(np.where(train > 0, np.inf, -scores), 10, axis=1)[:, :10]
        return int(np.take_along_axis(test, top, axis=1).sum())

    popular = hits(np.broadcast_to(train.sum(axis=0), shape))
    assert hits(train @ similar) > 1.3 * popular
