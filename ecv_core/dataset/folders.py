"""Environment -> the folders in which datasets and caches live."""

from __future__ import annotations

import os
import os.path
from pathlib import Path

from ecv_core.records.places import OWN


def data_dir() -> Path:
    """Where downloads and own files live: ECV_DATA_DIR, or downloads/ in `records.places.OWN`."""
    chosen = os.environ.get("ECV_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return OWN / "downloads"


def search_dirs() -> tuple[Path, ...]:
    """Folders that are searched for a dataset; the first that has it counts.

    `data_dir()` comes first; then those of ECV_DATA_PATH (separated as in PATH), which are only
    read: a class room or a cluster keeps its datasets there. Folders that do not exist are left
    out.
    """
    folders = [data_dir()]
    for name in os.environ.get("ECV_DATA_PATH", "").split(os.pathsep):
        if not name.strip():
            continue
        folder = Path(name).expanduser().absolute()
        if os.path.isdir(folder) and folder not in folders:
            # Unlike Path.is_dir, os.path.isdir never raises.
            folders.append(folder)
    return tuple(folders)


def cache_dir() -> Path:
    """Where prepared data and content hashes are kept; safe to delete at any time."""
    return data_dir() / "cache"
