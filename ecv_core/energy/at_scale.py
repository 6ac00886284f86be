"""One saving, many times a year -> kWh, kg CO2e and hours."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ecv_core.records.errors import InputError

WEEKS_PER_YEAR = 52
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class AtScale:
    """How much is evaluated, and what one fold takes."""

    runs_per_week: float
    k: int
    """Folds of a whole cross-validation."""
    folds_used: float
    """Folds used on average where the rule may stop; from 1 to k."""
    joules_per_fold: float
    seconds_per_fold: float
    grams_per_kwh: float
    """Carbon intensity of the electricity, grams CO2e per kWh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yearly:
    """What so many folds come to in a year of 52 weeks."""

    folds: float
    kwh: float
    kg_co2e: float
    hours: float


def at_scale(work: AtScale, folds_per_run: float) -> Yearly:
    """What a year of runs with so many folds each takes.

    Args:
        work: the workload; see `AtScale`.
        folds_per_run: `work.k` gives all of k-fold cross-validation, `work.folds_used` what e-fold
            takes, and `work.k - work.folds_used` what it saves.
    Raises: InputError for a number that cannot be.
    """
    _check(work)
    folds = work.runs_per_week * WEEKS_PER_YEAR * folds_per_run
    kwh = folds * work.joules_per_fold / JOULES_PER_KWH
    return Yearly(
        folds=folds,
        kwh=kwh,
        kg_co2e=kwh * work.grams_per_kwh / 1000,
        hours=folds * work.seconds_per_fold / 3600,
    )


def _check(work: AtScale) -> None:
    for name, value in (
        ("runs per week", work.runs_per_week),
        ("energy per fold", work.joules_per_fold),
        ("time per fold", work.seconds_per_fold),
        ("carbon intensity", work.grams_per_kwh),
    ):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"the {name} must be zero or more, but is {value:g}")
    if not 1 <= work.folds_used <= work.k:
        raise InputError(
            f"the folds used must be from 1 to k = {work.k}, but are {work.folds_used:g}"
        )
