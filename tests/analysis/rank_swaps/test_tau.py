"""Ranks and Kendall's tau-b: by hand, and as SciPy has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau, rankdata

from ecv_core.analysis.ranking import mean_ranks, pair_signs, tau_b

# Few different values, so that there are ties.
SCORES = st.integers(2, 9).flatmap(
    lambda count: st.tuples(
        *[arrays(np.float64, count, elements=st.integers(0, 6).map(lambda v: v / 4))] * 2
    )
)


def tau(first, second, **direction):
    return float(tau_b(pair_signs(first, **direction), pair_signs(second, **direction)))


@pytest.mark.parametrize(
    ("scores", "higher", "ranks"),
    [
        ([0.3, 0.1, 0.2], True, [1, 3, 2]),
        ([0.3, 0.1, 0.2], False, [3, 1, 2]),
        ([0.2, 0.2, 0.1], True, [1.5, 1.5, 3]),
        ([0.1, 0.1, 0.1], True, [2, 2, 2]),
        ([0.1, 0.2, 0.2, 0.2, 0.5], True, [5, 3, 3, 3, 1]),
    ],
)
def test_equals_share_the_mean_of_their_ranks(scores, higher, ranks):
    assert mean_ranks(scores, higher_is_better=higher).tolist() == ranks


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1),
        ([1, 2, 3, 4], [1, 3, 2, 4], 4 / 6),  # five pairs agree, one does not
        ([1, 1, 2], [1, 2, 3], 2 / np.sqrt(2 * 3)),  # two of the first's pairs are untied
        ([1, 1, 2, 3], [1, 2, 2, 3], 4 / 5),  # five untied in each, four in both
    ],
)
def test_tau_b_by_hand(first, second, expected):
    assert tau(first, second) == pytest.approx(expected)


def test_tau_is_undefined_where_one_split_ranks_all_alike():
    assert np.isnan(tau([1, 1, 1], [1, 2, 3]))


def test_a_score_that_is_not_known_makes_no_rank():
    assert np.isnan(tau([1, 2, np.nan], [1, 2, 3]))
    assert np.isnan(mean_ranks([1.0, np.nan])).all()


def test_scores_that_differ_by_rounding_are_equal():
    assert mean_ranks([0.1 + 0.2, 0.3]).tolist() == [1.5, 1.5]


@given(SCORES)
def test_tau_is_scipys(both):
    first, second = both
    constant = np.ptp(first) == 0 or np.ptp(second) == 0
    if constant:
        assert np.isnan(tau(first, second))
    else:
        assert tau(first, second) == pytest.approx(kendalltau(first, second).statistic)
        assert tau(first, second, higher_is_better=False) == pytest.approx(tau(first, second))


@given(SCORES)
def test_ranks_are_scipys(both):
    scores, _ = both
    assert mean_ranks(scores).tolist() == rankdata(-scores).tolist()
    assert mean_ranks(scores, higher_is_better=False).tolist() == rankdata(scores).tolist()
