"""What cannot be split is refused in one sentence that names the data and what would work."""

from contextlib import suppress

import numpy as np
import pytest

from ecv_core.records.errors import FoldsError, UnknownName
from ecv_core.records.interactions import Table
from ecv_core.splits import SPLITS, Strategy, obstacle, register_split, split

TIMED = {"times": list(range(24)), "baskets": [n // 6 for n in range(24)]}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("temporal-global", ["tiny has no timestamps", "'temporal-global'", "user-k-fold"]),
        ("temporal-windows", ["tiny has no timestamps", "random-holdout"]),
        ("leave-last-basket", ["tiny has no baskets", "leave-one-out"]),
        ("leave-last-item", ["no timestamps and no known order"]),
        ("temporal-user", ["no timestamps and no known order"]),
    ],
)
def test_data_without_what_is_needed(make_interactions, name, words):
    interactions = make_interactions([12] * 12)
    said = obstacle(interactions, name)
    for word in words:
        assert word in said
    assert "\n" not in said
    proposed = said.split("can be split by ")[1].split(", ")
    assert name not in proposed
    assert all(obstacle(interactions, other) is None for other in proposed)


@pytest.mark.parametrize(
    ("name", "k", "params", "words"),
    [
        ("temporal-global", 3, {}, "makes one split, so k must be 1, but is 3; use 'temporal-wind"),
        ("random-holdout", 0, {}, "k must be at least 1, but is 0"),
        ("random-holdout", 10**6, {}, "k must be at most 32,767, but is 1,000,000"),
        ("random-holdout", 5, {"test": 0}, "'test' must be from 0.01 to 0.99, but is 0"),
        ("random-holdout", 5, {"test": 1}, "'test' must be from 0.01 to 0.99, but is 1"),
        ("random-holdout", 5, {"test": "half"}, "'test' must be a number, but is 'half'"),
        ("random-holdout", 5, {"share": 0.1}, "no parameter of the split random-holdout"),
        ("temporal-global", 1, {"unknown": "hide"}, "must be one of drop, keep, not 'hide'"),
        ("temporal-global", 1, {"time_point": "soon"}, "the time point 'soon' is not a date"),
        ("temporal-global", 1, {"time_point": "nan"}, "the time point 'nan' is not a date"),
        ("temporal-global", 1, {"time_point": "1e300"}, "is outside tiny, which goes from 1970-01"),
        ("temporal-global", 1, {"time_point": "1970-01-01"}, "is outside tiny"),
        ("temporal-global", 1, {"time_point": "24"}, "is outside tiny"),
        ("temporal-windows", 20, {}, "cannot be cut into 20 windows after its first 50%"),
        ("leave-last-item", 12, {}, "for 12 steps back (the longest history has 12)"),
        ("leave-last-basket", 2, {}, "no user of tiny has enough baskets for 2 steps"),
        ("user-fold-in", 3, {}, "has 2 users with at least two interactions, too few to deal"),
        ("user-fold-in", 2, {"validation": True}, "needs k of at least 3, but it is 2"),
        ("user-k-fold", 1, {}, "from 2 to 24 for tiny, but is 1"),
    ],
)
def test_wishes_that_cannot_be(make_interactions, name, k, params, words):
    interactions = make_interactions([12, 12], **TIMED)
    said = obstacle(interactions, name, k, params)
    assert said is not None
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "name", ["random-holdout", "leave-one-out", "leave-last-item", "temporal-user", "user-split"]
)
def test_users_with_one_interaction_only(make_interactions, name):
    interactions = make_interactions([1] * 6, times=range(6))
    said = obstacle(interactions, name)
    assert "'record-k-fold'" in said
    assert obstacle(interactions, "record-k-fold", 3) is None


def test_data_of_one_moment_has_no_point_in_time(make_interactions):
    interactions = make_interactions([6, 6], times=[3] * 12)
    assert "so many interactions at its first moment" in obstacle(interactions, "temporal-global")
    assert "cannot be cut into 5 windows" in obstacle(interactions, "temporal-windows")
    assert obstacle(interactions, "leave-last-item") is None


def test_a_test_part_of_strangers_only_says_how_to_keep_them(make_interactions):
    # The second user comes after the cut, and so does everything of it.
    interactions = make_interactions([6, 6], times=range(12))
    said = obstacle(interactions, "temporal-global", params={"test": 0.5})
    assert said == (
        "fold 0 of tiny under the split 'temporal-global' has nothing held out, because training "
        "knows the user and the item of none of 6 interactions; use 'unknown' = 'keep'"
    )
    assert obstacle(interactions, "temporal-global", params={"unknown": "keep"}) is None


def test_an_unknown_split_is_refused_with_the_nearest(make_interactions):
    with pytest.raises(UnknownName, match="did you mean 'leave-last-item'"):
        split(make_interactions([5]), "leave-last-items", 1, 0)


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("sizes", [[0], [1], [1, 1], [2]])
def test_hardly_any_data_is_split_or_refused_in_words(make_interactions, name, sizes):
    interactions = make_interactions(sizes, times=range(sum(sizes)), baskets=range(sum(sizes)))
    with suppress(FoldsError):  # and nothing else
        folds = split(interactions, name, SPLITS[name].default_k, 0)
        assert len(folds.parts(0)) == sum(sizes)


def test_samples_by_class_in_one_fold_are_refused():
    targets = np.array([0, 1, 0, 1, 0], dtype=np.int64)
    table = Table.of("t", np.zeros((5, 1)), targets, np.array(["a", "b"]), "class")
    with pytest.raises(FoldsError, match="from 2 to 3"):  # the larger class has three samples
        split(table, "stratified-k-fold", 1, 0)


def test_a_split_of_ones_own_that_fails_in_a_later_fold_is_refused(
    make_interactions, registries_as_they_were
):
    def fails_later(data, k, seed, settings):
        def draw(index):
            if index > 0:
                raise KeyError("missing")
            return np.zeros(len(data), dtype=int)

        return draw

    own = register_split(Strategy("fails-later", fails_later))
    folds = split(make_interactions([3, 3]), own.id, 2, 0)
    folds.parts(0)
    with pytest.raises(FoldsError, match="KeyError"):
        folds.parts(1)
