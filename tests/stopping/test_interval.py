import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import (
    difference_percent,
    mean_and_deviation,
    mean_interval,
    stop_interval,
    t_quantile,
    uncertainty_of,
)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=12)


# From any printed table of Student's t, two-sided.
@pytest.mark.parametrize(
    ("freedom", "confidence", "table"),
    [
        (1, 0.95, 12.706),
        (2, 0.95, 4.303),
        (3, 0.95, 3.182),
        (9, 0.95, 2.262),
        (2, 0.90, 2.920),
        (4, 0.99, 4.604),
        (9, 0.50, 0.703),
        (10**6, 0.95, 1.960),
    ],
)
def test_t_quantiles_are_those_of_the_tables(freedom, confidence, table):
    assert t_quantile(freedom, confidence) == pytest.approx(table, abs=5.1e-4)


def test_t_quantiles_keep_their_digits_near_certainty():
    # With one degree of freedom t is Cauchy: the quantile is cot(pi * tail).
    tail = 0.5e-12
    near = t_quantile(1, 1 - 2 * tail)
    assert near == pytest.approx(1 / math.tan(math.pi * (1 - (1 - 2 * tail)) / 2), rel=1e-9)


# mean +- t * s / sqrt(n), with s and t worked by hand
@pytest.mark.parametrize(
    ("given_scores", "confidence", "mean", "half"),
    [
        ([0.1, 0.3], 0.95, 0.2, 12.7062 * 0.1),  # s = 0.2/sqrt 2, s/sqrt 2 = 0.1
        ([0.2, 0.3, 0.4], 0.95, 0.3, 4.30265 * 0.1 / math.sqrt(3)),  # s = 0.1
        ([0.2, 0.3, 0.4], 0.90, 0.3, 2.91999 * 0.1 / math.sqrt(3)),
        ([1.0, 1.0, 2.0, 2.0], 0.95, 1.5, 3.18245 * math.sqrt(1 / 3) / 2),  # s^2 = 1/3
        ([-0.4, -0.2, -0.3], 0.95, -0.3, 4.30265 * 0.1 / math.sqrt(3)),
    ],
)
def test_intervals_worked_by_hand(given_scores, confidence, mean, half):
    interval = mean_interval(given_scores, confidence)
    assert interval.low == pytest.approx(mean - half, rel=1e-5)
    assert interval.high == pytest.approx(mean + half, rel=1e-5)
    assert interval.width == pytest.approx(2 * half, rel=1e-5)


def test_one_score_has_no_interval():
    assert mean_interval([0.3], 0.95) is None
    mean, deviation = mean_and_deviation([0.3])
    assert mean == 0.3
    assert math.isnan(deviation)


@given(score=st.floats(-10, 10), n=st.integers(2, 10))
def test_equal_scores_have_an_interval_of_exactly_no_width(score, n):
    interval = mean_interval([score] * n, 0.95)
    assert (interval.low, interval.high) == (score, score)


@given(score=st.floats(-10, 10), n=st.integers(2, 10))
def test_equal_scores_do_not_tell_how_uncertain_their_mean_is(score, n):
    assert uncertainty_of([score] * n, 0.95) is None
    assert stop_interval([score] * n, first_look=2, k=10, confidence=0.95) is None


def test_of_scores_that_differ_the_interval_is_shown():
    assert uncertainty_of([0.2, 0.3, 0.4], 0.95) == mean_interval([0.2, 0.3, 0.4], 0.95)


@given(scores=scores, data=st.data())
def test_the_order_of_the_scores_does_not_matter_to_the_last_digit(scores, data):
    other = data.draw(st.permutations(scores))
    assert mean_interval(scores, 0.95) == mean_interval(other, 0.95)


def test_nearly_equal_scores_keep_their_spread():
    # Three neighbours at steps of 2^-52 around 1: s is exactly one step.
    step = 2.0**-52
    mean, deviation = mean_and_deviation([1.0, 1.0 + step, 1.0 + 2 * step])
    assert mean == 1.0 + step
    assert deviation == step


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_tiny_and_huge_scores_neither_vanish_nor_overflow(unit):
    assert mean_and_deviation([unit, 2 * unit, 3 * unit])[1] == pytest.approx(unit, abs=0)


@given(scores=scores, low=st.floats(0.05, 0.9))
def test_more_confidence_is_never_narrower(scores, low):
    narrow, wide = mean_interval(scores, low), mean_interval(scores, (1 + low) / 2)
    assert narrow.width <= wide.width


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_refused(bad):
    with pytest.raises(InputError, match=f"must be a finite number, but is {bad}"):
        mean_interval([0.1, bad, 0.2], 0.95)


@pytest.mark.parametrize(
    ("x", "y", "percent"),
    [
        (0.0, 0.0, 0.0),
        (0.3, 0.3, 0.0),
        (0.9, 1.1, 20.0),  # 0.2 / 1.0
        (0.0, 0.5, 200.0),
        (3.0, 1.0, 100.0),  # 2 / 2
        (-3.0, -1.0, 100.0),
        (-1.0, 3.0, 200.0),  # 4 / 2
    ],
)
def test_differences_worked_by_hand(x, y, percent):
    assert difference_percent(x, y) == pytest.approx(percent)
    assert difference_percent(y, x) == pytest.approx(percent)


def test_importing_the_rules_stays_light():
    code = (
        "import ecv_core.stopping, sys; print([m for m in ('torch', 'lenskit', 'scipy.stats', "
        "'pandas', 'codecarbon') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
