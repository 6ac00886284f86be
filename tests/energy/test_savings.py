"""The race between stopping and going on, worked by hand; its invariants on any folds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.energy.savings import energy_facts, tallies
from ecv_core.records.run import Energy, FoldResult


def fold(index, seconds, joules, grams):
    return FoldResult(
        fold=index,
        score=0.3,
        metrics={},
        users=1,
        fit_seconds=0.0,
        evaluate_seconds=0.0,
        total_seconds=seconds,
        energy=Energy(
            joules=joules,
            cpu_joules=joules,
            gpu_joules=0,
            ram_joules=0,
            grams_co2e=grams,
            source="rapl",
        ),
    )


FOLDS = [fold(0, 2, 10, 1), fold(1, 4, 20, 2), fold(2, 6, 30, 3)]


def test_folds_that_never_ran_are_counted_at_the_mean_of_the_others_without_the_first():
    told = tallies(FOLDS, 5, 3)  # the mean of the second and third: 5 s, 25 J, 2.5 g
    assert [one.n for one in told] == [0, 1, 2, 3, 4, 5]
    assert [one.seconds for one in told] == [0, 2, 6, 12, 17, 22]
    assert [one.joules for one in told] == [0, 10, 30, 60, 85, 110]
    assert [one.saved_seconds for one in told] == [0, 0, 0, 0, 5, 10]
    assert [one.saved_joules for one in told] == [0, 0, 0, 0, 25, 50]
    assert [one.saved_grams for one in told] == [0, 0, 0, 0, 2.5, 5]
    assert [one.ran for one in told] == [True, True, True, True, False, False]


def test_folds_run_to_check_are_counted_as_they_were():
    told = tallies(FOLDS, 3, 2)
    assert (told[-1].saved_seconds, told[-1].saved_joules, told[-1].saved_grams) == (6, 30, 3)
    assert all(one.ran for one in told)


def test_nothing_is_saved_without_a_stop_and_nothing_is_known_without_a_fold():
    assert tallies(FOLDS, 5, None)[-1].saved_joules == 0
    (only,) = tallies([], 10, None)
    assert (only.n, only.seconds, only.joules) == (0, 0, 0)


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=9
    ),
    st.data(),
)
def test_what_was_spent_by_the_stop_and_what_is_saved_after_it_make_the_whole(costs, data):
    folds = [fold(at, *cost) for at, cost in enumerate(costs)]
    k = data.draw(st.integers(len(folds), 12))
    stop = data.draw(st.integers(1, len(folds)))
    told = tallies(folds, k, stop)
    assert len(told) == k + 1
    assert told[stop].joules + told[-1].saved_joules == pytest.approx(told[-1].joules, abs=1e-3)
    assert told[stop].seconds + told[-1].saved_seconds == pytest.approx(told[-1].seconds, abs=1e-3)
    known = energy_facts(folds, k, stop).saved_joules
    assert told[-1].saved_joules == pytest.approx(known, abs=1e-3)


def test_the_stop_saves_processor_time_as_it_does_joules():
    known = [
        replace(one, processor_seconds=seconds)
        for one, seconds in zip(FOLDS, (9.0, 2.0, 4.0), strict=True)
    ]
    facts = energy_facts(known, 6, 3)
    assert facts.processor_seconds == 15
    assert facts.saved_processor_seconds == 9  # three folds at the mean of the others, 3 s
    assert facts.saved_processor_percent == pytest.approx(100 * 9 / 24)
    some = energy_facts([*known, FOLDS[0]], 6, 3)  # of one nobody knows it
    assert (some.processor_seconds, some.saved_processor_percent) == (None, None)
