"""A file as it is given -> a plain file on disk: unpacked, no larger than allowed, looked through.

Nothing is held in memory but a chunk. What a file is, is seen from its first bytes, not its name.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

import pyarrow as pa

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.layout import Unreadable
from ecv_core.records.errors import DatasetError
from ecv_core.untrusted.files import opened

Report = Callable[[str, int, int], None]
"""Called with what is done ('unpack', 'read', ...), bytes done and bytes in all (0: not known).
What it raises ends the reading and reaches the caller."""


def no_report(_doing: str, _done: int, _total: int) -> None:
    """A `Report` for those who do not look."""


_CHUNK = 1 << 20
_GZIP, _ZIP, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
_FOREIGN = {
    b"PK\x05\x06": "an empty ZIP archive",
    b"\xd0\xcf\x11\xe0": "an Excel or Word file; save the sheet as CSV",
    b"%PDF": "a PDF",
    b"\xfd7zXZ": "an xz archive; unpack it first",
    b"BZh": "a bz2 archive; unpack it first",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x89HDF": "an HDF5 file; save it as CSV or Parquet",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
_DATA_ENDINGS = (
    ".csv",
    ".tsv",
    ".parquet",
    ".jsonl",
    ".ndjson",
    ".json",
    ".dat",
    ".data",
    ".inter",
    ".tab",
    ".psv",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A plain file that is within the limits, and what one look at all of it tells."""

    path: Path
    name: str
    """Of the file as it was given, for messages."""
    given: int
    """Its bytes."""
    size: int
    """Bytes, once unpacked."""
    parquet: bool
    utf8: bool
    """Whether all of it is valid UTF-8, or Parquet."""


def check_limits(*, rows: int = 0, columns: int = 0, size: int = 0) -> None:
    """Refuse a table with too many rows, columns or unpacked bytes. Raises: Unreadable."""
    if rows > limits.MAX_ROWS:
        raise Unreadable(
            f"it has more than {limits.MAX_ROWS:,} rows, the most that are read; take a part of it"
        )
    if columns > limits.MAX_COLUMNS:
        raise Unreadable(
            f"it has {columns:,} columns, and at most {limits.MAX_COLUMNS} are read; leave out "
            "what is no user, item, rating or time"
        )
    if size > (most := limits.max_unpacked_bytes()):
        raise Unreadable(
            f"it unpacks to more than {most / limits.MEGABYTE:,.0f} MB, {limits.TIMES_UNPACKED} "
            "times what may be uploaded; take fewer rows or columns"
        )


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turn every way in which reading a file fails into one sentence. Raises: DatasetError."""
    cannot = f"the file {name} cannot be used"
    try:
        yield
    except Unreadable as error:
        raise DatasetError(f"{cannot}: {error}") from error
    except (zipfile.BadZipFile, struct.error, NotImplementedError, RuntimeError) as error:
        raise DatasetError(
            f"{cannot}: the ZIP archive is damaged ({error}); pack or get it again"
        ) from error
    except (EOFError, zlib.error) as error:
        raise DatasetError(
            f"{cannot}: the compressed data is truncated or damaged; get it again"
        ) from error
    except (pa.ArrowException, UnicodeDecodeError, OverflowError) as error:
        said = " ".join(str(error).split())[:150]
        raise DatasetError(
            f"{cannot}: it has values that are none ({said}); get it again"
        ) from error
    except OSError as error:
        way_out = "free some space" if error.errno == errno.ENOSPC else "check its path and rights"
        raise DatasetError(f"{cannot}: {error.strerror or error}; {way_out}") from error


def plain_file(source: Path, name: str, folder: Path, report: Report) -> Plain:
    """Unpack a file if need be, and look through it.

    Args:
        source: the file.
        name: what to call it.
        folder: where it is unpacked to, as `unpacked`; a file that is plain stays where it is.
        report: see `Report`.
    Raises: DatasetError for what is no regular file, too large, damaged, encrypted, or packed
        twice.
    """
    with refusals(name), opened(source) as file:
        size = _size(file)
        if size > limits.max_upload_bytes():
            raise Unreadable(
                f"it has {size / limits.MEGABYTE:,.0f} MB, and at most "
                f"{limits.max_upload_mb():,} are read (ECV_MAX_UPLOAD_MB says how many)"
            )
        start = file.read(16)
        file.seek(0)
        if not start.startswith((_GZIP, _ZIP)):
            return _looked_through(source, name, report, given=size)
        target = folder / "unpacked"
        with target.open("wb") as out:
            if start.startswith(_GZIP):
                with gzip.GzipFile(fileobj=file) as stream:
                    _copy(stream.read, out, report)
            else:
                with _only_member(file) as stream:
                    _copy(stream.read, out, report)
        return _looked_through(target, name, report, given=size)


def _size(file: io.BufferedReader) -> int:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _copy(read: Callable[[int], bytes], out: BinaryIO, report: Report) -> None:
    done, lines, text = 0, 0, True
    while chunk := read(_CHUNK):
        text = text and (done > 0 or not chunk.startswith(_PARQUET))
        done += len(chunk)
        lines += chunk.count(b"\n") if text else 0
        check_limits(rows=lines - 1, size=done)  # a line may name the columns
        out.write(chunk)
        report("unpack", done, 0)


class _ShortReads(io.RawIOBase):
    """A file of which nobody reads much at once: a ZIP's table of contents can be huge."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        content = self._file.read(limits.MAX_ARCHIVE_TABLE + 1 if size < 0 else size)
        if len(content) > limits.MAX_ARCHIVE_TABLE:
            raise Unreadable("the ZIP archive lists too many files; pack one file alone")
        return content

    def seek(self, offset: int, whence: int = 0, /) -> int:
        try:
            return self._file.seek(offset, whence)
        except (OSError, ValueError) as error:
            raise zipfile.BadZipFile("an offset points outside of it") from error

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


