"""Where the carbon intensities of `energy.meter.countries` come from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from ecv_core.records.places import SHIPPED

FOLDER = SHIPPED / "energy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonSource:
    """Who counted the grams of CO2e per kWh of each country."""

    source: str
    url: str
    note: str


@cache
def carbon_source() -> CarbonSource:
    """The one that data/energy/carbon_intensity.toml names."""
    return CarbonSource(**tomllib.loads((FOLDER / "carbon_intensity.toml").read_text("utf-8")))
