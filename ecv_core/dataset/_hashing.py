"""Dataset id -> a key that changes whenever the dataset's content does."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from ecv_core.dataset import synthetic
from ecv_core.dataset._catalogue import (
    OWN_DOMAIN,
    DatasetEntry,
    cache_dir,
    catalogue,
    entry,
    find,
    how_to_supply,
)
from ecv_core.records.errors import DatasetError, UnknownName
from ecv_core.untrusted.files import replacing

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
    dataset = entry(dataset_id)
    content = synthetic.fingerprint() if dataset.generated else _content(dataset)
    return hashlib.sha256(f"{_LOADER_VERSION}:{dataset_id}:{content}".encode()).hexdigest()


def own_sha256(dataset: DatasetEntry) -> str | None:
    """What a dataset of one's own holds, whatever its name; None for one of the catalogue.

    Raises: DatasetError as `source_key`.
    """
    return _content(dataset) if dataset.domain == OWN_DOMAIN else None


def check_content(dataset_id: str, sha256: str | None) -> None:
    """Refuse a dataset of one's own that is not what it was when a run was made.

    Args:
        dataset_id: of the run.
        sha256: what `own_sha256` said then; None where nothing is known.
    Raises: DatasetError if it is gone, has another name by now, or holds something else.
    """
    if said := changed(dataset_id, sha256):
        raise DatasetError(said)


def changed(dataset_id: str, sha256: str | None) -> str:
    """In a sentence, why a run's dataset is not what it was; empty where it is."""
    if sha256 is None:
        return ""
    now = None
    with suppress(UnknownName):
        now = _content_or_none(entry(dataset_id))
    if now == sha256:
        return ""
    own = (one for one in catalogue().values() if one.domain == OWN_DOMAIN)
    called = next((one.id for one in own if _content_or_none(one) == sha256), None)
    there = "is not here any more" if now is None else "has changed since"
    what = f"the data of this run, '{dataset_id}' (SHA-256 {sha256[:12]}...), {there}"
    if called is not None:
        return f"{what}; the same data is here as '{called}': start a new run on that"
    return f"{what}; add the same file again under this name to go on, or start a new run"


def _content_or_none(dataset: DatasetEntry) -> str | None:
    try:
        return _content(dataset)
    except DatasetError:
        return None


def _content(dataset: DatasetEntry) -> str:
    if dataset.held is not None:
        return dataset.held.sha256
    path, _ = find(dataset)
    try:
        return file_sha256(path)
    except OSError as error:
        raise DatasetError(
            f"{path} cannot be read: {error.strerror or error}; "
            f"make it readable, or {how_to_supply(dataset)}"
        ) from error


def file_sha256(path: Path) -> str:
    """Of a file's content, remembered by its path, size and time of change. Raises: OSError."""
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
