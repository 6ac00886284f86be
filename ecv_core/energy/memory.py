"""What memory is taken to draw: by the modules that are there, where the firmware says it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from ecv_core.records.run import FoldResult

TABLE = Path("/sys/firmware/dmi/tables/DMI")
"""The firmware's table (SMBIOS); on most systems only the administrator may read it."""
WATTS_PER_MODULE = 5.0
"""As CodeCarbon counts; data sheets say 2 to 5 W."""
_DEVICE, _END = 17, 127


def memory_power(given: float | None) -> tuple[float | None, str]:
    """The watts of the memory, None for what its size suggests, and how they are known.

    Returns: the second as of `Energy.memory_basis`.
    """
    if given is not None:
        return given, "given"
    if modules := memory_modules():
        return WATTS_PER_MODULE * modules, "modules"
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
    found = at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if kind == _END or length < 4 or at + length > len(table):
            break
        if kind == _DEVICE and length > 13 and struct.unpack_from("<H", table, at + 12)[0]:
            found += 1
        texts = table.find(b"\0\0", at + length)  # after the structure come its texts
        if texts < 0:
            break
        at = texts + 2
    return found


def memory_words(folds: Sequence[FoldResult]) -> str:
    """How memory's part of the energy was got, as a sentence; empty where that is not known."""
    last = next((fold for fold in reversed(folds) if fold.energy.memory_basis), None)
    if last is None or not last.total_seconds:
        return ""
    how = {
        "given": "as it was set",
        "modules": f"{WATTS_PER_MODULE:g} W for each module that the firmware lists",
        "size": f"{WATTS_PER_MODULE:g} W for each module that its size suggests, for the list of "
        "the firmware cannot be read",
    }.get(last.energy.memory_basis)
    watts = f"{last.energy.ram_joules / last.total_seconds:.2g}"
    return f"Memory is counted at about {watts} W all the time: {how}." if how else ""
