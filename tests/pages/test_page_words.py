"""Units, words and the numbers beside the figure, by hand."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from ecv_core.energy.savings import energy_facts
from ecv_core.figures.words import (
    alpha_text,
    duration,
    saved_words,
    small_number,
    titled,
    watt_hours,
    watt_hours_in_one_unit,
    watt_hours_range,
)
from ecv_core.records.errors import InputError
from ecv_core.stopping import PAPERS_RULE, axis_of
from pages.run.settings import value_as_shown
from pages.shared.live.state import sentence
from pages.shared.widgets.words import ago


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.000123456, "0.000123"),
        (0.0214, "0.0214"),
        (0.5, "0.5"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (120.4, "120"),
        (1234.5, "1,234"),
    ],
)
def test_small_numbers_have_no_exponent(value, shown):
    assert small_number(value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ml-1m, leave-last-item", "MovieLens 1M, Last item"),
        ("std-stagnation", "Stagnating standard deviation"),
        ("recall@10", "Recall@10"),
        ("temporal-windows, k = 3", "Windows in time, k = 3"),
        ("my-model of my own", "my-model of my own"),
    ],
)
def test_a_reader_sees_titles_and_no_ids(text, shown):
    assert titled(text) == shown


def test_energy_is_shown_in_watt_hours():
    assert watt_hours(3600) == "1 Wh"
    assert watt_hours(36) == "10 mWh"


@pytest.mark.parametrize(
    ("joules", "shown"),
    [(95.4, "27 mWh"), (4650, "1.3 Wh"), (35.9, "10 mWh"), (1234567, "340 Wh"), (0, "0 Wh")],
)
def test_energy_is_an_estimate_and_so_rounded_to_two_digits(joules, shown):
    assert watt_hours(joules) == shown  # 26.5 mWh, 1.29 Wh, 9.97 mWh, 342.9 Wh


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((51.2, 74.3), "14 to 21 mWh"),  # 14.2 to 20.6 mWh
        ((51.2, 51.3), "14 mWh"),
        ((320, 400), "89 to 110 mWh"),  # one unit for both
        ((320, 4650), "0.089 to 1.3 Wh"),
    ],
)
def test_a_range_of_energy_has_one_unit(ends, shown):
    assert watt_hours_range(*ends) == shown


def test_what_was_used_and_what_was_saved_have_one_unit():
    # 504 J are 0.14 Wh, 1800 J 0.5 Wh; 288 J are 0.08 Wh, which alone would be 80 mWh.
    shown = ["0.14 to 0.5 Wh", "0.08 to 0.46 Wh"]
    assert watt_hours_in_one_unit((504, 1800), (288, 1656)) == shown
    assert watt_hours_in_one_unit((36, 72), (3.6, 3.6)) == ["10 to 20 mWh", "1 mWh"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.84, "0.8 s"),
        (42.4, "42 s"),
        (0.04, "40 ms"),
        (9.97, "10 s"),
        (59.7, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
        (1_872_000, "520 h"),
    ],
)
def test_durations_are_words(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("alpha", "shown"), [(1e-7, "1e-7"), (5e-3, "5e-3"), (1e-2, "0.01"), (3.25e-5, "3.25e-5")]
)
def test_alphas_are_written_as_in_papers(alpha, shown):
    assert alpha_text(alpha) == shown


def test_every_preset_is_a_step_of_the_slider_and_other_values_stay_what_is_written():
    alpha, tolerance = axis_of(PAPERS_RULE), axis_of("precision")
    assert set(dict(alpha.presets).values()) <= set(alpha.steps)
    assert value_as_shown(alpha, 3.55e-5) == 3.55e-5
    assert value_as_shown(tolerance, 0.0316227766) == 0.0316  # written 3.16%
    assert value_as_shown(tolerance, 0.03) == 0.03


def test_ago_says_how_long_ago():
    now = datetime.now(UTC)
    assert ago(now) == "just now"
    assert ago(now - timedelta(minutes=5, seconds=10)) == "5 min ago"
    assert ago(now - timedelta(hours=3, minutes=5)) == "3 h ago"
    assert ago(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02"


def test_an_error_is_a_sentence_that_markdown_leaves_alone():
    assert sentence(InputError("no file `a_b*c`")) == "No file \\`a\\_b\\*c\\`."


def folds(*joules, source="rapl"):
    return [
        SimpleNamespace(
            energy=SimpleNamespace(
                joules=j,
                grams_co2e=j / 10,
                source=source,
                joules_range=(j, j),
                idle_joules=None,
                gpu_seconds=None,
            ),
            processor_seconds=None,
        )
        for j in joules
    ]


def test_nothing_is_saved_before_the_stop():
    facts = energy_facts(folds(10, 20), 10, None)
    assert (facts.joules, facts.grams_co2e) == (30, 3)
    assert facts.saved_joules is None


def test_folds_never_run_are_saved_at_the_mean_of_the_others_without_the_first():
    facts = energy_facts(folds(80, 20, 30), 6, 3)
    assert facts.saved_joules == 75  # 3 folds at 25 J: the 80 J paid for start-up too
    assert facts.saved_percent == pytest.approx(100 * 75 / 205)  # of 130 + 75


def test_what_is_saved_is_a_range_from_below_the_lowest_to_above_the_highest():
    facts = energy_facts(folds(80, 20, 30), 6, 3)
    assert facts.saved_range == pytest.approx((42, 117))  # 3 x 20 x 0.7, 3 x 30 x 1.3
    assert facts.has_forecast
    assert saved_words(facts) == "12 to 32 mWh"  # 11.7 to 32.5


def test_one_fold_alone_may_have_paid_half_for_start_up():
    facts = energy_facts(folds(10), 3, 1)
    assert (facts.saved_joules, facts.saved_range) == (20, pytest.approx((10, 30)))


def test_folds_run_to_check_count_as_what_they_really_cost():
    facts = energy_facts(folds(10, 20, 30, 60), 5, 2, is_checked=True)
    assert facts.joules == 120
    assert facts.saved_joules == pytest.approx(90 + 110 / 3)  # 30 and 60 J ran, 1 at the mean
    assert facts.saved_range == pytest.approx((90 + 17, 90 + 69))


def test_once_all_folds_ran_the_saving_is_known_and_no_range():
    facts = energy_facts(folds(10, 20, 30, 60), 4, 2, is_checked=True)
    assert facts.saved_range == (90, 90)
    assert not facts.has_forecast
    assert saved_words(facts) == "25 mWh"


def test_a_run_that_needed_every_fold_saved_nothing():
    assert energy_facts(folds(10, 20), 2, 2).saved_joules == 0


def test_one_unmetered_fold_makes_the_sum_unknown():
    mixed = folds(10) + folds(0, source="none")
    assert energy_facts(mixed, 5, 2).source == "none"
