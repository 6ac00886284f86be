"""A file on disk -> its data: out of the archive, decompressed, checksum verified."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import zipfile
from pathlib import Path, PurePosixPath

from ecv_core.dataset.layout import Unreadable
from ecv_core.dataset.sources import FileSource
from ecv_core.untrusted.files import opened


def open_content(source: FileSource) -> io.BufferedIOBase:
    """The data of a file: its zip member, or the whole file decompressed.

    They are read at once where a checksum asks for the whole of them, else as they are wanted.

    Raises:
        Unreadable if it is not what its name says, or fails its checksum; and what
            `plain.errors_as_unreadable` turns into that.
    """
    member = source.form.member
    expected_sha256 = source.form.sha256
    # Content without a checksum need not be read as a whole.
    if member is None and expected_sha256 is None:
        return _open_unpacked(source.path)
    if member is not None:
        content = _member_content(source.path, member)
    else:
        with _open_unpacked(source.path) as stream:
            content = stream.read()
    if expected_sha256 is not None:
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != expected_sha256:
            name = member or "the content"
            raise Unreadable(
                f"{name} has SHA-256 {sha256[:12]}..., expected {expected_sha256[:12]}..."
            )
    return io.BytesIO(content)


def _member_content(path: Path, member: str) -> bytes:
    """A member of a zip archive, by its path or else by its name alone. Raises: Unreadable.

    A repack may lack the official top folder; the checksum decides what the member is.
    """
    with opened(path) as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if member in names:
            return archive.read(member)
        file_name = PurePosixPath(member).name
        for name in names:
            if PurePosixPath(name).name == file_name:
                return archive.read(name)
    raise Unreadable(f"the archive does not contain {member}")


def _open_unpacked(path: Path) -> io.BufferedIOBase:
    """The file, decompressed. Its first bytes tell how, not its name: a download may be renamed.

    Raises:
        Unreadable if the name says that it is compressed and it is not.
    """
    with opened(path) as raw:
        start = raw.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(path)
    if path.suffix in (".gz", ".xz"):
        raise Unreadable(f"it is not a {path.suffix} file")
    return opened(path)
