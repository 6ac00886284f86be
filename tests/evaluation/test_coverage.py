import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.evaluation.full import exposures, gini, item_coverage

ALL = np.ones(5, dtype=bool)
LISTS = np.array([[0, 1, 2], [0, 1, -1], [0, 3, 1]])


def test_exposure_counts_the_lists_that_an_item_is_in_at_each_length():
    counts = exposures(LISTS, (1, 2, 3), 5)
    assert counts.tolist() == [[3, 0, 0, 0, 0], [3, 2, 0, 1, 0], [3, 3, 1, 1, 0]]


def test_coverage_is_the_share_of_candidates_in_any_list():
    counts = exposures(LISTS, (1, 2, 3), 5)
    assert item_coverage(counts, ALL).tolist() == pytest.approx([1 / 5, 3 / 5, 4 / 5])
    candidates = np.array([1, 1, 1, 1, 0], dtype=bool)
    assert item_coverage(counts, candidates)[2] == 1


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([2, 2, 2, 2], 0),
        ([0, 0, 0, 7], 3 / 4),  # (m - 1) / m
        ([1, 3], (3 - 1) / (2 * 4)),  # weights -1 and 1
        ([0, 1, 2], (2 * 2 + 0 * 1) / (3 * 3)),  # weights -2, 0, 2
        ([0, 0], 0),
    ],
)
def test_gini_of_hand_worked_counts(counts, expected):
    everything = np.ones(len(counts), dtype=bool)
    assert gini(np.array([counts]), everything)[0] == pytest.approx(expected)
    assert gini(np.array([counts[::-1]]), everything)[0] == pytest.approx(expected)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=15).filter(any))
def test_gini_is_half_the_mean_difference_over_the_mean(counts):
    values = np.array(counts)
    differences = np.abs(values[:, None] - values[None]).mean()
    actual = gini(values[None], np.ones(len(values), dtype=bool))[0]
    assert actual == pytest.approx(differences / (2 * values.mean()))
