"""The table of parts."""

import pytest

from ecv_core.analysis.split_tables.parts import parts_frame
from ecv_core.analysis.split_tables.toy import toy
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, fold_parts, serving, split
from ecv_core.splits.parts import day


def without(interactions, *names):
    kept = ("dataset", "users", "items", "user_ids", "item_ids", "timestamps", "baskets")
    return Interactions(
        **{name: None if name in names else getattr(interactions, name) for name in kept}
    )


@pytest.mark.parametrize("split_id", serving(Task.TOP_N))
def test_the_parts_of_a_fold_add_up_to_the_dataset(split_id):
    data = toy()
    folds = split(data, split_id, min(SPLITS[split_id].default_k, 3), 42)
    frame = parts_frame({index: fold_parts(data, folds, index) for index in range(folds.k)})
    for _, fold in frame.groupby("fold"):
        assert fold["interactions"].sum() == len(data)
        assert fold["percent"].sum() == pytest.approx(100)
        assert {"training", "test"} <= set(fold["part"])
    assert frame["fold"].nunique() == folds.k
    assert frame["from"].str.fullmatch(r"2024-\d\d-\d\d").all()


def test_a_dataset_without_times_and_baskets_has_no_such_columns():
    bare = without(toy(), "timestamps", "baskets")
    folds = split(bare, "user-k-fold", 2, 42)
    frame = parts_frame({0: fold_parts(bare, folds, 0)})
    assert list(frame) == ["fold", "part", "users", "items", "interactions", "percent"]


def test_days_are_dates_where_they_can_be():
    assert day(0) == "1970-01-01"
    assert day(None) == ""
    assert day(10**17) == "100000000000000000"
