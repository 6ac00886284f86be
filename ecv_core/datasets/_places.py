"""Dataset entry -> the file on this machine that holds it."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Any

from ecv_core.datasets._catalogue import DatasetEntry, SourceFile, catalogue
from ecv_core.datasets._dirs import cache_dir, data_dir, search_dirs
from ecv_core.errors import DatasetError

__all__ = [
    "available",
    "cache_dir",
    "data_dir",
    "find",
    "how_to_supply",
    "listing",
    "locate",
    "search_dirs",
]


def find(entry: DatasetEntry) -> tuple[Path, SourceFile]:
    """The file to read and how; official forms before plain ones within each folder.

    Raises: DatasetError if there is none, saying how to get one.
    """
    for folder in search_dirs():
        for file in entry.files:
            for name in file.names:
                if os.path.isfile(folder / name):  # unlike Path.is_file, never raises
                    return folder / name, file
    here = "get it on the Run page or with 'python -m ecv_core download " + f"{entry.id}'; or "
    raise DatasetError(
        f"dataset '{entry.id}' is not on this machine; "
        f"{here if entry.url else ''}{how_to_supply(entry)}"
    )


def locate(entry: DatasetEntry) -> Path | None:
    """The file that `load` would read; None if there is none, or none is needed."""
    try:
        return find(entry)[0]
    except DatasetError:
        return None


def available(entry: DatasetEntry) -> bool:
    """True if the dataset can be loaded without a download."""
    return entry.generated or locate(entry) is not None


def listing() -> list[dict[str, Any]]:
    """Every dataset as a row: id, title, counts after preparation, whether it is on disk, source.

    Counts are None where they are not known before the file is read.
    """
    return [
        {
            "id": entry.id,
            "title": entry.title,
            "users": entry.users,
            "items": entry.items,
            "interactions": entry.interactions,
            "on_disk": available(entry),
            "source": entry.homepage,
            "licence": entry.licence,
        }
        for entry in catalogue().values()
    ]


def how_to_supply(entry: DatasetEntry) -> str:
    """The way out when the file is missing or bad: where to get it, under which name to put it."""
    names = [*entry.file_names[:1], f"{entry.id}.csv"] if entry.url else list(entry.file_names)
    own = f"put your own copy into {data_dir()} as {' or '.join(names)}"
    return f"download it from {entry.url}, or {own}" if entry.url else own
