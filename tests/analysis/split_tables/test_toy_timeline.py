"""The toy: every strategy can split it, and the picture says what the split really does."""

import re

import numpy as np
import pytest

from ecv_core.analysis.split_tables.toy import MOST_FOLDS, VISITS, toy, toy_split
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, serving

LETTERS = sum(len(re.findall("[A-Z]", visits)) for visits in VISITS.values())
DAYS = {
    user: [int(day) for day in re.findall(r"\d+", visits)]
    for user, visits in enumerate(VISITS.values())
}
TAKEN = [
    (user, item, int(visit.split()[0]))
    for user, visits in enumerate(VISITS.values())
    for visit in visits.split(", ")
    for item in visit.split()[1]
]


def in_fold(split, fold=0):
    return split.marks[split.marks["fold"] == fold]


def test_the_toy_holds_what_is_written_down():
    data = toy()
    assert isinstance(data, Interactions)
    days = (np.asarray(data.timestamps) - np.min(data.timestamps)) // 86_400 + 2
    found = set(zip(data.users, data.item_ids[data.items], days, strict=True))
    assert found == set(TAKEN)
    assert len(data) == LETTERS  # nobody takes anything twice


@pytest.mark.parametrize("split_id", serving(Task.TOP_N))
def test_every_strategy_draws_each_interaction_once_per_fold(split_id):
    known = SPLITS[split_id]
    found = toy_split(split_id, known.default_k, 42)
    assert 1 <= found.k <= known.default_k
    for fold in range(found.k):
        here = in_fold(found, fold)
        assert len(here) == LETTERS
        assert not here.duplicated(["user", "item"]).any()
        assert {"training", "test"} <= set(here["part"]) | {"training"}
        assert (here["part"] == "test").any()


def test_the_last_item_is_of_each_users_last_day():
    here = in_fold(toy_split("leave-last-item", 1, 42))
    tested = here[here["part"] == "test"]
    assert tested.set_index("user")["day"].to_dict() == {
        user: days[-1] for user, days in DAYS.items()
    }


def test_the_last_basket_is_tested_whole_and_the_one_before_it_validates():
    here = in_fold(toy_split("leave-last-basket", 1, 42, {"validation": True}))
    for user, days in DAYS.items():
        mine = here[here["user"] == user]
        assert set(mine[mine["part"] == "test"]["day"]) == {days[-1]}
        assert set(mine[mine["part"] == "validation"]["day"]) == {days[-2]}


def test_at_one_point_in_time_newcomers_are_unknown_and_nothing_leaks():
    found = toy_split("temporal-global", 1, 42)
    here = in_fold(found)
    cut = sorted(day for _, _, day in TAKEN)[round(0.8 * LETTERS)]
    assert found.periods[0][0] == cut
    assert here[here["part"] == "training"]["day"].max() < cut
    assert here[here["part"] == "test"]["day"].min() >= cut
    assert set(here[here["name"] == "Jon"]["part"]) == {"unknown"}  # he came late
    assert set(here[here["item"] == "L"]["part"]) == {"unknown"}
    assert found.leaks == (None,)


def test_windows_follow_each_other_and_hold_out_what_is_between_their_lines():
    found = toy_split("temporal-windows", 4, 42, {"unknown": "keep"})
    ends = -1
    for fold, period in enumerate(found.periods):
        here = in_fold(found, fold)
        assert period[0] > ends
        ends = period[1]
        between = here["day"].between(*period)
        assert (here["part"] == "test").equals(between)


def test_points_in_time_stay_where_they_are_when_the_unknown_are_dropped():
    settings = {"validation": 0.3}
    drop = toy_split("temporal-windows", 4, 42, {**settings, "unknown": "drop"})
    keep = toy_split("temporal-windows", 4, 42, {**settings, "unknown": "keep"})
    assert drop.periods == keep.periods
    for fold, period in enumerate(keep.periods):
        here = in_fold(keep, fold)
        assert here[here["part"] == "test"]["day"].min() == period[0]


def test_only_tested_users_have_a_fold_in_part():
    found = toy_split("user-fold-in", 5, 42)
    for fold in range(5):
        here = in_fold(found, fold)
        tested = set(here[here["part"] == "test"]["user"])
        assert tested == set(here[here["part"] == "fold-in"]["user"])
        assert not tested & set(here[here["part"] == "training"]["user"])


def test_a_random_split_has_no_fold_in_part():
    assert set(toy_split("random-holdout", 3, 42).marks["part"]) == {"training", "test"}


@pytest.mark.parametrize("split_id", ["user-k-fold", "leave-one-out", "leave-last-item"])
def test_the_arrow_is_the_widest_leak_of_one_item(split_id):
    found = toy_split(split_id, 3, 7)
    for fold, leak in enumerate(found.leaks):
        here = in_fold(found, fold)
        learnt = here[here["part"] == "training"]
        tested = here[here["part"] == "test"]
        pairs = learnt.merge(tested, on="item", suffixes=("_learnt", "_tested"))
        gaps = pairs["day_learnt"] - pairs["day_tested"]
        later, earlier = leak.to_dict("records")
        assert later["day"] - earlier["day"] == gaps.max() > 0
        assert later["item"] == earlier["item"]
        assert (later["part"], earlier["part"]) == ("training", "test")
        assert set(leak["fold"]) == {fold}


def test_the_same_seed_draws_the_same_picture_and_another_one_another():
    first = toy_split("random-holdout", 2, 1).marks
    assert first.equals(toy_split("random-holdout", 2, 1).marks)
    assert not first.equals(toy_split("random-holdout", 2, 2).marks)


def test_more_folds_than_the_toy_has_room_for_become_as_many_as_it_has():
    assert toy_split("user-k-fold", 5000, 42).k == MOST_FOLDS
    late = [day for _, _, day in TAKEN if day >= sorted(day for _, _, day in TAKEN)[-8]]
    few = toy_split("temporal-windows", 40, 42, {"first": 0.9}).k  # of the last eight interactions
    assert 1 <= few <= len(set(late))


@pytest.mark.parametrize("k", [1, 0, -3])
def test_too_few_folds_are_refused_in_a_sentence(k):
    with pytest.raises(FoldsError, match=f"from 2 to {LETTERS} .* but is {k}"):
        toy_split("user-k-fold", k, 42)


def test_what_is_in_one_basket_is_drawn_around_its_row():
    here = in_fold(toy_split("user-k-fold", 2, 42))
    visit = here[(here["name"] == "Ben") & (here["day"] == 30)]
    assert sorted(visit["level"]) == [-1, 0, 1]
    assert here[(here["name"] == "Ben") & (here["day"] == 9)]["level"].tolist() == [0]
