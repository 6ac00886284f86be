"""Dataset entry -> the file on this machine that holds it, and the key of its content."""

from __future__ import annotations

import hashlib
import os.path
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ecv_core.dataset import synthetic
from ecv_core.dataset.entries import OWN_DOMAIN, DatasetEntry, SourceFile, catalogue, entry
from ecv_core.dataset.folders import cache_dir, data_dir, search_dirs
from ecv_core.records.errors import DatasetError, UnknownName
from ecv_core.untrusted.files import opened, replacing

_LOADER_VERSION = 2
"""Raised when the same file comes out of `load` differently, so that old caches are not used."""


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A file on this machine and how to read it."""

    path: Path
    form: SourceFile


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data of a dataset come from."""

    dataset: DatasetEntry
    file: FileSource | None
    """None where it needs none: it is in memory, or made by code."""

    @property
    def sha256(self) -> str:
        """Of what the dataset holds, whatever its name. Raises: DatasetError as `key`."""
        if self.dataset.in_memory is not None:
            return self.dataset.in_memory.sha256
        if self.file is None:
            return synthetic.fingerprint()
        path = self.file.path
        try:
            return file_sha256(path)
        except OSError as error:
            raise DatasetError(
                f"{path} cannot be read: {error.strerror or error}; "
                f"make it readable, or {how_to_supply(self.dataset)}"
            ) from error

    @property
    def key(self) -> str:
        """What names the content of the dataset: 64 hex digits, fit for a file name.

        It changes whenever the content does. A file is hashed; the hash is remembered by path,
        size and time of change, here and in `cache_dir()`, so that a large file is hashed once.

        Raises:
            DatasetError: If the file cannot be read.
        """
        content = f"{_LOADER_VERSION}:{self.dataset.id}:{self.sha256}"
        return hashlib.sha256(content.encode()).hexdigest()


def source_of(dataset: DatasetEntry) -> Source:
    """Where the data are; of files the official forms before plain ones within each folder.

    Raises:
        DatasetError: If there is no file, saying how to get one.
    """
    file = _find_file(dataset)
    if file is None and dataset.needs_file:
        way_out = how_to_supply(dataset)
        if dataset.url:
            command = f"python -m ecv_core download {dataset.id}"
            way_out = f"download it on the Run page or with '{command}'; or {way_out}"
        raise DatasetError(f"dataset '{dataset.id}' is not on this machine; {way_out}")
    return Source(dataset=dataset, file=file)


def _find_file(dataset: DatasetEntry) -> FileSource | None:
    for folder in search_dirs():
        for form in dataset.files:
            for name in form.names:
                if os.path.isfile(folder / name):
                    # Unlike Path.is_file, os.path.isfile never raises.
                    return FileSource(path=folder / name, form=form)
    return None


def locate(dataset: DatasetEntry) -> Path | None:
    """The file that `load` would read; None if there is none, or none is needed."""
    file = _find_file(dataset)
    if file is None:
        return None
    return file.path


def available(dataset: DatasetEntry) -> bool:
    """True if the dataset can be loaded without a download."""
    return not dataset.needs_file or _find_file(dataset) is not None


def listing() -> list[dict[str, Any]]:
    """Every dataset as a row: id, title, counts after preparation, whether it is on disk, source.

    Counts are None where they are not known before the file is read.
    """
    return [
        {
            "id": dataset.id,
            "title": dataset.title,
            "users": dataset.users,
            "items": dataset.items,
            "interactions": dataset.interactions,
            "samples": dataset.samples,
            "features": dataset.features,
            "on_disk": available(dataset),
            "source": dataset.homepage,
            "licence": dataset.licence,
        }
        for dataset in catalogue().values()
    ]


def how_to_supply(dataset: DatasetEntry) -> str:
    """The way out when the file is missing or bad: where to get it, under which name to put it."""
    way_out = own_copy_words(dataset)
    if dataset.url:
        way_out = f"download it from {dataset.url}, or {way_out}"
    return way_out


def own_copy_words(dataset: DatasetEntry) -> str:
    """Under which name to put a file that one has, as an order."""
    names = dataset.file_names
    if dataset.url:
        # Two names are enough where the dataset can be downloaded.
        official_name = names[0]
        names = (official_name, f"{dataset.id}.csv")
    return f"put your own copy into {data_dir()} as {' or '.join(names)}"


# What a dataset holds, and whether that is still the same.


def source_key(dataset: DatasetEntry) -> str:
    """What names the content of a dataset, see `Source.key`.

    Raises:
        DatasetError: If the file is missing or cannot be read.
    """
    return source_of(dataset).key


def own_sha256(dataset: DatasetEntry) -> str | None:
    """What a dataset of one's own holds, whatever its name; None for one of the catalogue.

    Raises:
        DatasetError: As `source_key`.
    """
    if dataset.domain != OWN_DOMAIN:
        return None
    return source_of(dataset).sha256


def check_content(dataset_id: str, sha256: str | None) -> None:
    """Refuse a dataset of one's own that is not what it was when a run was made.

    Args:
        dataset_id: The dataset id of the run.
        sha256: What `own_sha256` returned then; None where nothing is known.

    Raises:
        DatasetError: If it is gone or holds something else.
    """
    reason = change_sentence(dataset_id, sha256)
    if reason:
        raise DatasetError(reason)


def change_sentence(dataset_id: str, sha256: str | None) -> str:
    """In a sentence, why a run's dataset is not what it was; empty where it is."""
    if sha256 is None:
        # A dataset of the catalogue has checksums of its own.
        return ""
    change = "has changed since"
    try:
        if source_of(entry(dataset_id)).sha256 == sha256:
            return ""
    except (UnknownName, DatasetError):
        change = "is no longer here"
    return (
        f"the data of this run, '{dataset_id}' (SHA-256 {sha256[:12]}...), {change}; add the "
        "same file again under this name to continue, or start a new run"
    )


def file_sha256(path: Path) -> str:
    """Of a file's content, remembered by its path, size and time of change. Raises: OSError."""
    status = path.stat()
    return _remembered_sha256(path, f"{path}:{status.st_size}:{status.st_mtime_ns}")


@cache
def _remembered_sha256(path: Path, path_size_and_time: str) -> str:
    """The hash of a file, in memory and in `cache_dir()` under its path, size and time of change.

    Raises:
        OSError: If the file cannot be read.
    """
    name = hashlib.sha256(path_size_and_time.encode(errors="replace")).hexdigest()
    file_of_hash = cache_dir() / f"{name}.sha256"
    with suppress(OSError, UnicodeError):
        remembered = file_of_hash.read_text()
        if re.fullmatch("[0-9a-f]{64}", remembered):
            return remembered
    with opened(path) as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    # A folder that cannot be written to costs a hash per process, nothing else.
    with suppress(OSError), replacing(file_of_hash) as temporary_path:
        temporary_path.write_text(digest)
    return digest
