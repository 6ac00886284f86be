"""What several configurations spent on one fold together -> what each of them has to bear."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecv_core.energy.load import own_processor_seconds, own_processor_seconds_since
from ecv_core.records.run import Energy, Reading, Shared, source_of_sum


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """What was spent until a configuration was finished, since the one before; or what it needs."""

    seconds: Counter[str]
    """By part of the fold."""
    energy: Energy
    processor_seconds: float


class FoldClock:
    """What one configuration takes for a fold, from when this is made."""

    def __init__(self) -> None:
        self.began_at = time.perf_counter()
        self._processor_seconds_before = own_processor_seconds()

    def seconds_until_now(self, *, fit_began_at: float, fit_ended_at: float) -> dict[str, float]:
        """The seconds of a `FoldResult` whose evaluation ends now, by the names of its fields.

        Args:
            fit_began_at: On the clock of `time.perf_counter`.
            fit_ended_at: Likewise, when the evaluation began.
        """
        now = time.perf_counter()
        return {
            "fit_seconds": fit_ended_at - fit_began_at,
            "evaluate_seconds": now - fit_ended_at,
            "total_seconds": now - self.began_at,
            "processor_seconds": own_processor_seconds_since(self._processor_seconds_before),
        }


class Costs:
    """What each of several configurations has to bear of a fold.

    The meter is read once for a configuration, for it knows no less than a second; its energy goes
    to the parts of the time by their seconds.
    """

    def __init__(self, configuration_count: int, *, steps_build_on_each_other: bool) -> None:
        """Costs of no configuration yet; `start_clock` comes next.

        Args:
            configuration_count: How many there will be.
            steps_build_on_each_other: Whether each goes on from the fit of the one before, see
                `models.base.Sharing`; then its step of the fit serves those that follow as well.
        """
        self._configuration_count = configuration_count
        self._common_parts = {"split", "start"}
        """Parts of the fold whose work serves several configurations. The part 'start' is what
        comes between the split and the first fit, and a step is the fit of a configuration."""
        if steps_build_on_each_other:
            self._common_parts.add("step")
        self._spent: list[_Cost] = []
        """What each configuration that is finished has cost."""

    def start_clock(self) -> None:
        """Begin to count for the configuration that comes next."""
        self._seconds_of_part: Counter[str] = Counter()
        self._part_began_at = time.perf_counter()
        self._processor_seconds_before = own_processor_seconds()

    def end_part(self, part: str) -> None:
        """Count the time since the part before as this part of the fold; the next one begins."""
        now = time.perf_counter()
        self._seconds_of_part.update({part: now - self._part_began_at})
        self._part_began_at = now

    def finish_configuration(self, energy: Energy) -> None:
        """Keep what was counted since the clock started, with this energy."""
        processor_seconds = own_processor_seconds_since(self._processor_seconds_before)
        self._spent.append(
            _Cost(
                seconds=self._seconds_of_part,
                energy=energy,
                processor_seconds=processor_seconds,
            )
        )

    def share_of_last(self) -> dict[str, Any]:
        """What the configuration that was finished last has to bear, as fields of its result."""
        divided = self._cost_of_last(is_common_work_divided=True)
        if_computed_alone = self._cost_of_last(is_common_work_divided=False)
        shared = Shared(
            configurations=self._configuration_count,
            alone_seconds=sum(if_computed_alone.seconds.values()),
            alone_joules=if_computed_alone.energy.joules,
        )
        return {
            "fit_seconds": divided.seconds["start"] + divided.seconds["step"],
            "evaluate_seconds": divided.seconds["evaluate"],
            "total_seconds": sum(divided.seconds.values()),
            "processor_seconds": divided.processor_seconds,
            "energy": divided.energy,
            "shared": shared,
        }

    def _cost_of_last(self, *, is_common_work_divided: bool) -> _Cost:
        """What the last configuration needs: its own parts, and all common ones up to it.

        Args:
            is_common_work_divided: Whether a common part counts as divided by the configurations
                that it serves; otherwise it counts whole, as if this one were computed alone.
        """
        seconds: Counter[str] = Counter()
        energies = []
        shares = []
        processor_seconds = 0.0
        last_spent = self._spent[-1]
        # Common work of a configuration serves it and all that come after it, so that the last
        # configuration needs the common work of all before it. Other work serves only the
        # configuration that did it.
        for index, spent in enumerate(self._spent):
            # If common work is divided, a configuration and those after it bear equal parts.
            divisor = 1
            if is_common_work_divided:
                divisor = self._configuration_count - index
            seconds_needed = {}
            for part, part_seconds in spent.seconds.items():
                if part in self._common_parts:
                    seconds_needed[part] = part_seconds / divisor
                elif spent is last_spent:
                    seconds_needed[part] = part_seconds
            seconds.update(seconds_needed)  # `Counter.update` adds.
            # The meter tells nothing of parts, so a part gets that share of the energy that it has
            # of the time.
            all_seconds = sum(spent.seconds.values()) or 1.0
            share = sum(seconds_needed.values()) / all_seconds
            energies.append(spent.energy)
            shares.append(share)
            processor_seconds += share * spent.processor_seconds
        return _Cost(
            seconds=seconds,
            energy=_weighted_sum(energies, shares),
            processor_seconds=processor_seconds,
        )


def _weighted_sum(energies: Sequence[Energy], shares: Sequence[float]) -> Energy:
    """The sum of energies, of each a share."""
    summed_fields = ["joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e"]
    for name in ("idle_joules", "gpu_seconds"):
        if all(getattr(energy, name) is not None for energy in energies):
            summed_fields.append(name)
    # Other programs' work is a share of the processors and no amount, so it cannot be added up. The
    # largest share says how doubtful the sum is.
    other_work = [energy.other_work for energy in energies if energy.other_work is not None]
    return Energy(
        **_totals(summed_fields, energies, shares),
        source=source_of_sum([energy.source for energy in energies]),
        other_work=max(other_work, default=None),
        machine_shared=any(energy.machine_shared for energy in energies),
        memory_basis=energies[-1].memory_basis,  # All are of one machine.
        readings=_sums_by_meter(energies, shares),
    )


def _sums_by_meter(energies: Sequence[Energy], shares: Sequence[float]) -> tuple[Reading, ...]:
    """The sum of what each meter read, of each energy a share."""
    readings_of = defaultdict(list)
    shares_of = defaultdict(list)
    for energy, share in zip(energies, shares, strict=True):
        for reading in energy.readings:
            readings_of[reading.meter].append(reading)
            shares_of[reading.meter].append(share)
    summed_fields = ("joules", "low_joules", "high_joules", "gap_seconds")
    sums = []
    for meter, readings in readings_of.items():
        source = source_of_sum([reading.source for reading in readings])
        totals = _totals(summed_fields, readings, shares_of[meter])
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
