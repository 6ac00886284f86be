"""File on disk -> the bytes of its data: out of the archive, decompressed, checksum verified."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ecv_core.datasets._catalogue import SourceFile

_LONGEST_LINE = 1 << 16


class Unreadable(Exception):
    """Why a file cannot be used, as half a sentence; callers add the file and the way out."""


def read_content(path: Path, file: SourceFile) -> bytes:
    """The data inside `path`: its zip member, or the whole file decompressed.

    What compression it has is seen from the first bytes, not the name: a download may be renamed.
    Raises: Unreadable if it is truncated, not what its name says, or fails its checksum.
    """
    with unreadable_reasons():
        content = _member(path, file.member) if file.member else _decompressed(path)
    if file.sha256:
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != file.sha256:
            what = file.member or "the content"
            raise Unreadable(f"{what} has SHA-256 {sha256[:12]}..., expected {file.sha256[:12]}...")
    return content


def first_line(path: Path) -> bytes:
    """The first line of a text file, decompressed; at most 64 KiB of it. Raises: Unreadable."""
    with unreadable_reasons(), path.open("rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        if start.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                return unpacked.readline(_LONGEST_LINE)
        if start.startswith(b"\xfd7zXZ\x00"):
            with lzma.LZMAFile(raw) as unpacked:
                return unpacked.readline(_LONGEST_LINE)
        return raw.readline(_LONGEST_LINE)


@contextmanager
def unreadable_reasons() -> Iterator[None]:
    """Turn the many ways in which reading a damaged file fails into Unreadable."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise Unreadable(f"the compressed data is truncated or damaged: {error}") from error
    except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: encrypted, or a new method
        raise Unreadable(f"it is not a readable zip archive: {error}") from error
    except OSError as error:
        raise Unreadable(f"reading it failed: {error.strerror or error}") from error


def _member(path: Path, member: str) -> bytes:
    wanted = PurePosixPath(member).name
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        # A repack may lack the official top folder; the checksum decides what it is.
        members = (
            [member] if member in names else [n for n in names if PurePosixPath(n).name == wanted]
        )
        if not members:
            raise Unreadable(f"the archive has no {member}")
        return archive.read(members[0])


def _decompressed(path: Path) -> bytes:
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        return gzip.decompress(raw)
    if raw.startswith(b"\xfd7zXZ\x00"):
        return lzma.decompress(raw)
    if path.suffix in (".gz", ".xz"):
        raise Unreadable(f"it is not a {path.suffix} file")
    return raw
