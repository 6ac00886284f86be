import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, Past, leakage, serving, split
from ecv_core.splits.parts import Leakage


def interactions_of(rows, *, baskets=False):
    """From (user, item, time) rows."""
    users, items, times = (np.array(column) for column in zip(*rows, strict=True))
    return Interactions(
        dataset="leaky",
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        user_ids=np.arange(10).astype(str),
        item_ids=np.arange(10).astype(str),
        timestamps=None if baskets else times.astype(np.int64),
        baskets=times.astype(np.int32) if baskets else None,
    )


def folds_of(parts):
    return Folds(strategy="hand", k=1, seed=None, draw=lambda index: np.array(parts, dtype=np.int8))


def counted(pairs):
    pairs = list(pairs)
    return sum(pairs) / len(pairs) if pairs else None


def brute_force(rows, parts):
    train = [row for row, part in zip(rows, parts, strict=True) if part == Part.TRAIN]
    test = [row for row, part in zip(rows, parts, strict=True) if part == Part.TEST]
    return Leakage(
        of_any_user=counted(a[2] > b[2] for a in train for b in test),
        of_same_item=counted(a[2] > b[2] for a in train for b in test if a[1] == b[1]),
        of_same_user=counted(a[2] > b[2] for a in train for b in test if a[0] == b[0]),
        leaked_tests=counted(any(a[2] > b[2] for a in train) for b in test) if train else None,
    )


rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-5, 5) | st.just(10**15)),
    min_size=1,
    max_size=25,
)


@given(rows=rows, data=st.data())
def test_equals_counting_every_pair(rows, data):
    parts = data.draw(st.lists(st.sampled_from(list(Part)), min_size=len(rows), max_size=len(rows)))
    assert leakage(interactions_of(rows), folds_of(parts), 0) == brute_force(rows, parts)


def test_a_worked_example():
    # User 0 is tested on item 1 at time 5. Training: its own item 0 at 3 and item 2 at 9, and
    # user 1's item 1 at 8. Later: two of all three; the only one of item 1; one of its own two.
    rows = [(0, 0, 3), (0, 1, 5), (0, 2, 9), (1, 1, 8)]
    parts = [Part.TRAIN, Part.TEST, Part.TRAIN, Part.TRAIN]
    assert leakage(interactions_of(rows), folds_of(parts), 0) == Leakage(
        of_any_user=2 / 3, of_same_item=1.0, of_same_user=0.5, leaked_tests=1.0
    )


def test_the_same_moment_is_no_leak():
    found = leakage(interactions_of([(0, 0, 5), (0, 1, 5)]), folds_of([Part.TRAIN, Part.TEST]), 0)
    assert found == Leakage(of_any_user=0.0, of_same_item=None, of_same_user=0.0, leaked_tests=0.0)


def test_baskets_compare_within_a_user_only():
    rows = [(0, 0, 5), (0, 1, 3), (1, 1, 9)]
    found = leakage(
        interactions_of(rows, baskets=True), folds_of([Part.TRAIN, Part.TEST, Part.TRAIN]), 0
    )
    assert found == Leakage(
        of_any_user=None, of_same_item=None, of_same_user=1.0, leaked_tests=None
    )


def test_without_any_order_nothing_is_known(make_interactions):
    interactions = make_interactions([9, 9])
    assert leakage(interactions, split(interactions, "user-k-fold", 3, 0), 0) is None


@pytest.mark.parametrize("name", serving(Task.TOP_N))
def test_each_strategy_leaks_as_it_says(make_interactions, name):
    rng = np.random.default_rng(0)
    times = rng.integers(0, 1000, 400)
    interactions = make_interactions([20] * 20, times=times, baskets=times // 10)
    folds = split(interactions, name, min(2, SPLITS[name].most_k), 0)
    found = leakage(interactions, folds, 0)
    if SPLITS[name].past is Past.EVERYBODY:
        assert found == Leakage(
            of_any_user=0.0, of_same_item=0.0, of_same_user=0.0, leaked_tests=0.0
        )
    elif name == "leave-last-basket":  # times within a basket may be out of order
        assert found.of_same_user < 0.01
        assert found.of_any_user > 0
    elif SPLITS[name].past is Past.USER:
        assert found.of_same_user == 0
        assert found.of_any_user > 0
    else:
        assert found.of_any_user == pytest.approx(
            0.5, abs=0.1
        )  # times are random, and so is the split
