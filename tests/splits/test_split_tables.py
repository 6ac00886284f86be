"""Each strategy on a toy timeline, worked out by hand."""

import numpy as np
import pytest

from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits import split

LETTERS = {
    Part.TRAIN: "t",
    Part.VALIDATION: "v",
    Part.TEST: "X",
    Part.UNUSED: ".",
    Part.UNKNOWN: "u",
}

# user: its items, each with its time. Item e comes at 8 only, and dan at 9 only.
TOY = {
    "ann": {"a": 1, "b": 2, "c": 4, "d": 7},
    "bob": {"a": 3, "b": 5, "e": 8},
    "cat": {"c": 6},
    "dan": {"a": 9, "b": 10},
}


@pytest.fixture
def toy():
    return table(TOY)


def table(rows, *, baskets=False):
    triples = [(user, item, time) for user, times in rows.items() for item, time in times.items()]
    users, items, times = zip(*triples, strict=True)
    user_ids, item_ids = sorted(set(users)), sorted(set(items))
    numbers = np.array(times)
    return Interactions(
        dataset="toy",
        users=np.array([user_ids.index(user) for user in users], dtype=np.int32),
        items=np.array([item_ids.index(item) for item in items], dtype=np.int32),
        user_ids=np.array(user_ids),
        item_ids=np.array(item_ids),
        timestamps=None if baskets else numbers,
        baskets=numbers.astype(np.int32) if baskets else None,
    )


def shown(interactions, name, index=0, k=1, **params):
    """The parts of a fold, in the order of the table above."""
    parts = split(interactions, name, k, 0, params).parts(index)
    letters = [LETTERS[Part(part)] for part in parts]
    ends = np.cumsum(np.bincount(interactions.users))
    return " ".join("".join(letters[a:b]) for a, b in zip([0, *ends], ends, strict=False))


@pytest.mark.parametrize(
    ("name", "params", "wanted"),
    [
        # ann, bob, cat, dan; cat has one interaction, which is learnt from.
        ("leave-last-item", {}, "tttX ttX t tX"),
        ("leave-last-item", {"validation": True}, "ttvX tvX t tt"),  # dan: too short for both
        # Half of 4, 3, 1, 2, rounded down: 2, 1, 0, 1.
        ("temporal-user", {"test": 0.5}, "ttXX ttX t tX"),
        ("temporal-user", {"test": 0.25, "validation": 0.5}, "ttvX tvX t tX"),
        # 10 interactions at 1 .. 10: the last 30 % are 8, 9, 10. Training knows a, b, c, d of
        # ann, bob, cat: not e, and not dan.
        ("temporal-global", {"test": 0.3}, "tttt ttu t uu"),
        ("temporal-global", {"test": 0.3, "unknown": "keep"}, "tttt ttX t XX"),
        ("temporal-global", {"time_point": "5", "unknown": "keep"}, "tttX tXX X XX"),
        ("temporal-global", {"time_point": "5"}, "tttu tXu u uu"),  # d and e and cat are new
        # Training ends before 8: of 7, the last 2/7 are 6 and 7.
        ("temporal-global", {"test": 0.3, "validation": 0.3, "unknown": "keep"}, "tttv ttX v XX"),
    ],
)
def test_a_single_split(toy, name, params, wanted):
    assert shown(toy, name, **params) == wanted


@pytest.mark.parametrize(
    ("name", "params", "wanted"),
    [
        # Each step takes one more away from the end; whoever has none left keeps the first.
        ("leave-last-item", {}, ["tttX ttX t tX", "ttX. tX. t t.", "tX.. t.. t t."]),
        # Blocks of floor(4/4), floor(3/4) -> 1, 0, floor(2/4) -> 1.
        ("temporal-user", {"test": 0.25}, ["tttX ttX t tX", "ttX. tX. t t.", "tX.. t.. t t."]),
        # 4 before the first window, then 2 each: times 5 6 | 7 8 | 9 10.
        (
            "temporal-windows",
            {"first": 0.4, "unknown": "keep"},
            ["ttt. tX. X ..", "tttX ttX t ..", "tttt ttt t XX"],
        ),
        # A training part of 4 that slides: 1-4, 3-6, 5-8.
        (
            "temporal-windows",
            {"first": 0.4, "unknown": "keep", "training": "sliding"},
            ["ttt. tX. X ..", "..tX ttX t ..", "...t .tt t XX"],
        ),
        ("temporal-windows", {"first": 0.4}, ["ttt. tX. u ..", "tttu ttu t ..", "tttt ttt t uu"]),
    ],
)
def test_several_folds(toy, name, params, wanted):
    assert [shown(toy, name, index, 3, **params) for index in range(3)] == wanted


@pytest.mark.parametrize(
    ("params", "k", "wanted"),
    [
        ({}, 1, ["tttXX tX ttt"]),
        ({"validation": True}, 1, ["ttvXX tt ttt"]),
        ({}, 2, ["tttXX tX ttt", "ttX.. t. ttt"]),
    ],
)
def test_the_last_basket(params, k, wanted):
    # ann has the baskets {p, q} {r} {s, t}, bob {p} {q}, cat a single one.
    rows = {
        "ann": {"p": 0, "q": 0, "r": 3, "s": 7, "t": 7},
        "bob": {"p": 1, "q": 2},
        "cat": {"p": 5, "q": 5, "r": 5},
    }
    toy = table(rows, baskets=True)
    assert [shown(toy, "leave-last-basket", index, k, **params) for index in range(k)] == wanted


