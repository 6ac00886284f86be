"""What several configurations spent on one fold together -> what each of them has to bear."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecv_core.energy.load import own_seconds, own_seconds_since
from ecv_core.records.run import Energy, Reading, Shared, one_source


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spent:
    """What was spent until a configuration was finished, since the one before."""

    seconds: dict[str, float]
    """By part of the fold."""
    energy: Energy
    processor_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needed:
    """What a configuration needs in all."""

    seconds: Counter[str]
    """By part of the fold."""
    energy: Energy
    processor_seconds: float


class Costs:
    """What each of several configurations has to bear of a fold.

    The meter is read once for a configuration, for it knows no less than a second; its energy goes
    to the parts of the time by their seconds.
    """

    def __init__(self, count: int, *, goes_on: bool) -> None:
        """Costs of no configuration yet.

        Args:
            count: how many configurations there will be.
            goes_on: as of `models.base.Sharing`.
        """
        self._count = count
        self._common = {"split", "start"}
        """Parts of the fold whose work several configurations need."""
        if goes_on:
            self._common.add("step")
        self._spent: list[_Spent] = []
        """Of each configuration that is finished."""
        self.begin()

    def begin(self) -> None:
        """The clock starts, for the configuration that comes next."""
        self._seconds: dict[str, float] = {}
        """By part of the fold."""
        self._lap_began_at = time.perf_counter()
        self._processor_seconds_before = own_seconds()

    def lap(self, part: str) -> None:
        """This part has ended."""
        now = time.perf_counter()
        self._seconds[part] = self._seconds.get(part, 0.0) + now - self._lap_began_at
        self._lap_began_at = now

    def done(self, energy: Energy) -> None:
        """A configuration is finished, with this energy since the clock started."""
        processor_seconds = own_seconds_since(self._processor_seconds_before)
        self._spent.append(
            _Spent(seconds=self._seconds, energy=energy, processor_seconds=processor_seconds)
        )

    def borne(self) -> dict[str, Any]:
        """What the configuration that was finished last has to bear, as fields of its result."""
        needed = self._needed(divided=True)
        alone = self._needed(divided=False)
        return {
            "fit_seconds": needed.seconds["start"] + needed.seconds["step"],
            "evaluate_seconds": needed.seconds["evaluate"],
            "total_seconds": sum(needed.seconds.values()),
            "processor_seconds": needed.processor_seconds,
            "energy": needed.energy,
            "shared": Shared(
                configurations=self._count,
                alone_seconds=sum(alone.seconds.values()),
                alone_joules=alone.energy.joules,
            ),
        }

    def _needed(self, *, divided: bool) -> _Needed:
        """What the last configuration needs: its own parts, and all common ones up to it.

        Args:
            divided: a common part counts as divided by those that were still to come.
        """
        seconds: Counter[str] = Counter()
        energies = []
        shares = []
        processor_seconds = 0.0
        # Common work of a configuration serves it and all that come after it, so the last one needs
        # that of all before it, too; its other work serves nobody else.
        for place, spent in enumerate(self._spent):
            sharers = 1
            if divided:
                sharers = self._count - place
            is_last = place + 1 == len(self._spent)
            seconds_needed = {}
            for part, part_seconds in spent.seconds.items():
                if part in self._common:
                    seconds_needed[part] = part_seconds / sharers
                elif is_last:
                    seconds_needed[part] = part_seconds
            seconds.update(seconds_needed)
            # The meter tells nothing of parts, so a part gets that share of the energy that it has
            # of the time.
            share = sum(seconds_needed.values()) / (sum(spent.seconds.values()) or 1.0)
            energies.append(spent.energy)
            shares.append(share)
            processor_seconds += share * spent.processor_seconds
        return _Needed(
            seconds=seconds,
            energy=_sum_of(energies, shares),
            processor_seconds=processor_seconds,
        )


def _sum_of(energies: Sequence[Energy], shares: Sequence[float]) -> Energy:
    """The sum of energies, of each a share."""
    names = ["joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e"]
    for name in ("idle_joules", "gpu_seconds"):
        if all(getattr(energy, name) is not None for energy in energies):
            names.append(name)
    other_work = [energy.other_work for energy in energies if energy.other_work is not None]
    return Energy(
        **_totals(names, energies, shares),
        source=one_source([energy.source for energy in energies]),
        other_work=max(other_work, default=None),
        machine_shared=any(energy.machine_shared for energy in energies),
        memory_basis=energies[-1].memory_basis,
        readings=_readings(energies, shares),
    )


def _readings(energies: Sequence[Energy], shares: Sequence[float]) -> tuple[Reading, ...]:
    """The sum of what each meter read, of each energy a share."""
    by_meter = defaultdict(list)
    shares_by_meter = defaultdict(list)
    for energy, share in zip(energies, shares, strict=True):
        for reading in energy.readings:
            by_meter[reading.meter].append(reading)
            shares_by_meter[reading.meter].append(share)
    names = ("joules", "low_joules", "high_joules", "gap_seconds")
    sums = []
    for meter, readings in by_meter.items():
        source = one_source([reading.source for reading in readings])
        totals = _totals(names, readings, shares_by_meter[meter])
        sums.append(Reading(meter=meter, source=source, **totals))
    return tuple(sums)


def _totals(
    names: Sequence[str], records: Sequence[Energy | Reading], shares: Sequence[float]
) -> dict[str, Any]:
    """The sum of each of these fields over the records, of each record a share."""
    totals = dict.fromkeys(names, 0.0)
    for record, share in zip(records, shares, strict=True):
        for name in names:
            totals[name] += share * getattr(record, name)
    return totals
