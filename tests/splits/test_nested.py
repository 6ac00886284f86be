"""The early part in folds, the late part put aside: worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits import split

RATINGS = np.array([5, 1, 5, 4, 3, 5, 2, 4, 5, 4], dtype=np.float32)


@pytest.fixture
def ten() -> Interactions:
    """A user with ten items in order of time, item 0 first, and one with ten in reverse order."""
    items = np.arange(10, dtype=np.int32)
    return Interactions(
        dataset="ten",
        users=np.repeat(np.arange(2, dtype=np.int32), 10),
        items=np.concatenate([items, items]),
        user_ids=np.array(["a", "b"]),
        item_ids=np.array([str(one) for one in items]),
        timestamps=np.concatenate([items, 9 - items]).astype(np.int64),
        ratings=np.concatenate([RATINGS, RATINGS]),
    )


def test_the_last_fifth_is_in_no_fold(ten: Interactions) -> None:
    folds = split(ten, "nested-k-fold", 4, 3)
    held = np.stack([folds.parts(index) == Part.TEST for index in range(4)])
    unused = np.stack([folds.parts(index) == Part.UNUSED for index in range(4)])
    late = np.zeros(20, dtype=bool)
    late[[8, 9, 10, 11]] = True  # a's items 8 and 9; b's 0 and 1, which came last
    assert (unused == late).all()
    assert (held.sum(axis=0) == ~late).all()  # every other one is held out exactly once
    assert (held[:, :10].sum(axis=1) == 2).all()  # 8 of a in 4 folds
    assert (held[:, 10:].sum(axis=1) == 2).all()


def test_what_is_put_aside_is_tested_on_all_that_comes_before(ten: Interactions) -> None:
    parts = split(ten, "nested-k-fold", 1, 3, {"part": "test"}).parts(0)
    assert np.flatnonzero(parts == Part.TEST).tolist() == [8, 9, 10, 11]
    assert (parts == Part.TRAIN).sum() == 16


def test_only_items_rated_above_the_threshold_are_relevant(ten: Interactions) -> None:
    four = {"above": 4.0}
    folds = split(ten, "nested-k-fold", 4, 3, four)
    everything = split(ten, "nested-k-fold", 4, 3)
    for index in range(4):
        parts, all_parts = folds.parts(index), everything.parts(index)
        held = all_parts == Part.TEST
        assert ((parts == Part.TEST) == (held & (ten.ratings == 5))).all()
        assert ((parts == Part.TRAIN) == (all_parts == Part.TRAIN)).all()  # learnt from as before
    late = split(ten, "nested-k-fold", 1, 3, four | {"part": "test"}).parts(0)
    assert np.flatnonzero(late == Part.TEST).tolist() == [8, 10]
    with pytest.raises(FoldsError, match=r"no rating of ten is above 5 \(the highest is 5\)"):
        split(ten, "nested-k-fold", 4, 3, {"above": 5.0})
    with pytest.raises(FoldsError, match="ten has no ratings, so none is above 4"):
        split(replace(ten, ratings=None), "nested-k-fold", 4, 3, four)


def test_the_part_put_aside_is_a_single_split(ten: Interactions) -> None:
    with pytest.raises(FoldsError, match="k must be 1, but is 10; with part=choose"):
        split(ten, "nested-k-fold", 10, 3, {"part": "test"})
    with pytest.raises(FoldsError, match="for ten, but is 1"):
        split(ten, "nested-k-fold", 1, 3)
