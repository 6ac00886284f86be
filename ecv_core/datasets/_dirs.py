"""Environment -> the folders where datasets and caches live."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def data_dir() -> Path:
    """Where downloads and own files live: ECV_DATA_DIR, or data/downloads in the project."""
    chosen = os.environ.get("ECV_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return PROJECT_ROOT / "data" / "downloads"


def search_dirs() -> tuple[Path, ...]:
    """Folders searched for a dataset, first match wins.

    `data_dir()` comes first; then a folder ../shared/datasets beside the project, if there is one.
    """
    shared = PROJECT_ROOT.parent / "shared" / "datasets"
    return (data_dir(), shared) if shared.is_dir() else (data_dir(),)


def cache_dir() -> Path:
    """Where prepared data and content hashes are kept; safe to delete at any time."""
    return data_dir() / "cache"
