"""The meter reports what CodeCarbon reports, says how it knows, and never fails a fold."""

import json
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ecv_core.energy.meter import SOURCES, CodeCarbonMeter, countries, country, country_in_words
from ecv_core.records.errors import InputError
from ecv_core.records.run import HOW, Energy


def test_an_unknown_country_is_refused_and_not_silently_the_worlds_average() -> None:
    with pytest.raises(InputError, match=r"no country has the code 'XXX'.*DEU"):
        CodeCarbonMeter("XXX")


def test_germany_has_the_intensity_of_the_published_table() -> None:
    germany = country("deu")
    assert (germany.code, germany.name) == ("DEU", "Germany")
    assert germany.grams_co2e_per_kwh == pytest.approx(381, abs=1)  # Our World in Data, 2023
    assert next(iter(countries())) == "AFG"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("DEU", "Germany"),
        ("nld", "the Netherlands"),
        ("USA", "the United States"),
        ("CZE", "Czechia"),
        ("XXX", "XXX"),
    ],
)
def test_a_country_is_named_as_in_a_sentence(code: str, words: str) -> None:
    assert country_in_words(code) == words


@pytest.fixture(scope="module")
def measured() -> Energy:
    meter = CodeCarbonMeter("FRA")
    meter.start()
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        pass
    return meter.stop()


def test_the_parts_add_up_and_emissions_are_the_countrys(measured: Energy) -> None:
    assert measured.joules > 0
    parts = measured.cpu_joules + measured.gpu_joules + measured.ram_joules
    assert parts == pytest.approx(measured.joules)
    grams = measured.joules / 3.6e6 * country("FRA").grams_co2e_per_kwh
    assert measured.grams_co2e == pytest.approx(grams, rel=0.01)
    assert measured.source in set(SOURCES) - {"none"}


class Broken:
    """A tracker that fails where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def start_task(self, name: str) -> None:
        if self.where == "start":
            raise OSError("no counters")

    def stop_task(self, name: str) -> Any:
        return None  # as CodeCarbon does for a task it did not start


@pytest.mark.parametrize("where", ["make", "start", "stop"])
def test_a_broken_meter_gives_none_and_a_warning(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def make(**settings: object) -> Broken:
        if where == "make":
            raise ImportError("no codecarbon")
        return Broken(where)

    monkeypatch.setattr("codecarbon.OfflineEmissionsTracker", make)
    meter = CodeCarbonMeter("DEU")
    with caplog.at_level(logging.WARNING):
        meter.start()
        assert meter.stop() == Energy.none()
    assert "unmetered" in caplog.text


def test_that_codecarbon_is_not_installed_is_said_once_for_all_folds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "codecarbon", None)
    meter = CodeCarbonMeter("DEU")
    for _ in range(3):
        meter.start()
        assert meter.stop() == Energy.none()
    (said,) = caplog.messages
    assert "pip install 'e-fold[energy]'" in said


def test_every_source_has_words_that_say_whether_it_was_measured() -> None:
    assert set(HOW) == set(SOURCES)
    for source, how in HOW.items():
        words = SOURCES[source]
        assert words.startswith("measured") == (how == "measured"), source
        assert words.startswith("estimated") == (how == "estimated"), source
        assert ("not measured" in words) == (how == "estimated"), source
        assert words.startswith("told") == (how == "told"), source
        assert replace(Energy.none(), source=source).measured == (how == "measured")


def test_the_table_of_countries_is_codecarbons():
    import codecarbon

    table = Path(codecarbon.__file__).parent / "data" / "private_infra" / "global_energy_mix.json"
    mix = {
        code: one for code, one in json.loads(table.read_text("utf-8")).items() if len(code) == 3
    }
    theirs = {
        code: one["carbon_intensity"] for code, one in mix.items() if "carbon_intensity" in one
    }
    assert {code: one.grams_co2e_per_kwh for code, one in countries().items()} == {
        code: grams for code, grams in theirs.items() if grams is not None
    }
