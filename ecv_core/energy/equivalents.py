"""Joules and grams CO2e -> everyday things that take as much, where the magnitude makes sense."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ecv_core.energy.sources import FOLDER
from ecv_core.records.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalent:
    """An everyday thing, and what one unit of it takes."""

    id: str
    text: str
    """What comes after number and unit: 'of light from a 9 W LED lamp'."""
    basis: Literal["joules", "grams"]
    units: Mapping[str, float]
    """Name -> joules or grams CO2e of one, smallest first."""
    least: float
    """Below so many of the smallest unit there is nothing to say."""
    source: str
    year: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """So much of an everyday thing takes as much."""

    amount: float
    unit: str
    equivalent: Equivalent


@cache
def equivalents() -> tuple[Equivalent, ...]:
    """All of data/energy/equivalents.toml, in its order."""
    document = tomllib.loads((FOLDER / "equivalents.toml").read_text("utf-8"))
    return tuple(Equivalent(**entry) for entry in document["equivalent"])


def like(joules: float, grams_co2e: float) -> list[Likeness]:
    """What takes as much, each in the largest unit that keeps the number at `least` or above.

    Args:
        joules: energy, not negative; 0 gives nothing.
        grams_co2e: its emissions, not negative.
    Returns: nothing for an amount too small to mean something.
    Raises: InputError for a negative amount.
    """
    if joules < 0 or grams_co2e < 0:
        raise InputError(
            f"energy and emissions must not be negative, but are {joules} J and {grams_co2e} g"
        )
    found = []
    for one in equivalents():
        basis = joules if one.basis == "joules" else grams_co2e
        fits = [(basis / per, unit) for unit, per in one.units.items() if basis >= one.least * per]
        if fits:
            amount, unit = fits[-1]
            found.append(Likeness(amount=amount, unit=unit, equivalent=one))
    return found
