"""What the machine draws without any work: measured once, and remembered until it is rebooted."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from ecv_core.energy.boot import recalled, remember
from ecv_core.energy.load import Load
from ecv_core.records.run import QUIET

if TYPE_CHECKING:
    from ecv_core.energy.meter import EnergyMeter

LOOK_SECONDS, MEASURED_SECONDS = 0.25, 2.0


def idle_watts(meter: EnergyMeter, name: str) -> tuple[float, str] | None:
    """The power of the idle machine, by this meter.

    Args:
        name: of what the meter assumes, under which the answer is remembered.
    Returns: watts, and how they are known, as `Energy.source`; None where the machine is not idle
        now, or nothing can be measured.
    """
    with suppress(TypeError, ValueError):
        watts, source = recalled(f"idle {name}")
        return float(watts), str(source)
    before = Load.now()
    time.sleep(LOOK_SECONDS)
    if not _idle(before):
        return None
    meter.start()
    before = Load.now()
    time.sleep(MEASURED_SECONDS)
    seconds = Load.now().seconds - before.seconds
    energy = meter.stop()
    if energy.source == "none" or not _idle(before):
        return None
    found = (energy.joules / seconds, energy.source)
    remember(f"idle {name}", found)
    return found


def _idle(before: Load) -> bool:
    """Whether next to nothing has been done on the machine since."""
    now = Load.now()
    room = (now.seconds - before.seconds) * (psutil.cpu_count() or 1)
    return now.machine - before.machine <= QUIET * room
