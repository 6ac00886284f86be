import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.splits import PartCounts, fold_parts, split


def test_a_worked_example():
    # Two users and three items are learnt from; the test part has a new user and a new item.
    interactions = Interactions(
        dataset="hand",
        users=np.array([0, 0, 1, 1, 2, 0], dtype=np.int32),
        items=np.array([0, 1, 0, 3, 1, 2], dtype=np.int32),
        user_ids=np.array(["a", "b", "c"]),
        item_ids=np.array(["w", "x", "y", "z"]),
        timestamps=np.array([10, 20, 15, 40, 50, 30]),
        baskets=np.array([0, 0, 0, 1, 0, 1], dtype=np.int32),
    )
    parts = [Part.TRAIN, Part.TRAIN, Part.TRAIN, Part.TEST, Part.UNKNOWN, Part.UNUSED]
    folds = Folds(
        strategy="hand", k=1, seed=None, draw=lambda index: np.array(parts, dtype=np.int8)
    )
    found = fold_parts(interactions, folds, 0)
    assert found.counts[Part.TRAIN] == PartCounts(
        interactions=3, users=2, items=2, baskets=2, first_time=10, last_time=20
    )
    assert found.counts[Part.TEST] == PartCounts(
        interactions=1, users=1, items=1, baskets=1, first_time=40, last_time=40
    )
    assert found.counts[Part.VALIDATION] == PartCounts(
        interactions=0, users=0, items=0, baskets=0, first_time=None, last_time=None
    )
    assert (found.unknown_users, found.unknown_items, found.unknown_interactions) == (1, 1, 2)
    assert found.dropped == 1


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_counts_equal_sets(make_interactions, sizes, seed):
    interactions = make_interactions([*sizes, 9])
    folds = split(interactions, "record-k-fold", 3, seed)
    found, parts = fold_parts(interactions, folds, 1), folds.parts(1)
    for part in Part:
        rows = parts == part
        counts = found.counts[part]
        assert counts.interactions == rows.sum()
        assert counts.users == len(set(interactions.users[rows]))
        assert counts.items == len(set(interactions.items[rows]))
        assert counts.baskets is None
    train, test = parts == Part.TRAIN, parts == Part.TEST
    for codes, unknown in (
        (interactions.users, found.unknown_users),
        (interactions.items, found.unknown_items),
    ):
        assert unknown == len(set(codes[test]) - set(codes[train]))


def test_dropping_and_keeping_count_the_same_unknown(make_interactions):
    times = np.random.default_rng(5).permutation(90)
    interactions = make_interactions([3] * 30, times=times, n_items=20)
    dropped, kept = (
        fold_parts(interactions, split(interactions, "temporal-global", 1, 0, {"unknown": how}), 0)
        for how in ("drop", "keep")
    )
    assert dropped.unknown_users == kept.unknown_users > 0
    assert dropped.unknown_items == kept.unknown_items
    assert dropped.unknown_interactions == kept.unknown_interactions == dropped.dropped
    assert kept.dropped == 0
    assert (
        dropped.counts[Part.TEST].interactions + dropped.dropped
        == kept.counts[Part.TEST].interactions
    )


def test_a_fold_that_does_not_exist_is_refused(make_interactions):
    interactions = make_interactions([9])
    with pytest.raises(FoldsError, match="no fold 3; these folds go from 0 to 2"):
        fold_parts(interactions, split(interactions, "user-k-fold", 3, 0), 3)
