"""Folds -> what their energy is made up of: what a meter read, and what is assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ecv_core.energy.savings import JOULES_PER_KWH, energy_of, later_mean
from ecv_core.records.run import Energy, RunRecord

PROCESSOR = {
    "rapl": "processor, measured",
    "cpu-load": "processor, from its load",
    "constant": "processor, at a constant wattage",
    "mixed": "processor, known in several ways",
}
"""`Energy.source` -> what the processor's part is called."""
WHOLE = {
    "plug": "whole machine, measured at its plug",
    "slurm": "whole node, measured by SLURM",
    "command": "what a command said",
    "plugin": "what a plug-in said",
}
"""Of sources that know no parts; also of 'mixed', what is in none."""
MEMORY, GPU = "memory, at a flat wattage", "GPU, measured"
MEASURED = frozenset({PROCESSOR["rapl"], GPU, WHOLE["plug"], WHOLE["slurm"]})
TOLD = frozenset({WHOLE["command"], WHOLE["plugin"]})
_BASIS = {
    PROCESSOR["cpu-load"]: "; each second P x (0.1 + 0.9 x load³), with P at full load assumed",
    MEMORY: "; so much a module, whatever it does",
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
        ...

    @property
    def total_seconds(self) -> float:
        """How long it took."""
        ...


class Metered(Protocol):
    """A run, or what was made of one."""

    @property
    def other_work(self) -> str | bool:
        """Whether its joules hold other work of the machine too; a run says which."""
        ...


AnyMetered = TypeVar("AnyMetered", bound=Metered)


def with_own_joules(runs: Iterable[AnyMetered]) -> list[AnyMetered]:
    """Those whose joules may be added up: the machine did nothing else while they ran."""
    return [run for run in runs if not run.other_work]


def left_out_words(runs: Iterable[Metered]) -> str:
    """How many runs are left out of a sum of joules, in a sentence; empty where none is."""
    metered = list(runs)
    out = len(metered) - len(with_own_joules(metered))
    if not out:
        return ""
    if len(metered) == 1:
        return "Other work ran on the machine during this run, so its joules are in no sum."
    if out == len(metered):
        return f"Other work ran on the machine during all {out} runs, so their joules are rough."
    return (
        f"{out} of {len(metered)} runs {'is' if out == 1 else 'are'} in no sum of joules: other "
        f"work ran on the machine while {'it' if out == 1 else 'they'} did."
    )


def left_in_words(runs: Iterable[Metered]) -> str:
    """How many runs of a sum of joules hold other work too, in a sentence; empty where none does.

    For sums that need every run, such as the share of the energy that a selection spends.
    """
    metered = list(runs)
    inside = len(metered) - len(with_own_joules(metered))
    if not inside:
        return ""
    if len(metered) == 1:
        why = f" ({metered[0].other_work})" if isinstance(metered[0].other_work, str) else ""
        return f"Other work ran on the machine during this run{why}, so its joules are too high."
    return (
        f"These joules include {inside} of {len(metered)} runs during which other work ran on the "
        "machine, so they are too high there."
    )


def energy_parts(folds: Iterable[EnergyCost]) -> tuple[EnergyPart, ...]:
    """How the energy of these folds is made up: measured parts first, none that is zero.

    Args: folds: of any runs; those without a meter count nothing.
    """
    names = (PROCESSOR["rapl"], GPU, *WHOLE.values(), *PROCESSOR.values(), MEMORY)
    sums = dict.fromkeys(names, 0.0)
    seconds = 0.0
    for fold in folds:
        energy = fold.energy
        if energy.source == "none":
            continue
        seconds += fold.total_seconds
        if energy.source in WHOLE:
            sums[WHOLE[energy.source]] += energy.joules
            continue
        sums[PROCESSOR.get(energy.source, PROCESSOR["constant"])] += energy.cpu_joules
        sums[GPU] += energy.gpu_joules
        sums[MEMORY] += energy.ram_joules
    whole = sum(sums.values())
    return tuple(
        EnergyPart(
            name=name,
            joules=joules,
            percent=100 * joules / whole,
            watts=joules / seconds if seconds else 0.0,
        )
        for name, joules in sums.items()
        if joules > 0
    )


def parts_sentence(parts: Iterable[EnergyPart]) -> str:
    """What the make-up means for what is saved, in a sentence; empty where there is no energy."""
    all_parts = tuple(parts)
    measured = sum(part.percent for part in all_parts if part.measured)
    if not all_parts:
        return ""
    if measured >= 50:
        return f"Meters read {measured:.0f} % of it."
    told = sum(part.percent for part in all_parts if part.name in TOLD)
    if told >= 50:
        return f"{told:.0f} % of it is what a meter of one's own said."
    flat = sum(part.percent for part in all_parts if part.name == MEMORY)
    how = "None of it is measured" if not measured else f"Meters read only {measured:.0f} % of it"
    return (
        f"{how}, and {flat:.0f} % is a flat wattage for memory times the time: energy saved is "
        "then mostly time saved."
    )


def why(run: RunRecord) -> list[str]:
    """How the energy of a run's folds comes about, a line for each step with its own numbers."""
    folds, facts = run.folds, energy_of(run)
    parts = energy_parts(folds)
    if not parts:
        return []
    seconds = sum(fold.total_seconds for fold in folds)
    lines = [
        f"{part.name}: {part.watts:.3g} W on average x {seconds:.4g} s = {part.joules:.4g} J"
        + _BASIS.get(part.name, "")
        for part in parts
    ]
    shown = " + ".join(f"{part.joules:.4g}" for part in parts)
    lines.append(
        f"all of it: {shown} = {facts.joules:.4g} J, / 3600 = {facts.joules / 3600:.3g} Wh"
    )
    idle = [fold.energy.idle_joules for fold in folds if fold.energy.idle_joules is not None]
    if len(idle) == len(folds):
        lines.append(
            f"idle: {sum(idle) / seconds:.3g} W x {seconds:.4g} s = {sum(idle):.4g} J, so the "
            f"folds added {sum(f.energy.above_idle_joules or 0.0 for f in folds):.4g} J to it"
        )
    if facts.grams_co2e:
        per_kwh = facts.grams_co2e / facts.joules * JOULES_PER_KWH
        lines.append(
            f"emissions: {facts.joules:.4g} J / 3.6 MJ x {per_kwh:.0f} g CO2e per kWh = "
            f"{facts.grams_co2e:.3g} g CO2e"
        )
    if facts.saved_joules is not None:
        missing = run.k - max(len(folds), run.stopped_at or 0)
        later = later_mean([fold.energy.joules for fold in folds])
        checked = sum(fold.energy.joules for fold in folds[run.stopped_at :])
        lines.append(
            f"saved: {checked:.4g} J of folds that ran after the stop + {missing} that never ran x "
            f"{later:.4g} J = {facts.saved_joules:.4g} J"
        )
    return lines
