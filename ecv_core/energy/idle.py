"""What the machine draws without any work: measured once, and remembered until it is rebooted."""

from __future__ import annotations

import getpass
import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ecv_core.energy.load import Load
from ecv_core.records.run import QUIET
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    from ecv_core.energy.meter import EnergyMeter

LOOK_SECONDS, MEASURED_SECONDS = 0.25, 2.0


def idle_watts(meter: EnergyMeter, name: str) -> tuple[float, str] | None:
    """The power of the idle machine, by this meter.

    Args:
        meter: not started.
        name: of what the meter assumes, under which the answer is remembered.
    Returns: watts, and how they are known, as `Energy.source`; None where the machine is not idle
        now, or nothing can be measured.
    """
    path, boot = _path(), f"{psutil.boot_time():.0f}"
    known = _known(path, boot)
    if name in known:
        return known[name]
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
    with suppress(OSError), replacing(path) as part:
        part.write_text(json.dumps({"boot": boot, "watts": known | {name: found}}))
    return found


def _idle(before: Load) -> bool:
    """Whether next to nothing has been done on the machine since."""
    now = Load.now()
    room = (now.seconds - before.seconds) * (psutil.cpu_count() or 1)
    return now.machine - before.machine <= QUIET * room


def _path() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"ecv-idle-{user}.json"


def _known(path: Path, boot: str) -> dict[str, tuple[float, str]]:
    """What was measured since the machine was started."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads(path.read_text())
        if found.get("boot") == boot:
            known = found["watts"].items()
            return {str(name): (float(watts), str(source)) for name, (watts, source) in known}
    return {}
