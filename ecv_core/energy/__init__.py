"""Energy of folds: the meter, what was saved, what that is like and comes to over a year."""

from ecv_core.energy.at_scale import WEEKS_PER_YEAR, AtScale, Yearly, at_scale
from ecv_core.energy.equivalents import Equivalent, Likeness, equivalents, like
from ecv_core.energy.memory import memory_words
from ecv_core.energy.meter import (
    JOULES_PER_KWH,
    SOURCES,
    CodeCarbonMeter,
    Country,
    EnergyMeter,
    FakeMeter,
    NoMeter,
    countries,
    country,
    country_in_words,
    intensity_words,
    meter_for,
)
from ecv_core.energy.parts import EnergyPart, energy_parts, parts_sentence, parts_words
from ecv_core.energy.sources import CarbonSource, carbon_source

__all__ = [
    "JOULES_PER_KWH",
    "SOURCES",
    "WEEKS_PER_YEAR",
    "AtScale",
    "CarbonSource",
    "CodeCarbonMeter",
    "Country",
    "EnergyMeter",
    "EnergyPart",
    "Equivalent",
    "FakeMeter",
    "Likeness",
    "NoMeter",
    "Yearly",
    "at_scale",
    "carbon_source",
    "countries",
    "country",
    "country_in_words",
    "energy_parts",
    "equivalents",
    "intensity_words",
    "like",
    "memory_words",
    "meter_for",
    "parts_sentence",
    "parts_words",
]
