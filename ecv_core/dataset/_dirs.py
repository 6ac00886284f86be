"""Environment -> the folders where datasets and caches live."""

from __future__ import annotations

import os
from pathlib import Path

from ecv_core.records.places import OWN


def data_dir() -> Path:
    """Where downloads and own files live: ECV_DATA_DIR, or downloads/ in `records.places.OWN`."""
    chosen = os.environ.get("ECV_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return OWN / "downloads"


def search_dirs() -> tuple[Path, ...]:
    """Folders searched for a dataset, first match wins.

    `data_dir()` comes first; then those of ECV_DATA_PATH (separated as in PATH), which are only
    read: a class room or a cluster keeps its datasets there. Those that are not there are left out.
    """
    named = os.environ.get("ECV_DATA_PATH", "").split(os.pathsep)
    folders = [Path(name).expanduser().absolute() for name in named if name.strip()]
    more = [folder for folder in folders if os.path.isdir(folder)]  # never raises
    return tuple(dict.fromkeys([data_dir(), *more]))


def cache_dir() -> Path:
    """Where prepared data and content hashes are kept; safe to delete at any time."""
    return data_dir() / "cache"
