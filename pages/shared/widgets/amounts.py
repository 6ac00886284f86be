"""Runs -> the table of an answer: folds, energy and time that were used, and saved by stops."""

from __future__ import annotations

from collections.abc import Sequence

from ecv_core.energy.parts import runs_without_other_work
from ecv_core.energy.savings import (
    distinct_folds,
    energy_of,
    metered_runs,
    sum_of_ranges,
    tallies,
    total_saved_range,
)
from ecv_core.figures.words import (
    duration,
    emissions_words,
    watt_hours_in_one_unit,
    watt_hours_range,
)
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import RunRecord
from pages.shared.widgets.answer_card import Amount


def amounts_of(runs: Sequence[RunRecord]) -> list[Amount]:
    """Folds, energy and time of all these runs. One share is told, that of energy.

    A fold that several of them use has taken its energy and its time once.

    Args:
        runs: At least one.
    """
    used_folds = 0
    all_folds = 0
    saved_folds = 0
    folds_to_check = 0
    late_folds = 0
    for run in runs:
        used_folds += run.folds_used
        all_folds += run.k
        if run.stopped_early:
            saved_folds += run.k - _folds_not_saved(run)
            folds_after_stop = len(run.folds) - run.folds_used
            if run.ends_at_stop:
                late_folds += folds_after_stop
            else:
                folds_to_check += folds_after_stop
    words = f"{used_folds} of {all_folds}"
    if folds_to_check:
        words += f", and {folds_to_check} to check"
    if late_folds:
        words += f", and {late_folds} after the stop"
    folds = Amount(name="folds", used=words, saved=str(saved_folds or ""))
    return [folds, _energy(runs), _time(runs)]


def _folds_not_saved(run: RunRecord) -> int:
    """How many folds its stop did not save: those used, and those that were under way then."""
    if run.ends_at_stop:
        return len(run.folds)
    return run.folds_used


def saved_head(runs: Sequence[RunRecord]) -> str:
    """What stands above what is saved: folds that ran to check a stop were not saved."""
    if any(run.checked for run in runs):
        return "the stop would save"
    return "saved by the stop"


def _energy(runs: Sequence[RunRecord]) -> Amount:
    """What the metered runs took and what their stops saved, together."""
    metered = metered_runs(runs)
    # Runs that other work disturbed are left out, unless there are no others.
    metered = runs_without_other_work(metered) or metered
    if not metered:
        used = "-"
        if any(run.folds for run in runs):
            used = "not metered"
        return Amount(name="energy", used=used)
    name = "energy"
    if len(metered) < len(runs):
        name = f"energy of {len(metered)} of {len(runs)} runs"
    folds = distinct_folds(metered)  # several runs may have used the same fold
    joules_range = sum_of_ranges(fold.energy.joules_range for fold in folds)
    used = watt_hours_range(*joules_range)
    saved = ""
    percent = _saved_percent(metered)
    if percent:
        saved_joules_range = total_saved_range(map(energy_of, metered))
        # What was used is written once more, so that both amounts are in the same unit.
        used, saved_watt_hours = watt_hours_in_one_unit(joules_range, saved_joules_range)
        saved = (
            f"{saved_watt_hours}, {_about_if_forecast(metered)}{percent_text(percent / 100, '.0f')}"
        )
    return Amount(name=name, used=f"{used} ({emissions_words(folds)} CO2e)", saved=saved)


def _saved_percent(runs: Sequence[RunRecord]) -> float:
    """What stops saved in these runs together, of the energy of all folds; 0 for nothing."""
    saved_joules = 0.0
    joules_of_all_folds = 0.0
    for run in runs:
        # The last tally is what all k folds spend, where those that did not run are estimated.
        *_, tally_of_all = tallies(run.folds, run.k)
        joules_of_all_folds += tally_of_all.joules
        saved_joules += energy_of(run).saved_joules or 0.0
    if not saved_joules:
        return 0.0
    return 100 * saved_joules / joules_of_all_folds


def _time(runs: Sequence[RunRecord]) -> Amount:
    """Computing time of the folds, and of those that stops saved."""
    # A fold that several of the runs use was computed once.
    used_seconds = sum(fold.total_seconds for fold in distinct_folds(runs))
    saved_seconds = 0.0
    for run in runs:
        if run.stopped_early:
            # A tally is what was spent after so many folds, from 0 to k.
            tally_after = tallies(run.folds, run.k)
            not_saved = tally_after[_folds_not_saved(run)].seconds
            saved_seconds += tally_after[run.k].seconds - not_saved
    used = "-"
    if used_seconds:
        used = duration(used_seconds)
    saved = ""
    if saved_seconds:
        saved = f"{_about_if_forecast(runs)}{duration(saved_seconds)}"
    return Amount(name="time", used=used, saved=saved)


def _about_if_forecast(runs: Sequence[RunRecord]) -> str:
    """'about ' where some folds that were saved never ran, so that what they cost is a forecast."""
    for run in runs:
        if energy_of(run).has_forecast:
            return "about "
    return ""
