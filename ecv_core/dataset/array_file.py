"""Interactions -> a file of arrays that is mapped into memory, and back.

A file holds arrays as numpy saves them, one after the other, each from a multiple of `_ALIGNMENT`
bytes: the name of the dataset, the names of the other arrays, and these. At its end stands the sum
of all words of 8 bytes before, modulo 2^64: damage to any word changes it, and it is worked out as
fast as a file is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.interactions import SOMETIMES, Interactions
from ecv_core.untrusted.files import opened, replacing

_FORMAT = 4
"""Raised when `preparation` or the layout of the file changes, so that old files are not read."""
_ALIGNMENT = 64
_NEEDED = ("users", "items", "user_ids", "item_ids")


def read_or_make(key: str, folder: Path, make: Callable[[], Interactions]) -> Interactions:
    """What `make` returns, mapped from a file in `folder` that was made under this key before.

    Arrays that are mapped are in memory once, for however many processes, and as they are wanted.
    A damaged cache file is made anew, and where nothing can be written (full or read-only disk)
    the result is simply not kept: the cache never fails a run. Safe to use from several processes.

    Args:
        key: Names everything that the result depends on; fit for a file name.
        folder: Created if need be.
        make: Called when there is nothing to read; what it raises passes through.
    """
    path = folder / f"{key}.v{_FORMAT}.arrays"
    mapped = _map_arrays(path)
    if mapped is not None:
        return mapped
    interactions = make()
    try:
        _write(path, interactions)
    except OSError:
        return interactions
    return _map_arrays(path) or interactions


def _write(path: Path, interactions: Interactions) -> None:
    """Write the file in one step. Raises: OSError."""
    arrays = {}
    for name in (*_NEEDED, *SOMETIMES):
        array = getattr(interactions, name)
        if array is not None:
            arrays[name] = array
    with replacing(path) as part:
        with part.open("wb") as stream:
            for array in (interactions.dataset, list(arrays), *arrays.values()):
                np.save(stream, np.asarray(array), allow_pickle=False)
                padding = -stream.tell() % _ALIGNMENT
                stream.write(bytes(padding))
        # Damage to any word of 8 bytes changes the sum of all words.
        checksum = np.memmap(part, np.uint64, "r").sum()
        with part.open("ab") as stream:
            stream.write(checksum.tobytes())


def _map_arrays(path: Path) -> Interactions | None:
    """The interactions of a file; None where there is none, or it is damaged."""
    try:
        with opened(path) as stream:
            # The file ends with the sum of all words of 8 bytes before, as `_write` has made it.
            words = np.asarray(np.memmap(stream, np.uint64, "c"))
            checksum = words[-1]
            if words[:-1].sum() != checksum:
                return None
            stream.seek(0)
            file_bytes = words.view(np.uint8)
            dataset = _next_array(stream, file_bytes)
            names = _next_array(stream, file_bytes)
            arrays = {str(name): _next_array(stream, file_bytes) for name in names}
        return Interactions(dataset=str(dataset), **arrays)
    except (OSError, ValueError, TypeError):
        return None


def _next_array(stream: BinaryIO, file_bytes: NDArray[np.uint8]) -> NDArray[Any]:
    """The array that begins where the stream is, in the memory of the file.

    Args:
        stream: The file; it is moved to the next array.
        file_bytes: The whole file, mapped.

    Raises:
        ValueError: If no array begins here.
    """
    np.lib.format.read_magic(stream)
    shape, _, kind = np.lib.format.read_array_header_1_0(stream)
    # The header says only which shape and type the array has. Its bytes follow, and are not read
    # but taken from the mapped file. Padding comes after them, up to where the next array may
    # begin.
    start = stream.tell()
    end = start + kind.itemsize * math.prod(shape)
    padding = -end % _ALIGNMENT
    stream.seek(end + padding)
    return file_bytes[start:end].view(kind).reshape(shape)
