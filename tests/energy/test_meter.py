"""The meter reports what CodeCarbon reports, says how it knows, and never fails a fold."""

import inspect
import json
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ecv_core.energy.meter import (
    SOURCES,
    CodeCarbonMeter,
    codecarbon_settings,
    countries,
    country,
    country_in_words,
)
from ecv_core.records.errors import InputError
from ecv_core.records.run import HOW_KNOWN, Energy


def test_an_unknown_country_is_refused_and_not_silently_the_worlds_average() -> None:
    with pytest.raises(InputError, match=r"'XXX' is not the code of a country.*DEU"):
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


NAMES_AND_PLACES = {
    "self", "args", "kwargs", "project_name", "experiment_id", "experiment_name", "metadata",
    "api_key", "api_endpoint", "api_call_interval", "prometheus_url", "output_file",
    "on_csv_write", "logging_logger", "logger_preamble", "save_to_file", "save_to_api",
    "save_to_logger", "save_to_prometheus", "save_to_logfire", "co2_signal_api_token",
}  # fmt: skip
"""Settings of CodeCarbon that name something, or say how an output works that is switched off; and
a token that is asked for no intensity where one is given."""


def test_every_setting_of_codecarbon_that_scales_a_figure_is_given() -> None:
    """A version of CodeCarbon with another setting fails here, until it is said what it does."""
    from codecarbon import EmissionsTracker, OfflineEmissionsTracker

    settings = {
        name
        for tracker in (EmissionsTracker, OfflineEmissionsTracker)
        for name in inspect.signature(tracker.__init__).parameters
    }
    assert settings - NAMES_AND_PLACES == set(codecarbon_settings(381.0, None))


@pytest.mark.parametrize("place", ["environment", "home", "here"])
def test_codecarbons_own_configuration_changes_no_figure(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ambient = {
        "pue": "3", "wue": "2", "force_ram_power": "70", "force_cpu_power": "900",
        "gpu_ids": "7", "force_carbon_intensity_g_co2e_kwh": "5000", "tracking_mode": "process",
        "region": "quebec", "country_iso_code": "CAN", "force_mode_cpu_load": "true",
        "output_dir": "/not/there",
    }  # fmt: skip
    lines = ["[codecarbon]", *(f"{name}={value}" for name, value in ambient.items())]
    (tmp_path / ".codecarbon.config").write_text("\n".join(lines))
    if place == "environment":
        for name, value in ambient.items():
            monkeypatch.setenv(f"CODECARBON_{name.upper()}", value)
    elif place == "home":
        monkeypatch.setenv("HOME", str(tmp_path))
    else:
        monkeypatch.chdir(tmp_path)
    meter = CodeCarbonMeter("DEU", processor_watts=20.0, memory_watts=10.0)
    meter.start()  # the first start probes the hardware
    meter.stop()
    earliest = time.perf_counter()
    meter.start()
    begin = time.perf_counter()
    time.sleep(1.0)
    end = time.perf_counter()
    energy = meter.stop()
    latest = time.perf_counter()
    # The meter's own clock begins in its start and ends in its stop.
    seconds = energy.ram_joules / 10.0
    assert 0.99 * (end - begin) <= seconds <= latest - earliest
    assert energy.cpu_joules / seconds <= 21
    parts = energy.cpu_joules + energy.gpu_joules + energy.ram_joules
    assert energy.joules == pytest.approx(parts)
    intensity = energy.grams_co2e / energy.joules * 3.6e6
    assert intensity == pytest.approx(country("DEU").grams_co2e_per_kwh)


class Broken:
    """A tracker that fails where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def get_detected_hardware(self) -> dict[str, object]:
        return {}

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
    assert set(HOW_KNOWN) == set(SOURCES)
    for source, how in HOW_KNOWN.items():
        words = SOURCES[source]
        assert words.startswith("measured") == (how == "measured"), source
        assert words.startswith("estimated") == (how == "estimated"), source
        assert ("not measured" in words) == (how == "estimated"), source
        assert words.startswith("reported") == (how == "reported"), source
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
