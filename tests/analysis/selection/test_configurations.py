"""A search space as a table: parameters, scores with intervals over users, folds."""

import numpy as np
import pytest
from scipy import stats

from ecv_core.analysis.selection.contenders import configurations_frame, varied
from ecv_core.records.run import Scores


def test_parameters_that_differ_are_the_space() -> None:
    assert varied(["item-knn:neighbours=10,shrink=5", "item-knn:shrink=5"]) == [
        {"neighbours": 10},
        {"neighbours": 100},
    ]
    assert varied(["item-knn", "ease"]) is None
    assert varied(["ease", "ease"]) is None
    assert varied(["mine", "yours"]) is None
    assert varied(["item-knn:neighbours", "item-knn"]) is None


def test_a_row_has_the_mean_of_the_folds_that_ran_and_an_interval_over_users() -> None:
    values = np.array([[0.1, 0.2, np.nan], [0.3, 0.4, 0.5], [np.nan] * 3], dtype=np.float32)
    one = Scores(
        name="a",
        folds=np.array([0.15, 0.4, np.nan]),
        users=values,
    )
    none = Scores(
        name="b",
        folds=np.full(3, np.nan),
        users=np.full((3, 3), np.nan, dtype=np.float32),
    )
    frame = configurations_frame([one, none], [{"k": 1}, {"k": 2}], [2, 0])
    assert list(frame) == ["k", "score", "low", "high", "folds"]
    assert frame["score"][0] == pytest.approx(0.275)
    users = [0.2, 0.3, 0.5]
    low, high = stats.t.interval(0.95, 2, np.mean(users), stats.sem(users))
    assert (frame["low"][0], frame["high"][0]) == (pytest.approx(low), pytest.approx(high))
    assert frame.loc[1, ["score", "low", "high"]].isna().all()
    assert frame["folds"].tolist() == [2, 0]
