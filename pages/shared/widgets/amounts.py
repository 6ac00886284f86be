"""Runs -> the table of an answer: folds, energy and time that were used, and saved by stops."""

from __future__ import annotations

from collections.abc import Sequence

from ecv_core.energy.parts import with_own_joules
from ecv_core.energy.savings import energy_of, tallies
from ecv_core.figures.words import duration, grams, watt_hours_range
from ecv_core.records.run import RunRecord
from pages.shared.widgets.answer_card import Amount


def amounts_of(runs: Sequence[RunRecord]) -> list[Amount]:
    """Folds, energy and time of all these runs. One share is told, that of energy.

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
    begun = [run for run in runs if run.folds]
    metered = [run for run in begun if energy_of(run).source != "none"]
    summed = with_own_joules(metered) or metered
    if not begun:
        return Amount(name="energy", used="-")
    if not summed:
        return Amount(name="energy", used="not metered")
    name = "energy"
    if len(summed) < len(runs):
        name = f"energy of {len(summed)} of {len(runs)} runs"
    least = 0.0
    most = 0.0
    emitted = 0.0
    for run in summed:
        facts = energy_of(run)
        least += facts.joules_range[0]
        most += facts.joules_range[1]
        emitted += facts.grams_co2e
    used = f"{watt_hours_range(least, most)} ({grams(emitted)} CO2e)"
    return Amount(name=name, used=used, saved=_saved_energy(summed))


def _saved_energy(runs: Sequence[RunRecord]) -> str:
    """'23 to 69 mWh, about 60 %'; empty where no stop saved any."""
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
        return ""
    return f"{watt_hours_range(least, most)}, {_about(runs)}{100 * saved / whole:.0f} %"


def _time(runs: Sequence[RunRecord]) -> Amount:
    used_seconds = 0.0
    saved_seconds = 0.0
    for run in runs:
        used_seconds += run.seconds
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
