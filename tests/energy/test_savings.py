"""The race between stopping and going on, worked by hand; its invariants on any folds."""

from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.energy.savings import (
    cost_range_of_next_fold,
    energy_facts,
    energy_of,
    margin_after,
    tallies,
)
from ecv_core.figures.words import processor_words, saving_verb
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded import recorded_runs


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
    told = tallies(FOLDS, 5)  # the mean of the second and third: 5 s, 25 J, 2.5 g
    assert [one.n for one in told] == [0, 1, 2, 3, 4, 5]
    assert [one.seconds for one in told] == [0, 2, 6, 12, 17, 22]
    assert [one.joules for one in told] == [0, 10, 30, 60, 85, 110]
    assert [one.grams_co2e for one in told] == [0, 1, 3, 6, 8.5, 11]
    assert [one.ran for one in told] == [True, True, True, True, False, False]


def test_folds_run_to_check_are_counted_as_they_were():
    told = tallies(FOLDS, 3)
    assert (told[-1].seconds, told[-1].joules, told[-1].grams_co2e) == (12, 60, 6)
    assert all(one.ran for one in told)


def test_nothing_is_known_without_a_fold():
    (only,) = tallies([], 10)
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
    told = tallies(folds, k)
    assert len(told) == k + 1
    known = energy_facts(folds, k, stop, is_checked=True).saved_joules
    assert told[-1].joules - told[stop].joules == pytest.approx(known, abs=1e-3)


def test_the_stop_saves_processor_time_as_it_does_joules():
    known = [
        replace(one, processor_seconds=seconds)
        for one, seconds in zip(FOLDS, (9.0, 2.0, 4.0), strict=True)
    ]
    facts = energy_facts(known, 6, 3)
    assert facts.processor_seconds == 15
    # three folds at the mean of the others, 3 s
    assert facts.saved_processor_percent == pytest.approx(100 * 9 / 24)
    assert [one.processor_seconds for one in tallies(known, 6)] == [0, 9, 11, 15, 18, 21, 24]


def test_a_fold_without_processor_seconds_is_taken_to_cost_as_those_with_them():
    first = replace(FOLDS[0], processor_seconds=7.0)  # as of recorded runs: one on an idle machine
    facts = energy_facts([first, *FOLDS[1:]], 5, 3)
    assert (facts.processor_seconds, facts.folds_without_processor_time) == (21, 2)
    assert facts.saved_processor_percent == 40  # 14 of 35 s
    none = energy_facts(FOLDS, 5, 3)
    assert (none.processor_seconds, none.saved_processor_percent) == (None, None)


def test_what_is_saved_by_an_estimate_is_a_range_also_once_all_folds_ran():
    def estimated(joules):
        more = {"source": "cpu-load", "idle_joules": joules / 2}
        return replace(FOLDS[0], energy=replace(FOLDS[0].energy, joules=joules, **more))

    facts = energy_facts([estimated(joules) for joules in (10, 20, 40)], 3, 1, is_checked=True)
    # 20 + 40 J after the stop, or half of it where the machine would have run idle
    assert (facts.saved_joules, facts.saved_range, facts.has_forecast) == (60, (30, 60), False)
    forecast = energy_facts([estimated(joules) for joules in (10, 20, 40)], 4, 3)
    # After three folds: 30 % below 20 J, of which half may be idle, and 30 % above 40 J.
    assert forecast.saved_range == pytest.approx((10 * 0.7, 40 * 1.3))
    assert forecast.has_forecast


@pytest.mark.parametrize(
    ("costs", "expected_range"),
    [
        ((10.0,), (5.0, 15.0)),
        ((90.0, 10.0), (5.0, 15.0)),
        ((90.0, 10.0, 20.0), (7.0, 26.0)),
        ((90.0, 10.0, 20.0, 15.0), (8.5, 23.0)),
    ],
)
def test_a_forecast_is_wider_the_fewer_folds_ran(costs, expected_range):
    # 50 % after one or two folds, 30 % after three, 15 % after more; the first is left out.
    assert cost_range_of_next_fold(costs) == pytest.approx(expected_range)


@pytest.mark.parametrize("ran", range(1, 10))
@pytest.mark.parametrize("cost", ["joules", "seconds"])
def test_recorded_runs_cost_what_is_said_as_often_as_is_said(ran, cost):
    held = []
    for run in recorded_runs():
        if cost == "joules":
            costs = [of_fold.energy.joules for of_fold in run.folds]
        else:
            costs = [of_fold.seconds_if_computed_alone for of_fold in run.folds]
        low, high = cost_range_of_next_fold(costs[:ran])
        held.append(low <= fmean(costs[ran:]) <= high)
    assert 100 * fmean(held) >= margin_after(ran).held_percent >= 90


def test_what_folds_cost_that_ran_to_check_the_stop_is_not_called_saved():
    # 8 + 2 s up to the stop; a third fold took 10 s: half of the 20 s in all.
    known = [
        replace(one, processor_seconds=seconds)
        for one, seconds in zip(FOLDS, (8.0, 2.0, 10.0), strict=True)
    ]
    checked = energy_facts(known, 3, 2, is_checked=True)
    assert processor_words(checked) == "processor time 20 s, 50 % forgone to check"
    # The same without it: the third fold would take as long as the second, 2 of 12 s.
    stopped = energy_facts(known[:2], 3, 2)
    assert processor_words(stopped) == "processor time about 10 s, about 17 % saved"


@pytest.mark.parametrize(
    ("state", "saved"),
    [
        # The folds after its stop are still to come: the third would cost 20 of 50 J.
        (RunState.RUNNING, "forgone to check"),
        (RunState.INTERRUPTED, "saved"),
    ],
)
def test_folds_that_are_going_to_check_the_stop_are_not_called_saved(state, saved):
    run = RunRecord(
        run_id="x",
        spec=RunSpec(dataset="d", algorithm="a", k=3, full=True),
        state=state,
        folds=tuple(FOLDS[:2]),
        moments=(),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=2,
    )
    facts = energy_of(run)
    assert facts.saved_joules == 20
    assert saving_verb(facts) == saved


def test_a_fold_that_was_under_way_at_the_stop_neither_checks_it_nor_is_saved():
    # Four folds of 4 s, a stop after two, one more that ended late: only the fourth is saved,
    # which would have taken as long as the second and the third: 4 of 16 s.
    fold = replace(FOLDS[0], processor_seconds=4.0)
    run = RunRecord(
        run_id="x",
        spec=RunSpec(dataset="d", algorithm="a", k=4),
        state=RunState.FINISHED,
        folds=(fold, fold, fold),
        moments=(),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=2,
    )
    assert not run.checked
    facts = energy_of(run)
    assert facts.saved_joules == fold.energy.joules
    assert processor_words(facts) == "processor time about 12 s, about 25 % saved"
