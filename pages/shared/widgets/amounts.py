"""Runs -> the table of an answer: folds, energy and time that were used, and saved by stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ecv_core.energy.parts import with_own_joules
from ecv_core.energy.savings import energy_of, folds_once, tallies
from ecv_core.figures.words import duration, grams, watt_hours_alike, watt_hours_range
from ecv_core.records.run import FoldResult, RunRecord
from pages.shared.widgets.answer_card import Amount


def amounts_of(runs: Sequence[RunRecord]) -> list[Amount]:
    """Folds, energy and time of all these runs. One share is told, that of energy.

    A fold that several of them use has taken its energy and its time once.

    Args:
        runs: At least one.
    """
    used = 0
    whole = 0
    saved = 0
    to_check = 0
    for run in runs:
        used += run.folds_used
        whole += run.k
        if run.stopped_early:
            saved += run.k - run.folds_used
            to_check += len(run.folds) - run.folds_used
    words = f"{used} of {whole}"
    if to_check:
        words += f", and {to_check} to check"
    folds = Amount(name="folds", used=words, saved=str(saved or ""))
    return [folds, _energy(runs), _time(runs)]


def saved_head(runs: Sequence[RunRecord]) -> str:
    """What stands above what is saved: folds that ran to check a stop were not saved."""
    if any(run.checked for run in runs):
        return "the stop would save"
    return "saved by the stop"


def _energy(runs: Sequence[RunRecord]) -> Amount:
    """Of the metered ones, without those that other work disturbed where there are others."""
    summed = _summed(runs)
    if not summed:
        used = "-"
        if any(run.folds for run in runs):
            used = "not metered"
        return Amount(name="energy", used=used)
    name = "energy"
    if len(summed) < len(runs):
        name = f"energy of {len(summed)} of {len(runs)} runs"
    folds = folds_once(summed)
    joules = _used_joules(folds)
    emissions = _emissions(folds)
    saving = _saved_energy(summed)
    if saving is None:
        return Amount(name=name, used=f"{watt_hours_range(*joules)} ({emissions})")
    used, saved = watt_hours_alike(joules, saving.joules_range)
    return Amount(
        name=name,
        used=f"{used} ({emissions})",
        saved=f"{saved}, {_about(summed)}{saving.percent:.0f} %",
    )


def _summed(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose energy is in the sum."""
    metered = []
    for run in runs:
        if run.folds and energy_of(run).source != "none":
            metered.append(run)
    return with_own_joules(metered) or metered


def _emissions(folds: Sequence[FoldResult]) -> str:
    """'16 mg CO2e'."""
    emitted = sum(fold.energy.grams_co2e for fold in folds)
    return f"{grams(emitted)} CO2e"


def _used_joules(folds: Sequence[FoldResult]) -> tuple[float, float]:
    """From the least to the most that these folds may have taken."""
    least = 0.0
    most = 0.0
    for fold in folds:
        low, high = fold.energy.range
        least += low
        most += high
    return least, most


class _Saving(NamedTuple):
    """What stops saved of the energy."""

    joules_range: tuple[float, float]
    percent: float


def _saved_energy(runs: Sequence[RunRecord]) -> _Saving | None:
    """From the least to the most that it may be; None where no stop saved any."""
    least = 0.0
    most = 0.0
    saved = 0.0
    whole = 0.0
    for run in runs:
        facts = energy_of(run)
        whole += tallies(run.folds, run.k)[-1].joules
        if facts.saved_joules is None or facts.saved_range is None:
            continue
        saved += facts.saved_joules
        least += facts.saved_range[0]
        most += facts.saved_range[1]
    if not saved:
        return None
    return _Saving((least, most), 100 * saved / whole)


def _time(runs: Sequence[RunRecord]) -> Amount:
    used_seconds = sum(fold.total_seconds for fold in folds_once(runs))
    saved_seconds = 0.0
    for run in runs:
        if run.stopped_early:
            after = tallies(run.folds, run.k)
            saved_seconds += after[-1].seconds - after[run.folds_used].seconds
    used = "-"
    if used_seconds:
        used = duration(used_seconds)
    saved = ""
    if saved_seconds:
        saved = f"{_about(runs)}{duration(saved_seconds)}"
    return Amount(name="time", used=used, saved=saved)


def _about(runs: Sequence[RunRecord]) -> str:
    """'about ' where some folds that were saved never ran, so that what they cost is a forecast."""
    for run in runs:
        if energy_of(run).forecast:
            return "about "
    return ""
