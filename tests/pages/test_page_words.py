"""Units, words and the numbers beside the figure, by hand."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from ecv_core.energy.savings import energy_facts
from ecv_core.errors import InputError
from pages.components.run.stop_settings import ALPHAS, PRESETS, nearest_alpha
from pages.components.shared.state import sentence
from pages.components.shared.words import ago, alpha_text, duration, small_number, watt_hours


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


def test_energy_is_shown_in_watt_hours():
    assert watt_hours(3600) == "1 Wh"
    assert watt_hours(36) == "10 mWh"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.84, "0.8 s"),
        (42.4, "42 s"),
        (59.7, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_are_words(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("alpha", "shown"), [(1e-7, "1e-7"), (5e-3, "5e-3"), (1e-2, "0.01"), (3.25e-5, "3.25e-5")]
)
def test_alphas_are_written_as_in_papers(alpha, shown):
    assert alpha_text(alpha) == shown


def test_every_preset_is_a_step_of_the_slider_and_other_alphas_find_the_nearest():
    assert set(PRESETS.values()) <= set(ALPHAS)
    assert nearest_alpha(1.1e-5) == 1e-5
    assert nearest_alpha(1e-12) == 1e-7


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
        SimpleNamespace(energy=SimpleNamespace(joules=j, grams_co2e=j / 10, source=source))
        for j in joules
    ]


def test_nothing_is_saved_before_the_stop():
    facts = energy_facts(folds(10, 20), 10, None)
    assert (facts.joules, facts.grams_co2e) == (30, 3)
    assert facts.saved_joules is None


def test_folds_never_run_are_saved_at_the_mean_of_those_that_ran():
    facts = energy_facts(folds(10, 20, 30), 5, 3)
    assert facts.saved_joules == 40  # 2 folds at 20 J
    assert facts.saved_percent == 40  # 40 of 60 + 40


def test_folds_run_to_check_count_as_what_they_really_cost():
    facts = energy_facts(folds(10, 20, 30, 60), 5, 3)
    assert facts.joules == 120
    assert facts.saved_joules == 90  # 60 J that ran, 1 fold at 30 J
    assert facts.saved_percent == 60  # 90 of 120 + 30


def test_a_run_that_needed_every_fold_saved_nothing():
    assert energy_facts(folds(10, 20), 2, 2).saved_joules == 0


def test_one_unmetered_fold_makes_the_sum_unknown():
    mixed = folds(10) + folds(0, source="none")
    assert energy_facts(mixed, 5, 2).source == "none"