def test_one_random_interaction_of_everyone_who_has_two(make_interactions):
    interactions = make_interactions([5, 1, 2, 3])
    folds = split(interactions, "leave-one-out", 20, 0)
    for index in range(20):
        held = np.bincount(interactions.users[folds.parts(index) == Part.TEST], minlength=4)
        assert held.tolist() == [1, 0, 1, 1]


def test_each_interaction_is_as_likely_to_be_the_one_left_out(make_interactions):
    folds = split(make_interactions([5]), "leave-one-out", 2000, 0)
    held = np.mean([folds.parts(index) == Part.TEST for index in range(2000)], axis=0)
    np.testing.assert_allclose(held, 0.2, atol=0.04)  # 4.5 standard errors


@pytest.mark.parametrize(
    ("size", "test", "validation", "wanted"),
    [
        # RecBole's rule: rounded down, but at least one where there are two.
        (10, 0.2, 0.0, (8, 0, 2)),
        (10, 0.29, 0.0, (8, 0, 2)),
        (100, 0.29, 0.0, (71, 0, 29)),  # 0.29 * 100 is 28.999... in binary
        (3, 0.1, 0.0, (2, 0, 1)),
        (2, 0.99, 0.0, (1, 0, 1)),
        (1, 0.5, 0.0, (1, 0, 0)),
        (10, 0.2, 0.25, (6, 2, 2)),
        (2, 0.5, 0.5, (1, 0, 1)),
    ],
)
def test_shares_of_a_user(make_interactions, size, test, validation, wanted):
    interactions = make_interactions([size, 30])
    params = {"test": test, "validation": validation}
    parts = split(interactions, "random-holdout", 1, 4, params).parts(0)[:size]
    assert tuple(np.bincount(parts, minlength=3)) == wanted


def test_a_share_of_users_is_tested_on_what_is_not_folded_in(make_interactions):
    interactions = make_interactions([10] * 20)
    params = {"test": 0.2, "fold_in": 0.7, "validation": 0.25}
    parts = split(interactions, "user-split", 1, 0, params).parts(0).reshape(20, 10)
    held = [tuple(np.bincount(row, minlength=3)) for row in parts]
    # 4 of 20 users tested, 4 of the other 16 for validation; of each, 3 of 10 interactions.
    assert sorted(held) == [(7, 0, 3)] * 4 + [(7, 3, 0)] * 4 + [(10, 0, 0)] * 12


def test_cold_users_have_no_training_at_all(make_interactions):
    interactions = make_interactions([10] * 20)
    parts = split(interactions, "user-split", 1, 0, {"fold_in": 0}).parts(0).reshape(20, 10)
    assert (
        sorted(set(row.tolist()) == {int(Part.TEST)} for row in parts) == [False] * 16 + [True] * 4
    )


def test_fold_in_with_validation_takes_the_next_fold(make_interactions):
    interactions = make_interactions([10] * 9)
    plain = split(interactions, "user-fold-in", 3, 5)
    validated = split(interactions, "user-fold-in", 3, 5, {"validation": True})
    for index in range(3):
        parts = validated.parts(index)
        np.testing.assert_array_equal(parts == Part.TEST, plain.parts(index) == Part.TEST)
        following = plain.parts((index + 1) % 3)
        np.testing.assert_array_equal(parts == Part.VALIDATION, following == Part.TEST)


def test_equal_times_are_put_in_order_by_chance(make_interactions):
    interactions = make_interactions([4] * 3000, times=[9] * 12_000)
    parts = split(interactions, "leave-last-item", 1, 0).parts(0).reshape(3000, 4)
    shares = (parts == Part.TEST).mean(axis=0)
    np.testing.assert_allclose(shares, 0.25, atol=0.035)  # 4.5 standard errors


def test_times_of_any_size_keep_their_order():
    # Nanoseconds: user and time do not fit into one 64-bit number together.
    rows = {f"u{n}": {"a": n, "b": 4 * 10**18 + n, "c": 2 * 10**18} for n in range(5)}
    assert shown(table(rows), "leave-last-item") == " ".join(["tXt"] * 5)


def test_a_place_in_the_history_is_enough_for_last_items():
    interactions = Interactions(
        dataset="toy",
        users=np.array([0, 0, 0, 1, 1], dtype=np.int32),
        items=np.array([0, 1, 2, 0, 1], dtype=np.int32),
        user_ids=np.array(["a", "b"]),
        item_ids=np.array(["x", "y", "z"]),
        sequence=np.array([1, 2, 0, 1, 0], dtype=np.int32),
    )
    assert shown(interactions, "leave-last-item") == "tXt Xt"


def test_a_whole_day_is_not_cut(make_interactions):
    # The last 30 % would begin within the second day: all of that day is held out.
    interactions = make_interactions([10], times=[1] * 5 + [2] * 5)
    params = {"test": 0.3, "unknown": "keep"}
    assert shown(interactions, "temporal-global", **params) == "tttttXXXXX"


@pytest.mark.parametrize(
    "text",
    ["1970-01-01T00:00:05", "1970-01-01T00:00:05+00:00", "5", "4.5", "1970-01-01T01:00:05+01:00"],
)
def test_ways_to_give_a_time_point(toy, text):
    params = {"time_point": text, "unknown": "keep"}
    assert shown(toy, "temporal-global", **params) == "tttX tXX X XX"
