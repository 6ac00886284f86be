"""A file as it is given -> a plain file on disk: unpacked, no larger than allowed, looked through.

Nothing is held in memory but a chunk. What a file is, is seen from its first bytes, not its name.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


_Unpacked = AbstractContextManager[IO[bytes] | gzip.GzipFile]
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
_EXCEL = b"\xd0\xcf\x11\xe0"
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


@dataclass(frozen=True, kw_only=True)
class PlainFile:
    """A plain file that is within the limits, and what one look at all of it tells."""

    path: Path
    name: str
    """Of the file as it was given, for messages."""
    given_bytes: int
    """Of the file as it was given."""
    size: int
    """Bytes, once unpacked."""
    parquet: bool
    is_utf8: bool
    """Whether all of it is valid UTF-8, or Parquet."""


def check_limits(*, rows: int = 0, columns: int = 0, size: int = 0) -> None:
    """Refuse a table with too many rows, columns or unpacked bytes. Raises: Unreadable."""
    if rows > limits.MAX_ROWS:
        raise Unreadable(
            f"it has more than {limits.MAX_ROWS:,} rows, the most that can be read; use a part "
            "of it"
        )
    if columns > limits.MAX_COLUMNS:
        raise Unreadable(
            f"it has {columns:,} columns, but at most {limits.MAX_COLUMNS} can be read; leave "
            "out columns that are not the user, item, rating or time"
        )
    largest = limits.max_unpacked_bytes()
    if size > largest:
        raise Unreadable(
            f"it unpacks to more than {largest / limits.MEGABYTE:,.0f} MB, "
            f"{limits.TIMES_UNPACKED} times the upload limit; use fewer rows or columns"
        )


@contextmanager
def errors_as_unreadable() -> Iterator[None]:
    """Turn the many ways in which reading a damaged file fails into Unreadable."""
    try:
        yield
    except (zipfile.BadZipFile, struct.error, RuntimeError) as error:
        # RuntimeError is raised for what is encrypted or packed by a new method.
        raise Unreadable(f"the ZIP archive is damaged ({error}); pack or get it again") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise Unreadable("the compressed data is truncated or damaged; get it again") from error
    except (pa.ArrowException, UnicodeDecodeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:150]
        raise Unreadable(f"it has invalid values ({reason}); get it again") from error
    except OSError as error:
        way_out = "check its path and permissions"
        if error.errno == errno.ENOSPC:
            way_out = "free some space"
        raise Unreadable(f"{error.strerror or error}; {way_out}") from error


@contextmanager
def errors_as_dataset_error(name: str) -> Iterator[None]:
    """Turn every way in which reading a file fails into one sentence. Raises: DatasetError."""
    try:
        with errors_as_unreadable():
            yield
    except Unreadable as error:
        raise DatasetError(f"the file {name} cannot be used: {error}") from error


def plain_file(source: Path, name: str, folder: Path, report: Report) -> PlainFile:
    """Unpack a file if need be, and look through it.

    Args:
        source: The file.
        name: What to call it.
        folder: Where it is unpacked to, as `unpacked`; a file that is plain stays where it is.
        report: See `Report`.

    Raises:
        DatasetError: For what is no regular file, too large, damaged, encrypted, or packed twice.
    """
    with errors_as_dataset_error(name), opened(source) as file:
        size = _size(file)
        if size > limits.max_upload_bytes():
            raise Unreadable(
                f"it has {size / limits.MEGABYTE:,.0f} MB, but at most "
                f"{limits.max_upload_mb():,} MB can be read (ECV_MAX_UPLOAD_MB sets this limit)"
            )
        start = file.read(16)
        file.seek(0)
        if not start.startswith((_GZIP, _ZIP)):
            return _look_through(source, name, report, given_bytes=size)
        target = folder / "unpacked"
        unpacked: _Unpacked
        if start.startswith(_GZIP):
            unpacked = gzip.GzipFile(fileobj=file)
        else:
            unpacked = _open_only_member(file)
        with target.open("wb") as unpacked_file, unpacked as stream:
            _copy_within_limits(stream, unpacked_file, report)
        return _look_through(target, name, report, given_bytes=size)


def _size(file: io.BufferedReader) -> int:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _copy_within_limits(
    source: IO[bytes] | gzip.GzipFile, target: BinaryIO, report: Report
) -> None:
    """Copy a file, and stop beyond the limits. Raises: Unreadable."""
    size = 0
    line_count = 0
    is_text = True
    while chunk := source.read(_CHUNK):
        if size == 0:
            is_text = not chunk.startswith(_PARQUET)
        size += len(chunk)
        if is_text:
            line_count += chunk.count(b"\n")
        check_limits(rows=line_count - 1, size=size)  # One line may name the columns.
        target.write(chunk)
        report("unpack", size, 0)  # How much it will be is not known.


class _ShortReads(io.BufferedReader):
    """A ZIP archive that refuses to be read if its table of contents is huge.

    `zipfile` reads this table, with a line for each file, in one go. Everything else it reads in
    small pieces, so that only a table with too many files takes a long read.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        # Whoever asks for all that remains gets one byte more than is allowed, if there is that
        # much, which the check below refuses.
        if size is None or size < 0:
            size = limits.MAX_ARCHIVE_TABLE + 1
        content = super().read(size)
        if len(content) > limits.MAX_ARCHIVE_TABLE:
            raise Unreadable("the ZIP archive lists too many files; pack only one file")
        return content

    def seek(self, offset: int, whence: int = 0, /) -> int:
        try:
            return super().seek(offset, whence)
        except (OSError, ValueError) as error:
            raise zipfile.BadZipFile("an offset points outside of it") from error


