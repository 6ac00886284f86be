"""What the machine draws without any work: measured once, and remembered until it is rebooted."""

from __future__ import annotations

import time
from typing import Protocol

import psutil

from ecv_core.energy.boot import recalled, remember
from ecv_core.energy.load import Load
from ecv_core.records.run import QUIET, Energy

LOOK_SECONDS, MEASURED_SECONDS = 0.25, 2.0


class Meter(Protocol):
    """What measures it; as of `meter.EnergyMeter`."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> Energy:
        """End."""


def idle_watts(meter: Meter, name: str) -> float | None:
    """The power of the idle machine, by this meter.

    Args:
        meter: not started.
        name: of what the meter assumes, under which the answer is remembered.
    Returns: watts; None where the machine is not idle now, or nothing can be measured.
    """
    if isinstance(watts := recalled(f"idle {name}"), float):
        return watts
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
    watts = energy.joules / seconds
    remember(f"idle {name}", watts)
    return watts


def _idle(before: Load) -> bool:
    """Whether next to nothing has been done on the machine since."""
    now = Load.now()
    room = (now.seconds - before.seconds) * (psutil.cpu_count() or 1)
    return now.machine - before.machine <= QUIET * room
