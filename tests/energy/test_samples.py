"""Joules from samples, worked by hand."""

import math
import random

import pytest

from ecv_core.energy.integral import Sample, integral


def watts(*points):
    return [Sample(at, value, "W") for at, value in points]


def counted(*points):
    return [Sample(at, value, "J") for at, value in points]


def test_trapezoids_and_nothing_beyond_the_ends():
    # 10 -> 20 W in 1 s is 15 J; 20 -> 20 is 20 J; of the last second half is inside: 20 J x 0.5
    found = integral(watts((0, 10), (1, 20), (2, 20), (3, 20)), 0, 2.5, 1)
    assert (found.joules, found.low, found.high, found.gap_seconds) == (45, 45, 45, 0)


def test_what_is_missing_lies_between_the_least_and_the_most_that_was_seen():
    # samples at 2 and 3 s are missing: 3 s at (20 + 40) / 2 = 30 W, of which 2 s are a gap
    found = integral(watts((0, 10), (1, 20), (4, 40), (5, 50)), 0, 5, 1)
    assert found.joules == 15 + 90 + 45
    assert (found.low, found.high) == (15 + 30 + 2 * 10 + 45, 15 + 30 + 2 * 50 + 45)
    assert found.gap_seconds == 2


def test_a_meter_that_falls_silent_leaves_a_gap_to_the_end():
    found = integral(watts((0, 10), (1, 30)), 0, 5, 1)
    assert found.joules == 20 + 4 * 30
    assert (found.gap_seconds, found.low, found.high) == (3, 20 + 30 + 3 * 10, 20 + 30 + 3 * 30)


def test_a_sine_is_within_one_percent_and_a_counter_exact():
    power = lambda t: 100 + 50 * math.sin(t)  # noqa: E731
    joules = lambda t: 100 * t + 50 * (1 - math.cos(t))  # noqa: E731  its integral
    points = range(21)
    by_power = integral(watts(*((t, power(t)) for t in points)), 0, 20, 1)
    by_counter = integral(counted(*((t, joules(t)) for t in points)), 0, 20, 1)
    assert by_power.joules == pytest.approx(joules(20), rel=0.01)
    assert by_counter.joules == pytest.approx(joules(20))


def test_three_in_ten_samples_missing_are_a_gap_of_three_tenths_and_the_truth_is_in_its_bounds():
    power = lambda t: 100 + 50 * math.sin(t / 7)  # noqa: E731
    truth = 100 * 200 + 350 * (1 - math.cos(200 / 7))
    drawn = random.Random(1)
    kept = [t for t in range(201) if t in (0, 200) or drawn.random() > 0.3]
    found = integral(watts(*((t, power(t)) for t in kept)), 0, 200, 1)
    assert found.gap_seconds == 201 - len(kept)
    assert 45 < found.gap_seconds < 75
    assert found.low < truth < found.high
    assert found.joules == pytest.approx(truth, rel=0.01)


def test_a_counter_that_begins_anew_takes_its_mean_power_for_that_piece():
    # 10, 20, then anew: the third second is not known; (10 + 20 + 30) J / 3 s = 20 W
    found = integral(counted((0, 500), (1, 510), (2, 530), (3, 5), (4, 35)), 0, 4, 1)
    assert (found.joules, found.gap_seconds) == (80, 1)
    assert (found.low, found.high) == (60 + 10, 60 + 30)


def test_a_missed_reading_of_a_counter_is_no_gap():
    assert integral(counted((0, 0), (5, 100)), 0, 5, 1).gap_seconds == 0


def test_a_counter_that_moves_in_steps_is_uncertain_by_a_step():
    found = integral(counted((0, 0), (1, 0), (2, 60), (3, 60), (4, 120)), 0, 4, 1)
    assert (found.joules, found.low, found.high) == (120, 60, 180)


@pytest.mark.parametrize(
    "samples", [[], counted((0, 5)), counted((0, 5), (1, 5)), counted((0, 5), (1, 3))]
)
def test_samples_that_tell_nothing_are_no_energy(samples):
    found = integral(samples, 0, 1, 1)
    assert (found.joules, found.low, found.high, found.gap_seconds) == (0, 0, 0, 1)
