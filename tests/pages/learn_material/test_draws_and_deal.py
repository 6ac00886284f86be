"""What wanders, what narrows, and how cards are dealt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.learn.material.dealing import MOST_K, draws_frame, mean_intervals, small_deal

SCORES = np.array([0.30, 0.34, 0.31, 0.33, 0.32])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.integers(1, 8))
def test_every_draw_has_each_fold_once_and_ends_at_the_mean_of_all(scores, draws):
    frame = draws_frame(np.array(scores), draws)
    for _, rows in frame.groupby("draw"):
        assert sorted(rows["fold"]) == list(range(len(scores)))
        assert rows["mean"].iloc[0] == pytest.approx(rows["score"].iloc[0])
        assert rows["mean"].iloc[-1] == pytest.approx(np.mean(scores))


def test_drawing_again_leaves_earlier_draws_as_they_were():
    few, many = draws_frame(SCORES, 2), draws_frame(SCORES, 5)
    assert many[many["draw"] <= 2].reset_index(drop=True).equals(few)
    orders = many.groupby("draw")["fold"].apply(tuple)
    assert len(set(orders)) > 1


def test_the_width_is_twice_t_times_the_standard_error():
    two, three = mean_intervals(np.array([0.2, 0.4, 0.6]))
    # t tables: 12.7062 for 1 degree of freedom, 4.30265 for 2
    assert two.t == pytest.approx(12.7062, abs=1e-4)
    assert two.width == pytest.approx(2 * 12.7062 * 0.141421 / 1.414214, abs=1e-4)
    assert three.mean == pytest.approx(0.4)
    assert three.deviation == pytest.approx(0.2)
    assert three.width == pytest.approx(2 * 4.30265 * 0.2 / 1.732051, abs=1e-4)
    assert three.high - three.low == pytest.approx(three.width)


@pytest.mark.parametrize("k", range(2, MOST_K + 1))
def test_each_users_cards_are_dealt_evenly(k):
    deal = small_deal()
    assert [len(row) for row in deal[k]] == [len(row) for row in deal[2]]
    for row in deal[k]:
        counts = np.bincount(row, minlength=k)
        assert len(counts) == k
        if len(row) >= k:
            assert counts.max() - counts.min() <= 1