@contextmanager
def _open_only_member(file: io.BufferedReader) -> Iterator[IO[bytes]]:
    """The one file of data in a ZIP archive, to be read."""
    with _ShortReads(file.raw) as short_reads, zipfile.ZipFile(short_reads) as archive:
        member = _data_member(archive.infolist())
        if member.flag_bits & 1:
            raise Unreadable("the ZIP archive is encrypted; pack it again without a password")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable(
                "the ZIP archive uses an unusual compression; pack it again in the usual way"
            )
        with archive.open(member) as stream:
            yield stream


def _data_member(members: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """The one member that can hold the data. Raises: Unreadable if there is none, or several."""
    if any(member.filename == "xl/workbook.xml" for member in members):
        raise Unreadable("it is an Excel workbook; save the sheet as CSV")
    candidates = _data_candidates(members)
    if not candidates:
        raise Unreadable("the ZIP archive contains no file")
    if len(candidates) == 1:
        return candidates[0]
    names = [PurePosixPath(file.filename).name[:40] for file in candidates[:4]]
    if len(candidates) > len(names):
        names.append("...")
    raise Unreadable(
        f"the ZIP archive holds {len(candidates):,} files ({', '.join(names)}); pack only the "
        "one with the interactions"
    )


def _data_candidates(members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The files that are called as data are; all files where none is."""
    files = []
    for member in members:
        is_hidden = PurePosixPath(member.filename).name.startswith(".")
        is_of_macos = member.filename.startswith("__MACOSX/")
        if not (member.is_dir() or is_hidden or is_of_macos):
            files.append(member)
    data_files = [file for file in files if file.filename.lower().endswith(_DATA_ENDINGS)]
    return data_files or files


def _look_through(path: Path, name: str, report: Report, *, given_bytes: int) -> PlainFile:
    """What one look at all of a plain file tells. Raises: Unreadable for what is no table."""
    with opened(path) as file:
        size = _size(file)
        start = file.read(64)
        _check_start(start)
        file.seek(0)
        parquet = start.startswith(_PARQUET)
        is_utf8 = parquet or _is_utf8(file, size, report)
    return PlainFile(
        path=path, name=name, given_bytes=given_bytes, size=size, parquet=parquet, is_utf8=is_utf8
    )


def _is_utf8(file: BinaryIO, size: int, report: Report) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
            report("look", file.tell(), size)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _check_start(start: bytes) -> None:
    """Refuse what is seen to be no table from its first bytes. Raises: Unreadable."""
    if not start.strip():
        raise Unreadable("it is empty")
    if start.startswith((_GZIP, _ZIP)):
        raise Unreadable("it is packed twice; unpack it once and give the unpacked file")
    if start.startswith(_EXCEL):
        raise Unreadable("it is an Excel or Word file; save the sheet as CSV")
