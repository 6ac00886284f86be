"""Everyday things: their arithmetic by hand, their sources, and nothing where it means nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.energy.equivalents import equivalents, like
from ecv_core.records.errors import InputError


def found(joules, grams=0.0):
    return {one.equivalent.id: (one.amount, one.unit) for one in like(joules, grams)}


def test_one_kilowatt_hour_by_hand():
    by_id = found(3.6e6, 248.54847)
    assert by_id["led"] == (pytest.approx(1000 / 9), "h")  # 1000 Wh at 9 W
    assert by_id["phone"] == (pytest.approx(1000 / 11.6), "smartphone charges")
    # 3600 kJ over 85 K x 4.1855 J/g = 355.7675 J/g
    assert by_id["kettle"] == (pytest.approx(10.1190, abs=1e-4), "litres")
    assert by_id["electric-car"] == (pytest.approx(100 / 21), "km")  # at 21 kWh per 100 km
    assert by_id["petrol-car"] == (pytest.approx(1.0), "km")  # 400 g per 1.609344 km


def test_a_tenth_of_a_watt_hour_is_told_in_small_units():
    by_id = found(360.0)
    assert by_id == {"led": (40.0, "s"), "kettle": (pytest.approx(1.0119, abs=1e-4), "ml")}


def test_an_amount_too_small_to_mean_something_gives_nothing():
    assert like(5.0, 0.1) == []
    assert like(0.0, 0.0) == []


@given(st.floats(0, 1e12), st.floats(0, 1e9))
def test_no_number_is_ever_below_the_least_that_means_something(joules, grams):
    for one in like(joules, grams):
        assert one.amount >= one.equivalent.least


def test_a_negative_amount_is_a_sentence():
    with pytest.raises(InputError, match=r"must not be negative, but are -1\.0 J"):
        like(-1.0, 0.0)


def test_every_equivalent_names_its_source_year_and_address():
    for one in equivalents():
        assert len(one.source) > 20
        assert 1900 < one.year < 2100
        assert one.url.startswith("https://")


def test_units_are_positive_and_grow():
    for one in equivalents():
        assert one.basis in ("joules", "grams")
        amounts = list(one.units.values())
        assert amounts[0] > 0
        assert amounts == sorted(amounts)
