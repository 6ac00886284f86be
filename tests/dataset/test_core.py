from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.dataset.pruning import ascending_places, prepare
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

Pairs = list[tuple[str, str]]


def interactions(pairs: Pairs) -> Interactions:
    """Codes in order of first appearance, each interaction's time its position."""
    user_ids = list(dict.fromkeys(user for user, _ in pairs))
    item_ids = list(dict.fromkeys(item for _, item in pairs))
    return Interactions(
        dataset="made",
        users=np.array([user_ids.index(user) for user, _ in pairs], dtype=np.int32),
        items=np.array([item_ids.index(item) for _, item in pairs], dtype=np.int32),
        user_ids=np.array(user_ids, dtype=np.str_),
        item_ids=np.array(item_ids, dtype=np.str_),
        timestamps=np.arange(len(pairs)),
    )


def pairs_of(data: Interactions) -> Pairs:
    return list(
        zip(data.user_ids[data.users].tolist(), data.item_ids[data.items].tolist(), strict=True)
    )


def naive_core(pairs: set[tuple[str, str]], core: int) -> set[tuple[str, str]]:
    while True:
        users = Counter(user for user, _ in pairs)
        items = Counter(item for _, item in pairs)
        left = {(u, i) for u, i in pairs if users[u] >= core and items[i] >= core}
        if left == pairs:
            return left
        pairs = left


some_pairs = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["1", "2", "3", "10", "20", "30"])),
    unique=True,
    min_size=1,
)


@given(some_pairs, st.integers(0, 4))
def test_equals_pruning_one_by_one(pairs: Pairs, core: int):
    expected = naive_core(set(pairs), core)
    if not expected:
        with pytest.raises(DatasetError):
            prepare(interactions(pairs), core)
    else:
        assert pairs_of(prepare(interactions(pairs), core)) == sorted(expected)


@given(some_pairs, st.randoms())
def test_does_not_depend_on_the_order_of_rows(pairs: Pairs, random):
    one = prepare(interactions(pairs), 1)
    random.shuffle(pairs)
    two = prepare(interactions(pairs), 1)
    for name in ("users", "items", "user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@given(some_pairs)
def test_every_code_is_used_and_has_the_type_of_a_code(pairs: Pairs):
    data = prepare(interactions(pairs), 1)
    np.testing.assert_array_equal(np.unique(data.users), np.arange(data.n_users))
    np.testing.assert_array_equal(np.unique(data.items), np.arange(data.n_items))
    assert (data.users.dtype, data.items.dtype) == (np.int32, np.int32)


def test_prunes_until_nothing_changes():
    # c falls first (one item); then 2 has one user left; then b has one item left, and so on.
    chain = [("c", "2"), ("b", "2"), ("b", "1"), ("a", "1")]
    square = [("x", "8"), ("x", "9"), ("y", "8"), ("y", "9")]
    assert pairs_of(prepare(interactions(chain + square), 2)) == square


def test_times_and_ratings_stay_with_their_interaction():
    pairs = [("b", "2"), ("a", "9"), ("b", "1"), ("a", "1"), ("a", "2")]
    data = prepare(interactions(pairs), 2)
    assert data.timestamps is not None
    assert data.ratings is None
    # Sorted: (a, 1), (a, 2), (b, 1), (b, 2); item 9 has one user.
    assert data.timestamps.tolist() == [3, 4, 2, 0]


def test_baskets_and_sequence_stay_with_their_interaction():
    pairs = [("b", "2"), ("a", "9"), ("b", "1"), ("a", "1"), ("a", "2")]
    data = replace(
        interactions(pairs),
        baskets=np.array([5, 6, 7, 8, 9], dtype=np.int32),
        sequence=np.array([0, 1, 2, 3, 4], dtype=np.int32),
    )
    kept = prepare(data, 2)
    # Sorted: (a, 1), (a, 2), (b, 1), (b, 2); item 9 has one user.
    assert kept.baskets.tolist() == [8, 9, 7, 5]
    assert kept.sequence.tolist() == [3, 4, 2, 0]


def test_nothing_left_says_so_with_the_counts():
    pairs = [("a", "1"), ("a", "2"), ("b", "1")]
    with pytest.raises(DatasetError) as caught:
        prepare(interactions(pairs))
    assert str(caught.value) == (
        "nothing of dataset 'made' survives 5-core pruning: no part of its 3 interactions "
        "(2 users, 2 items) gives every user and item 5 of them; use a denser or larger dataset"
    )


@pytest.mark.parametrize("factor", [1, 2**61], ids=["beside their places", "by themselves"])
def test_places_are_those_of_ascending_numbers(factor: int):
    numbers = np.array([3, 0, 2, 1], dtype=np.int64) * factor
    assert ascending_places(numbers).tolist() == [1, 3, 2, 0]
