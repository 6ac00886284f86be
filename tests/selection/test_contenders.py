"""Contenders are lined up over the users of all of them."""

import numpy as np

from ecv_core.records.run import Scores
from ecv_core.selection.contenders import over_same_users


def scores(name: str, ids: list[int], users: list[list[float]]) -> Scores:
    return Scores(
        name=name,
        folds=np.full(2, 0.5),
        users=np.array(users, dtype=np.float32),
        user_ids=np.array(ids, dtype=np.int32),
    )


def test_every_user_has_one_column_in_all() -> None:
    nan = np.nan
    some = [
        scores("a", [2, 7], [[0.25, 0.5], [nan, 0.75]]),
        Scores(name="b", folds=np.full(2, 0.5)),
        scores("c", [1, 7], [[0.0, 1.0], [0.125, nan]]),
    ]
    first, second, third = over_same_users(some)
    assert first.user_ids.tolist() == third.user_ids.tolist() == [1, 2, 7]
    np.testing.assert_array_equal(first.users, [[nan, 0.25, 0.5], [nan, nan, 0.75]])
    np.testing.assert_array_equal(third.users, [[0.0, nan, 1.0], [0.125, nan, nan]])
    assert second is some[1]
    assert first.users.dtype == np.float32


def test_contenders_with_the_same_users_stay_as_they_are() -> None:
    some = [scores(name, [7, 2], [[0.25, 0.5], [1.0, 0.75]]) for name in "ab"]
    first, second = over_same_users(some)
    assert first is some[0]
    assert second is some[1]


def test_contenders_without_users_scores_stay_as_they_are() -> None:
    some = [Scores(name="a", folds=np.ones(3)), Scores(name="b", folds=np.ones(3))]
    assert over_same_users(some) == some
