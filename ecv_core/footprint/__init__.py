"""What saved energy is like, and what it comes to over a year: numbers with source and year."""

from ecv_core.footprint.at_scale import WEEKS_PER_YEAR, AtScale, Yearly, at_scale
from ecv_core.footprint.equivalents import Equivalent, Likeness, equivalents, like
from ecv_core.footprint.sources import CarbonSource, carbon_source

__all__ = [
    "WEEKS_PER_YEAR",
    "AtScale",
    "CarbonSource",
    "Equivalent",
    "Likeness",
    "Yearly",
    "at_scale",
    "carbon_source",
    "equivalents",
    "like",
]