@contextmanager
def _only_member(file: io.BufferedReader) -> Iterator[IO[bytes]]:
    """The one file of data in a ZIP archive, to be read."""
    with zipfile.ZipFile(_ShortReads(file)) as archive:
        chosen = _chosen(archive.infolist())
        if chosen.flag_bits & 1:
            raise Unreadable("the ZIP archive is encrypted; pack it again without a password")
        if chosen.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable("the ZIP archive is packed in a rare way; pack it again as usual")
        with archive.open(chosen) as stream:
            yield stream


def _chosen(members: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    if any(one.filename == "xl/workbook.xml" for one in members):
        raise Unreadable("it is an Excel workbook; save the sheet as CSV")
    files = [
        one
        for one in members
        if not one.is_dir()
        and not one.filename.startswith("__MACOSX/")
        and not PurePosixPath(one.filename).name.startswith(".")
    ]
    data = [one for one in files if one.filename.lower().endswith(_DATA_ENDINGS)]
    found = data or files
    if len(found) == 1:
        return found[0]
    if not found:
        raise Unreadable("the ZIP archive holds no file")
    names = ", ".join(PurePosixPath(one.filename).name[:40] for one in found[:4])
    raise Unreadable(
        f"the ZIP archive holds {len(found):,} files ({names}{', ...' * (len(found) > 4)}); "
        "pack the one with the interactions alone"
    )


def _looked_through(path: Path, name: str, report: Report, *, given: int) -> Plain:
    with opened(path) as file:
        size = _size(file)
        start = file.read(64)
        _check_start(start)
        file.seek(0)
        parquet = start.startswith(_PARQUET)
        utf8 = parquet or _is_utf8(file, lambda done: report("look", done, size))
    return Plain(path=path, name=name, given=given, size=size, parquet=parquet, utf8=utf8)


def _is_utf8(file: BinaryIO, look: Callable[[int], object]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
            look(file.tell())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _check_start(start: bytes) -> None:
    """Refuse what is seen to be no table from its first bytes. Raises: Unreadable."""
    if not start.strip():
        raise Unreadable("it is empty")
    if start.startswith((_GZIP, _ZIP)):
        raise Unreadable("it is packed twice; unpack it once and give that file")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise Unreadable(f"it is {what}")
