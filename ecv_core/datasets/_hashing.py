"""Dataset id -> a key that changes whenever the dataset's content does."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from ecv_core.datasets import synthetic
from ecv_core.datasets._catalogue import entry
from ecv_core.datasets._places import cache_dir, find, how_to_supply
from ecv_core.errors import DatasetError
from ecv_core.files import replacing

_LOADER_VERSION = 2
"""Raised when the same file comes out of `load` differently, so that old caches are not used."""

_Stamp = list[str | int]
_remembered: dict[str, _Stamp] = {}


def source_key(dataset_id: str) -> str:
    """What names the content of a dataset: 64 hex digits, fit for a file name.

    Hashes the file that `load` would read; the hash is remembered by path, size and time of change,
    here and in `cache_dir()`, so that a large file is hashed once.

    Raises: UnknownName; DatasetError if the file is missing or cannot be read.
    """
    known = entry(dataset_id)
    if known.generated:
        content = synthetic.fingerprint()
    else:
        path, _ = find(known)
        try:
            content = _file_sha256(path)
        except OSError as error:
            raise DatasetError(
                f"{path} cannot be read: {error.strerror or error}; "
                f"make it readable, or {how_to_supply(known)}"
            ) from error
    return hashlib.sha256(f"{_LOADER_VERSION}:{dataset_id}:{content}".encode()).hexdigest()


def _file_sha256(path: Path) -> str:
    status = path.stat()
    stamp: _Stamp = [status.st_size, status.st_mtime_ns]
    memory = cache_dir() / "hashes.json"
    for known in (_remembered, _stored(memory)):
        entry_ = known.get(str(path))
        if entry_ and entry_[:2] == stamp:
            return str(entry_[2])
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _remembered[str(path)] = [*stamp, digest]
    _store(memory, _stored(memory) | {str(path): [*stamp, digest]})
    return digest


def _stored(memory: Path) -> dict[str, _Stamp]:
    with suppress(OSError, ValueError):
        stored = json.loads(memory.read_text(encoding="utf-8"))
        if isinstance(stored, dict):
            return {
                path: stamp
                for path, stamp in stored.items()
                if isinstance(stamp, list) and len(stamp) == 3
            }
    return {}


def _store(memory: Path, hashes: dict[str, _Stamp]) -> None:
    # A folder that cannot be written to costs a hash per process, nothing else.
    with suppress(OSError), replacing(memory) as part:
        part.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
