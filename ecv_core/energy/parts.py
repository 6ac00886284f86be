"""Folds -> what their energy is made up of: what a meter read, and what is assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ecv_core.energy.savings import JOULES_PER_KWH, cost_of_next_fold, energy_of
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Energy, FoldResult, RunRecord

CPU_PARTS = {
    "rapl": "processor, measured",
    "cpu-load": "processor, from its load",
    "constant": "processor, at a constant power",
    "mixed": "processor, from several sources",
}
"""`Energy.source` -> what the processor's part is called."""
UNDIVIDED = {
    "plug": "whole machine, measured at its plug",
    "slurm": "whole node, measured by SLURM",
    "command": "as reported by a command",
    "plugin": "as reported by a plug-in",
    "told": "as reported with the folds",
}
"""`Energy.source` -> what all of its energy is called, of sources that know no parts."""
IN_NO_PART = "from several sources, in no part"
"""What of 'mixed' energy such sources have added."""
MEMORY = "memory, at a constant power"
GPU = "GPU, measured"
MEASURED = frozenset({CPU_PARTS["rapl"], GPU, UNDIVIDED["plug"], UNDIVIDED["slurm"]})
REPORTED = frozenset({UNDIVIDED["command"], UNDIVIDED["plugin"], UNDIVIDED["told"]})
"""Parts that a meter of one's own reported; MEASURED are those that a meter of known kind read."""
_NAMES_IN_ORDER = dict.fromkeys(
    [CPU_PARTS["rapl"], GPU, *UNDIVIDED.values(), IN_NO_PART, *CPU_PARTS.values(), MEMORY]
)
"""The names of all parts, as they are shown; one that is given twice stays where it is first."""
_BASES = {
    CPU_PARTS["cpu-load"]: "; each second P x (0.1 + 0.9 x load³), with P at full load assumed",
    MEMORY: "; the same power for each module, whatever it does",
}


@dataclass(frozen=True, kw_only=True)
class EnergyPart:
    """A part of the energy, by how it is known."""

    name: str
    joules: float
    percent: float
    """Of the energy of all parts."""
    watts: float
    """Over the whole time of the folds."""

    @property
    def measured(self) -> bool:
        """Whether a meter of known kind read it; the others are assumed, or told."""
        return self.name in MEASURED


class EnergyCost(Protocol):
    """A fold, or several together."""

    @property
    def energy(self) -> Energy:
        """What it cost."""

    @property
    def total_seconds(self) -> float:
        """How long it took."""


class Metered(Protocol):
    """A run, or what was made of one."""

    @property
    def other_work(self) -> str | bool:
        """Whether its joules hold other work of the machine too; a run says which."""


AnyMetered = TypeVar("AnyMetered", bound=Metered)


def runs_without_other_work(runs: Iterable[AnyMetered]) -> list[AnyMetered]:
    """Those whose joules may be added up: the machine did nothing else while they ran."""
    return [run for run in runs if not run.other_work]


def excluded_energy_words(runs: Iterable[Metered]) -> str:
    """How many runs are left out of a sum of joules, in a sentence; empty where none is."""
    metered = list(runs)
    left_out = len(metered) - len(runs_without_other_work(metered))
    if not left_out:
        return ""
    if len(metered) == 1:
        return (
            "Other programs used the machine during this run, so its energy is left out of all "
            "sums."
        )
    if left_out == len(metered):
        return (
            "Other programs used the machine during each of the runs, so their energy is only "
            "approximate."
        )
    if left_out == 1:
        return (
            f"1 of {len(metered)} runs is left out of the sums of energy, because other "
            "programs used the machine during it."
        )
    return (
        f"{left_out} of {len(metered)} runs are left out of the sums of energy, because other "
        "programs used the machine during them."
    )


def inflated_energy_words(runs: Iterable[Metered]) -> str:
    """How many runs of a sum of joules hold other work too, in a sentence; empty where none does.

    For sums that need every run, such as the share of the energy that a selection spends.
    """
    metered = list(runs)
    disturbed = len(metered) - len(runs_without_other_work(metered))
    if not disturbed:
        return ""
    if len(metered) == 1:
        reason = metered[0].other_work
        if isinstance(reason, str):
            return f"The energy of this run is too high, because {reason}."
        return "Other programs used the machine during this run, so its energy is too high."
    return (
        f"Other programs used the machine during {disturbed} of {len(metered)} runs, so this "
        "energy is too high."
    )


