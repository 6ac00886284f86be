"""The files under data/energy -> records, each number with its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from ecv_core.records.errors import InputError
from ecv_core.records.places import SHIPPED

FOLDER = SHIPPED / "energy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonSource:
    """Where the carbon intensities of `energy.countries` come from."""

    source: str
    url: str
    note: str


@cache
def carbon_source() -> CarbonSource:
    """Who counted the grams of CO2e per kWh of each country.

    Raises: InputError if the file that says so is damaged.
    """
    document = read("carbon_intensity.toml")
    try:
        return CarbonSource(**document)
    except TypeError as error:
        raise damaged("carbon_intensity.toml", error) from error


def read(name: str) -> dict[str, Any]:
    """One file of the folder.

    Raises: InputError if it is missing or no TOML.
    """
    try:
        with (FOLDER / name).open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise damaged(name, error) from error


def damaged(name: str, error: Exception) -> InputError:
    """What to say about a file that cannot be used."""
    return InputError(
        f"the file data/energy/{name} cannot be read ({type(error).__name__}: {error}); "
        "restore it from the project"
    )
