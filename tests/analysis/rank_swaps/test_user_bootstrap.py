"""Scores for users drawn with replacement: by hand, and against theory."""

import numpy as np
import pytest

from ecv_core.analysis.rank_swaps.bootstrap import resampled_scores, user_cube
from ecv_core.records.run import UserScores

NAN = np.nan


def cube(*algorithms):
    return np.array(algorithms, dtype=np.float32)


def users(codes, scores):
    return UserScores(
        users=np.array(codes, dtype=np.int32),
        metrics=("hit@5", "ndcg@10"),
        values=np.array([[9.0, score] for score in scores], dtype=np.float32),
    )


def test_a_user_counts_only_where_every_algorithm_has_a_score():
    first = {2: users([0, 3], [0.5, 0.25]), 0: users([1], [1.0])}
    second = {0: users([1], [0.0]), 2: users([0], [0.75])}
    found = user_cube([first, second], "ndcg@10", 4)
    expected = [
        [[NAN, 1.0, NAN, NAN], [0.5, NAN, NAN, NAN]],
        [[NAN, 0.0, NAN, NAN], [0.75, NAN, NAN, NAN]],
    ]
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.float32))


def test_a_fold_none_of_whose_users_is_drawn_does_not_count():
    # User 0 is tested in fold 0 and user 1 in fold 1: drawn twice, once each, or never.
    (found,) = resampled_scores([cube([[0.25, NAN], [NAN, 0.75]])], resamples=400)
    values, counts = np.unique(found[0], return_counts=True)
    assert values.tolist() == [0.25, 0.5, 0.75]
    assert counts / 400 == pytest.approx([0.25, 0.5, 0.25], abs=0.08)


def test_where_no_user_of_a_split_is_drawn_there_is_no_score():
    both, rare = resampled_scores([cube([[1.0, 1.0]]), cube([[1.0, NAN]])], resamples=200)
    assert np.isfinite(both).all()
    assert np.isnan(rare).mean() == pytest.approx(0.25, abs=0.1)


def test_the_same_users_are_drawn_for_all_algorithms_under_all_splits():
    rng = np.random.default_rng(1)
    scores = rng.random((1, 3, 50)).astype(np.float32)
    twice = np.concatenate([scores, scores])
    first, second = resampled_scores([twice, scores], resamples=50)
    np.testing.assert_allclose(first[0], first[1], rtol=1e-12)
    np.testing.assert_allclose(first[0], second[0], rtol=1e-12)


def test_the_spread_is_the_standard_error_of_a_mean():
    scores = np.random.default_rng(0).random((1, 1, 900)).astype(np.float32)
    (found,) = resampled_scores([scores], resamples=2000)
    assert found.std() == pytest.approx(scores.std() / 30, rel=0.06)
    assert found.mean() == pytest.approx(scores.mean(), abs=0.001)


def test_the_same_users_are_drawn_every_time():
    scores = cube([[0.1, 0.5, NAN], [0.9, NAN, 0.2]])
    one, other = (resampled_scores([scores], resamples=20)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    known = one[~np.isnan(one)]
    assert ((known >= np.float32(0.1)) & (known <= np.float32(0.9))).all()


def test_without_splits_there_is_nothing_to_draw():
    assert resampled_scores([]) == []