def energy_parts(folds: Iterable[EnergyCost]) -> tuple[EnergyPart, ...]:
    """How the energy of these folds is made up: measured parts first, none that is zero.

    Args:
        folds: The folds of any runs; those without a meter count nothing.
    """
    joules: defaultdict[str, float] = defaultdict(float)  # The keys are names of parts.
    seconds = 0.0
    for fold in folds:
        energy = fold.energy
        if energy.source == "none":
            continue
        seconds += fold.total_seconds
        # Some meters tell nothing of the parts of the machine.
        if energy.source in UNDIVIDED:
            joules[UNDIVIDED[energy.source]] += energy.joules
            continue
        joules[CPU_PARTS.get(energy.source, CPU_PARTS["constant"])] += energy.cpu_joules
        joules[GPU] += energy.gpu_joules
        joules[MEMORY] += energy.ram_joules
        if energy.source == "mixed":
            joules_of_parts = energy.cpu_joules + energy.gpu_joules + energy.ram_joules
            # The rest is rounded to microjoules: less than that comes from floating-point sums, and
            # is no part.
            joules[IN_NO_PART] += round(max(energy.joules - joules_of_parts, 0.0), 6)
    all_joules = sum(joules.values())
    parts = []
    for name in _NAMES_IN_ORDER:
        if joules[name] > 0:
            watts = 0.0
            if seconds:
                watts = joules[name] / seconds
            percent = 100 * joules[name] / all_joules
            parts.append(EnergyPart(name=name, joules=joules[name], percent=percent, watts=watts))
    return tuple(parts)


def parts_sentence(parts: Sequence[EnergyPart]) -> str:
    """What the make-up means for what is saved, in a sentence; empty where there is no energy."""
    if not parts:
        return ""
    measured = 0.0
    reported = 0.0
    constant = 0.0
    for part in parts:
        if part.measured:
            measured += part.percent
        if part.name in REPORTED:
            reported += part.percent
        if part.name == MEMORY:
            constant += part.percent
    if measured >= 50:
        return f"Meters measured {percent_text(measured / 100, '.0f')} of it."
    if reported >= 50:
        return f"A meter of your own reported {percent_text(reported / 100, '.0f')} of it."
    measured_words = "None of it was measured"
    if measured:
        measured_words = f"Meters measured only {percent_text(measured / 100, '.0f')} of it"
    share = percent_text(constant / 100, ".0f")
    # What is left is nearly all the processor's, estimated as a power times the time as well. So
    # the time decides what is saved, even where the share of memory is small.
    return (
        f"{measured_words}, and {share} is a constant power for memory times the time, so the "
        "energy saved mostly reflects the time saved."
    )


def energy_lines(run: RunRecord) -> list[str]:
    """How the energy of a run's folds comes about, a line for each step with its own numbers."""
    folds = run.folds
    facts = energy_of(run)
    parts = energy_parts(folds)
    if not parts:
        return []
    seconds = sum(fold.total_seconds for fold in folds)
    lines = []
    for part in parts:
        basis = _BASES.get(part.name, "")
        lines.append(
            f"{part.name}: {part.watts:.3g} W on average x {seconds:.4g} s = {part.joules:.4g} J"
            f"{basis}"
        )
    sum_words = " + ".join(f"{part.joules:.4g}" for part in parts)
    lines.append(
        f"total: {sum_words} = {facts.joules:.4g} J, / 3600 = {facts.joules / 3600:.3g} Wh"
    )
    if facts.has_idle_joules:
        lines.append(_idle_line(folds, seconds))
    if facts.grams_co2e:
        per_kwh = facts.grams_co2e / facts.joules * JOULES_PER_KWH
        lines.append(
            f"emissions: {facts.joules:.4g} J / 3.6 MJ x {per_kwh:.0f} g CO2e per kWh = "
            f"{facts.grams_co2e:.3g} g CO2e"
        )
    if facts.saved_joules is not None:
        lines.append(_saved_line(run, facts.saved_joules))
    return lines


def _idle_line(folds: Sequence[FoldResult], seconds: float) -> str:
    """What of the energy the idle machine would have used, where every fold says it."""
    idle = sum(fold.energy.idle_joules or 0.0 for fold in folds)
    added = sum(fold.energy.above_idle_joules or 0.0 for fold in folds)
    return (
        f"idle: {idle / seconds:.3g} W x {seconds:.4g} s = {idle:.4g} J, so the folds added "
        f"{added:.4g} J to it"
    )


def _saved_line(run: RunRecord, saved_joules: float) -> str:
    """How what the stop saved comes about."""
    joules = [fold.energy.joules for fold in run.folds]
    # A run that has stopped has run all folds up to its stop, so only later ones are missing.
    missing_folds = run.k - len(joules)
    joules_of_missing = f"{missing_folds} that never ran x {cost_of_next_fold(joules):.4g} J"
    if run.ends_at_stop:
        return f"saved: {joules_of_missing} = {saved_joules:.4g} J"
    joules_after_stop = sum(joules[run.stopped_at :])
    return (
        f"saved: {joules_after_stop:.4g} J of folds that ran after the stop + "
        f"{joules_of_missing} = {saved_joules:.4g} J"
    )
