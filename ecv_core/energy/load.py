"""The machine that is measured: how busy it is, whose work that is, and what memory it has."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ecv_core.records.run import QUIET, FoldResult

_IDLE = ("idle", "iowait", "steal", "guest", "guest_nice", "interrupt", "dpc")
"""Not work of this machine, or counted elsewhere as well."""
TICK_SECONDS = 0.01
"""The system counts in steps of this length on each processor."""

_program: list[psutil.Process] = []
"""The program that this process works for, whose work is no other program's."""


def works_for(program: psutil.Process) -> None:
    """Say that what this program does is no other work: it shows and keeps what is computed."""
    _program[:] = [program]


@dataclass(frozen=True, kw_only=True)
class Load:
    """A reading of the clocks; differences between two of them mean something."""

    clock_seconds: float
    machine_seconds: float
    """Processor seconds of all programs."""
    own_seconds: float
    """Processor seconds of this process, of its children, those that have ended too, and of the
    program that this process works for."""

    @classmethod
    def now(cls) -> Load:
        """The clocks as they are."""
        times = psutil.cpu_times()
        idle = sum(getattr(times, name, 0.0) for name in _IDLE)
        return cls(
            clock_seconds=time.perf_counter(),
            machine_seconds=sum(times) - idle,
            own_seconds=own_processor_seconds() + sum(map(_seconds_of, _program)),
        )

    def share_of_others_since(self, before: Load) -> float | None:
        """The share of the machine that other programs used between two readings, in [0, 1].

        None where they are too close to each other to tell.
        """
        possible_seconds = self._processor_seconds_since(before)
        if possible_seconds < 10 * TICK_SECONDS:
            # The two ticks below would be too large a part of so short a time.
            return None
        all_seconds = self.machine_seconds - before.machine_seconds
        seconds_of_others = all_seconds - (self.own_seconds - before.own_seconds)
        # Each of the two readings may be a tick off.
        return min(max(seconds_of_others - 2 * TICK_SECONDS, 0.0) / possible_seconds, 1.0)

    def is_idle_since(self, before: Load) -> bool:
        """Whether next to nothing was done on the machine between two readings."""
        busy_seconds = self.machine_seconds - before.machine_seconds
        return busy_seconds <= QUIET * self._processor_seconds_since(before)

    def _processor_seconds_since(self, before: Load) -> float:
        """What all processors together could have worked between two readings."""
        return (self.clock_seconds - before.clock_seconds) * (psutil.cpu_count() or 1)


def own_processor_seconds() -> float:
    """Processor seconds of this process and of its children, those that have ended too."""
    me = psutil.Process()
    times = me.cpu_times()
    of_ended_children = times.children_user + times.children_system
    return times.user + times.system + of_ended_children + sum(map(_seconds_of, _children(me)))


def own_processor_seconds_since(before: float) -> float:
    """What `own_processor_seconds` has grown by since it was `before`, at least 0.

    A child that ended and was waited for by nobody, or whose parent ended, takes its seconds along.
    """
    return max(own_processor_seconds() - before, 0.0)


def own_pids() -> set[int]:
    """Of this process and its children that are alive."""
    me = psutil.Process()
    return {me.pid, *(child.pid for child in _children(me))}


def _seconds_of(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return times.user + times.system
    return 0.0


def _children(process: psutil.Process) -> list[psutil.Process]:
    """Those that are alive; on Linux without a look at every process of the machine."""
    children = []
    with suppress(psutil.Error, OSError, ValueError):
        if sys.platform != "linux":
            return process.children(recursive=True)
        for path in Path(f"/proc/{process.pid}/task").glob("*/children"):
            for pid in path.read_text().split():
                child = psutil.Process(int(pid))
                children += [child, *_children(child)]
    return children


# Its memory: by the modules that are there, where the firmware says it.


TABLE = Path("/sys/firmware/dmi/tables/DMI")
"""The firmware's table (SMBIOS); on most systems only the administrator may read it."""
WATTS_PER_MODULE = 5.0
"""As CodeCarbon counts; data sheets say 2 to 5 W."""
_MEMORY_DEVICE = 17
_END_OF_TABLE = 127
"""Kinds of structures in the table."""
_SIZE_OFFSET = 12
"""Where a structure of a module has its size, in two bytes."""


def watts_and_basis_of_memory(watts: float | None) -> tuple[float | None, str]:
    """The watts of the memory, None for what its size suggests, and how they are known.

    Args:
        watts: The watts that the user gives, if any.

    Returns:
        The second as of `Energy.memory_basis`.
    """
    if watts is not None:
        return watts, "given"
    modules = memory_modules()
    if modules:
        return WATTS_PER_MODULE * modules, "modules"
    # CodeCarbon then supposes modules that suit the size of the memory.
    return None, "size"


def memory_modules() -> int:
    """How many modules the firmware lists; 0 where it cannot be read.

    Source: SMBIOS specification 3.7 (DSP0134), sections 6.1 and 7.18: structures of type 17, each
    with its size at offset 12, which is 0 for an empty slot.
    """
    try:
        table = TABLE.read_bytes()
    except OSError:
        return 0
    modules = 0
    begin = 0
    while begin + 4 <= len(table):  # Each structure begins with four bytes.
        kind = table[begin]
        length = table[begin + 1]
        if kind == _END_OF_TABLE or length < 4 or begin + length > len(table):
            break
        if kind == _MEMORY_DEVICE and length >= _SIZE_OFFSET + 2:
            (size,) = struct.unpack_from("<H", table, begin + _SIZE_OFFSET)
            if size:  # An empty slot has the size 0.
                modules += 1
        # After the structure come its texts, which two zeros end.
        end_of_texts = table.find(b"\0\0", begin + length)
        if end_of_texts < 0:
            break
        begin = end_of_texts + 2
    return modules


_MEMORY_BASES = {
    "given": "as set",
    "modules": f"{WATTS_PER_MODULE:g} W for each module that the firmware lists",
    "size": f"{WATTS_PER_MODULE:g} W for each module that its size suggests, because the list of "
    "the firmware cannot be read",
}
"""`Energy.memory_basis` -> how memory's part of the energy was got."""


def memory_words(folds: Sequence[FoldResult]) -> str:
    """How memory's part of the energy was got, in sentences; empty where that is not known.

    Folds that had been computed before have a sentence of their own where it differs.
    """
    power = _memory_power(folds, reused=False)
    power_of_reused = _memory_power(folds, reused=True)
    sentences = []
    if power:
        sentences.append(f"Memory is assumed to draw about {power}.")
    if power_of_reused not in ("", power):
        sentences.append(
            "Memory of the folds that had been computed before is assumed to draw about "
            f"{power_of_reused}."
        )
    return " ".join(sentences)


def _memory_power(folds: Sequence[FoldResult], *, reused: bool) -> str:
    """'3 W all the time: as set': of the last such fold that says it; empty where none does.

    Args:
        folds: The folds of a run.
        reused: Whether of the folds that had been computed before, or of the others.
    """
    for fold in reversed(folds):
        basis = _MEMORY_BASES.get(fold.energy.memory_basis)
        if fold.reused is reused and basis is not None and fold.total_seconds:
            watts = fold.energy.ram_joules / fold.total_seconds
            return f"{watts:.2g} W all the time: {basis}"
    return ""
