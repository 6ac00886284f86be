"""Runs -> the table of an answer: folds, energy and time that were used, and saved by stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ecv_core.energy.parts import with_own_joules
from ecv_core.energy.savings import energy_of, folds_once, tallies
from ecv_core.figures.words import duration, grams, watt_hours_alike, watt_hours_range
from ecv_core.records.run import RunRecord
from pages.shared.widgets.answer_card import Amount


def amounts_of(runs: Sequence[RunRecord]) -> list[Amount]:
    """Folds, energy and time of all these runs. One share is told, that of energy.

    A fold that several of them use has taken its energy and its time once.

    Args:
        runs: At least one.
    """
    used = 0
    all_folds = 0
    saved = 0
    to_check = 0
    for run in runs:
        used += run.folds_used
        all_folds += run.k
        if run.stopped_early:
            saved += run.k - run.folds_used
            to_check += len(run.folds) - run.folds_used
    words = f"{used} of {all_folds}"
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
    """What the metered runs took and what their stops saved, together."""
    metered = _metered(runs)
    if not metered:
        used = "-"
        if any(run.folds for run in runs):
            used = "not metered"
        return Amount(name="energy", used=used)
    name = "energy"
    if len(metered) < len(runs):
        name = f"energy of {len(metered)} of {len(runs)} runs"
    least = 0.0
    most = 0.0
    grams_co2e = 0.0
    for fold in folds_once(metered):
        least_of_fold, most_of_fold = fold.energy.range
        least += least_of_fold
        most += most_of_fold
        grams_co2e += fold.energy.grams_co2e
    used = watt_hours_range(least, most)
    saved = ""
    saving = _saved_energy(metered)
    if saving is not None:
        used, saved_joules = watt_hours_alike((least, most), saving.joules_range)
        saved = f"{saved_joules}, {_about(metered)}{saving.percent:.0f} %"
    return Amount(name=name, used=f"{used} ({grams(grams_co2e)} CO2e)", saved=saved)


def _metered(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The metered runs, without those that other work disturbed where there are others."""
    metered = []
    for run in runs:
        if run.folds and energy_of(run).source != "none":
            metered.append(run)
    return with_own_joules(metered) or metered


class _Saving(NamedTuple):
    """What stops saved of the energy."""

    joules_range: tuple[float, float]
    """From the least to the most that it may be."""
    percent: float
    """Of the energy of all folds."""


def _saved_energy(runs: Sequence[RunRecord]) -> _Saving | None:
    """What stops saved in these runs together; None where no stop saved any."""
    least = 0.0
    most = 0.0
    saved = 0.0
    of_all_folds = 0.0
    for run in runs:
        facts = energy_of(run)
        of_all_folds += tallies(run.folds, run.k)[-1].joules
        if facts.saved_joules is None or facts.saved_range is None:
            continue
        saved += facts.saved_joules
        least_of_run, most_of_run = facts.saved_range
        least += least_of_run
        most += most_of_run
    if not saved:
        return None
    return _Saving((least, most), 100 * saved / of_all_folds)


def _time(runs: Sequence[RunRecord]) -> Amount:
    """Computing time of the folds, and of those that stops saved."""
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
