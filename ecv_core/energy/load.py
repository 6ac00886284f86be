"""How busy the machine is, and how much of that is this program's own work."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_IDLE = ("idle", "iowait", "steal", "guest", "guest_nice", "interrupt", "dpc")
"""Not work of this machine, or counted elsewhere as well."""
TICK_SECONDS = 0.01
"""The system counts in steps of this length on each processor."""

_program: list[psutil.Process] = []
"""The program that this process works for, whose work is no other program's."""


def works_for(program: psutil.Process) -> None:
    """Say that what this program does is no other work: it shows and keeps what is computed."""
    _program[:] = [program]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A reading of the clocks; differences between two of them mean something."""

    seconds: float
    machine: float
    """Processor seconds of all programs."""
    own: float
    """Of this process and its children, those that have ended too."""
    program: float
    """Of the program that this process works for."""

    @classmethod
    def now(cls) -> Load:
        """The clocks as they are."""
        times = psutil.cpu_times()
        idle = sum(getattr(times, name, 0.0) for name in _IDLE)
        return cls(
            seconds=time.perf_counter(),
            machine=sum(times) - idle,
            own=own_seconds(),
            program=sum(_seconds_of(one) for one in _program),
        )

    def others_since(self, before: Load) -> float | None:
        """The share of the machine that other programs used between two readings, in [0, 1].

        None where they are too close to each other to tell.
        """
        room = (self.seconds - before.seconds) * (psutil.cpu_count() or 1)
        if room < 10 * TICK_SECONDS:
            return None
        ours = self.own - before.own + self.program - before.program
        others = self.machine - before.machine - ours
        return min(max(others - 2 * TICK_SECONDS, 0.0) / room, 1.0)


def own_seconds() -> float:
    """Processor seconds of this process and of its children, those that have ended too."""
    me = psutil.Process()
    times = me.cpu_times()
    ended = times.children_user + times.children_system
    return times.user + times.system + ended + sum(map(_seconds_of, _children(me)))


def _seconds_of(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _children(process: psutil.Process) -> list[psutil.Process]:
    """Those that are alive; on Linux without a look at every process of the machine."""
    found: list[psutil.Process] = []
    with suppress(psutil.Error, OSError, ValueError):
        if sys.platform != "linux":
            return process.children(recursive=True)
        for path in Path(f"/proc/{process.pid}/task").glob("*/children"):
            for pid in path.read_text().split():
                child = psutil.Process(int(pid))
                found += [child, *_children(child)]
    return found
