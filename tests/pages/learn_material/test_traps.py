"""Where stopping misleads, by hand and by counting every order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.errors import InputError
from pages.learn.material.misleading_scores import coincidence, scaled_stops

SCORES = np.array([0.300, 0.345, 0.310, 0.330, 0.322])


def test_three_equal_folds_stop_at_once_and_are_wrong():
    found = coincidence(np.array([0.3, 0.5, 0.3, 0.3]), alpha=1e-9)
    assert sorted(found.order[:3]) == [0, 2, 3]
    assert sorted(found.order) == [0, 1, 2, 3]
    assert found.share == found.share_wrong == pytest.approx(6 / 24)
    assert found.times_too_narrow == np.inf


def test_folds_that_never_agree_are_no_coincidence():
    with pytest.raises(InputError, match="no order of these folds stops after three"):
        coincidence(np.array([0.1, 0.4, 0.6, 0.9]), alpha=1e-12)


@given(
    st.lists(st.integers(100, 400), min_size=4, max_size=10, unique=True),
    st.sampled_from([1 / 1024, 1 / 2, 2.0, 128.0]),  # exact in binary
)
def test_another_unit_changes_nothing_if_alpha_follows_its_square(scores, factor):
    values = np.array(scores) / 1000
    assert scaled_stops(values, 1e-4 * factor**2, [factor]) == scaled_stops(values, 1e-4, [1.0])


def test_larger_numbers_never_stop_earlier_at_the_same_alpha():
    stops = scaled_stops(SCORES, 1e-3, [0.1, 1.0, 10.0, 100.0])
    assert stops == sorted(stops)
    assert stops[0] == 3
    assert stops[-1] == len(SCORES)
