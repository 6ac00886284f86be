"""Fold files on disk: read, written in one step, and kept under their content's hash."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ecv_core.errors import FoldsError
from ecv_core.files import content_of, replacing
from ecv_core.limits import MAX_FOLDS_BYTES

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
SUFFIXES = {GZIP_MAGIC: ".csv.gz", ZIP_MAGIC: ".zip"}
"""What a stored file is called, by its first bytes; anything else is plain CSV."""


def store_folds(source: Path | bytes, folder: Path) -> str:
    """Keep a copy of a fold file or split archive under its content's hash, and return that hash.

    Args:
        source: the file, as a path or as its content.
        folder: where copies are kept; made when missing.
    Returns: the SHA-256 of the content, as RunSpec.folds_sha256 names it.
    Raises: FoldsError if the file cannot be read or the copy not written.
    """
    content = (
        source if isinstance(source, bytes) else read_bytes(source, f"the fold file {source.name}")
    )
    sha256 = hashlib.sha256(content).hexdigest()
    suffix = next((end for magic, end in SUFFIXES.items() if content.startswith(magic)), ".csv")
    write_bytes(folder / f"{sha256}{suffix}", content)
    return sha256


def stored_folds_path(folder: Path, sha256: str) -> Path:
    """Where `store_folds` keeps the file with this hash.

    Raises: FoldsError if it is not there, or is no longer what was stored.
    """
    if re.fullmatch("[0-9a-f]{64}", sha256) is None:  # it becomes a file name
        raise FoldsError(f"'{sha256}' is not the SHA-256 of a fold file; import the file again")
    for suffix in (*SUFFIXES.values(), ".csv"):
        path = folder / f"{sha256}{suffix}"
        if path.is_file():
            if hashlib.sha256(read_bytes(path, "the stored fold file")).hexdigest() != sha256:
                raise FoldsError(f"the stored fold file {path} is damaged; import the file again")
            return path
    raise FoldsError(f"no fold file {sha256} is stored in {folder}; import the file again")


def read_bytes(path: Path, name: str) -> bytes:
    """The file's content; `name` is what to call it in an error. Raises: FoldsError."""
    try:
        return content_of(path, at_most=MAX_FOLDS_BYTES)
    except OSError as error:
        raise FoldsError(
            f"{name} cannot be read ({error.strerror or error}); check its path and permissions"
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write in one step: a reader sees the old file or the whole new one. Raises: FoldsError."""
    try:
        with replacing(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise FoldsError(
            f"the fold file {path} cannot be written ({error.strerror or error}); "
            "free space or choose another folder"
        ) from error
