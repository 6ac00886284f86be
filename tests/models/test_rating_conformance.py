"""What every algorithm that predicts ratings promises, whatever it is."""

import numpy as np
import pytest

from ecv_core.models import ALGORITHMS, serving
from ecv_core.records.errors import Cancelled
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.tasks import Task

FEW = {"steps": 12, "dimension": 3, "epochs": 6}
"""Of each parameter that costs time, as little as tests need."""
LEARN = {"sgd-mf": {"epochs": 200, "learning_rate": 0.03, "dimension": 3}}


def ratings(users, items, values, *, n_users=None, n_items=None, times=None):
    users, items = np.asarray(users, dtype=np.int32), np.asarray(items, dtype=np.int32)
    times = np.arange(len(users)) * 86_400 if times is None else times
    return Ratings(
        pairs=Pairs(users=users, items=items, timestamps=np.asarray(times, dtype=np.int64)),
        values=np.asarray(values, dtype=np.float64),
        n_users=n_users or int(users.max()) + 1,
        n_items=n_items or int(items.max()) + 1,
        low=1.0,
        high=5.0,
    )


def ignore(step, steps, predicted=None):
    pass


def answers(name, train, asked=None, *, seed=1, report=ignore, **params):
    known = ALGORITHMS[name]
    few = {one.name: FEW[one.name] for one in known.parameters if one.name in FEW}
    model = known.build(dict(known.resolve(few | params)))
    return model.predict(train, train.pairs if asked is None else asked, seed=seed, report=report)


@pytest.fixture
def lopsided():
    """13 users, 41 items; user 3 has no rating, and item 7 none."""
    rng = np.random.default_rng(5)
    rated = rng.random((13, 41)) < 0.3
    rated[3], rated[:, 7] = False, False
    users, items = np.nonzero(rated)
    return ratings(users, items, rng.integers(1, 6, len(users)), n_users=13, n_items=41)


@pytest.fixture(params=serving(Task.RATINGS))
def name(request):
    return request.param


def test_the_registry_knows_it_by_its_own_id_and_defaults_pass_their_checks(name):
    assert ALGORITHMS[name].id == name
    for parameter in ALGORITHMS[name].parameters:
        assert parameter.parse(parameter.default) == parameter.default
        assert parameter.help
        assert parameter.source


def test_a_seed_decides_what_the_registry_calls_random_and_nothing_else(name, lopsided):
    first = answers(name, lopsided, seed=7)
    assert first.shape == (len(lopsided),)
    assert np.isfinite(first).all()
    assert np.array_equal(first, answers(name, lopsided, seed=7))
    other = answers(name, lopsided, seed=8)
    assert np.array_equal(first, other) is not ALGORITHMS[name].random


def test_learning_changes_neither_global_seeds_nor_what_is_learnt_from(name, lopsided):
    before = lopsided.values.copy(), lopsided.users.copy(), lopsided.items.copy()
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    answers(name, lopsided)
    assert np.random.rand() == expected  # noqa: NPY002
    for old, new in zip(before, (lopsided.values, lopsided.users, lopsided.items), strict=True):
        assert np.array_equal(old, new)


def test_each_answer_belongs_to_its_pair_in_whatever_order_they_are_asked(name, lopsided):
    order = np.random.default_rng(2).permutation(len(lopsided))
    pairs = lopsided.pairs
    mixed = Pairs(
        users=pairs.users[order], items=pairs.items[order], timestamps=pairs.timestamps[order]
    )
    np.testing.assert_allclose(
        answers(name, lopsided, mixed), answers(name, lopsided)[order], atol=1e-6
    )


def test_unknown_users_items_and_times_are_answered_by_the_mean_that_they_can_have(name):
    # Half of the items get 5 and half 3 of everybody; user 20, item 30 and the day are unknown.
    users, items = (one.ravel() for one in np.meshgrid(np.arange(20), np.arange(30), indexing="ij"))
    times = np.arange(len(users)) % 7 * 86_400
    train = ratings(users, items, np.where(items % 2, 5, 3), n_users=21, n_items=31, times=times)
    asked = Pairs(
        users=np.array([20, 20, 0, 20], dtype=np.int32),
        items=np.array([1, 2, 30, 30], dtype=np.int32),
        timestamps=np.full(4, 9999 * 86_400),
    )
    learnt = LEARN.get(name, {"steps": 40} if "bayesian" in name else {})
    found = answers(name, train, asked, **learnt)
    assert found.tolist() == pytest.approx([5, 3, 4, 4], abs=0.5)


@pytest.mark.parametrize("size", [1, 2])
def test_tiny_data_works(name, size):
    train = ratings(np.zeros(size), np.arange(size), [4, 2][:size])
    assert np.isfinite(answers(name, train)).all()


def test_reports_every_step_and_last_what_it_returns(name, lopsided):
    calls = []
    found = answers(name, lopsided, report=lambda *call: calls.append(call))
    steps = [call[0] for call in calls]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert {call[1] for call in calls} == {steps[-1]}
    assert np.array_equal(calls[-1][2], found)


def test_a_report_can_cancel_at_the_start_and_half_way(name, lopsided):
    for at in (0, 1):

        def cancel(step, steps, predicted=None, at=at):
            if step >= at:
                raise Cancelled("enough")

        with pytest.raises(Cancelled):
            answers(name, lopsided, report=cancel)


@pytest.mark.parametrize("name", [one for one in serving(Task.RATINGS) if one != "bias"])
def test_learns_tastes_that_no_mean_can_tell(name):
    # Users like the items of their own parity: 5, and dislike the others: 1. Every mean is 3.
    rng = np.random.default_rng(4)
    users, items = (one.ravel() for one in np.meshgrid(np.arange(30), np.arange(40), indexing="ij"))
    values = np.where(users % 2 == items % 2, 5.0, 1.0)
    learnt = rng.random(len(users)) < 0.8
    train = ratings(users[learnt], items[learnt], values[learnt])
    asked = ratings(users[~learnt], items[~learnt], values[~learnt]).pairs
    params = LEARN.get(name, {"dimension": 3})
    found = answers(name, train, asked, **params)
    assert np.sqrt(np.mean((found.clip(1, 5) - values[~learnt]) ** 2)) < 0.5  # by means alone 2
