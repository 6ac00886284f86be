"""What a run used and what stopping saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import FoldResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFacts:
    """What a run used and what stopping saved, in joules and grams CO2e."""

    joules: float
    """Of all folds that ran."""
    grams_co2e: float
    saved_joules: float | None
    """Against all k folds: what the folds after the stop cost, or would have cost at the mean of
    the folds so far. None while there is no stop."""
    saved_percent: float | None
    source: str
    """'none' if any fold was not metered, else the source of the newest fold."""


def energy_facts(folds: Sequence[FoldResult], k: int, stopped_at: int | None) -> EnergyFacts:
    """Energy used and saved.

    Args:
        folds: those that ran, in their order, also those that ran to check the stop.
        k: folds of the whole cross-validation.
        stopped_at: folds used; None while there is no stop.
    """
    joules = sum(fold.energy.joules for fold in folds)
    saved = percent = None
    if folds and stopped_at is not None:
        checked = sum(fold.energy.joules for fold in folds[stopped_at:])
        missing = k - max(len(folds), stopped_at)
        saved = checked + missing * joules / len(folds)
        whole = joules + missing * joules / len(folds)
        percent = 100 * saved / whole if whole else None
    sources = {fold.energy.source for fold in folds}
    return EnergyFacts(
        joules=joules,
        grams_co2e=sum(fold.energy.grams_co2e for fold in folds),
        saved_joules=saved,
        saved_percent=percent,
        source="none" if "none" in sources or not folds else folds[-1].energy.source,
    )
