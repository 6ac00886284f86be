"""Leakage of all strategies, the table of parts, and the paper's table 2."""

import numpy as np
import pytest

from ecv_core.analysis.split_tables.parts import leakages, parts_frame
from ecv_core.analysis.split_tables.toy import toy
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits import SPLITS, fold_parts, split
from ecv_core.splits.part_counts import day


def without(interactions, *names):
    kept = ("dataset", "users", "items", "user_ids", "item_ids", "timestamps", "baskets")
    return Interactions(
        **{name: None if name in names else getattr(interactions, name) for name in kept}
    )


def share_of(frame, split_id, helps):
    (percent,) = frame[(frame["split"] == split_id) & (frame["helps"] == helps)]["percent"]
    return percent


def test_leakage_is_what_counting_every_pair_gives():
    data = toy()
    parts = split(data, "user-k-fold", 10, 3).parts(0)
    train, test = np.flatnonzero(parts == Part.TRAIN), np.flatnonzero(parts == Part.TEST)
    pairs = [(a, b) for a in train for b in test]
    own = [(a, b) for a, b in pairs if data.users[a] == data.users[b]]
    found = leakages(data, 3)
    for helps, some in (("anyone", pairs), ("own", own)):
        later = sum(data.timestamps[a] > data.timestamps[b] for a, b in some)
        assert share_of(found, "user-k-fold", helps) == pytest.approx(100 * later / len(some))


def test_strategies_leak_less_the_more_they_promise():
    found = leakages(toy(), 42)
    assert list(dict.fromkeys(found["split"])) == list(SPLITS)
    for split_id in ("temporal-global", "temporal-windows"):
        assert share_of(found, split_id, "anyone") == 0
        assert share_of(found, split_id, "item") == 0
    for split_id in ("leave-last-item", "leave-last-basket", "temporal-user"):
        assert share_of(found, split_id, "own") == 0
        assert share_of(found, split_id, "anyone") > 0


def test_without_common_times_only_a_users_own_future_is_known():
    found = leakages(without(toy(), "timestamps"), 42)
    assert set(found["helps"]) == {"own"}
    assert "temporal-global" not in set(found["split"])


def test_without_any_order_nothing_is_known():
    assert leakages(without(toy(), "timestamps", "baskets"), 42).empty


@pytest.mark.parametrize("split_id", SPLITS)
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
