"""A plain file and its layout -> batches of the columns that have a role, as they are written."""

from __future__ import annotations

import codecs
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, AnyStr, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset._load import Unreadable
from ecv_core.dataset.own.layout import ENCODINGS, Form, Layout
from ecv_core.dataset.own.plain import Plain
from ecv_core.dataset.own.recognise import as_text
from ecv_core.untrusted.files import opened

# A Parquet file -> its first rows, and batches of the columns that are asked for.


BATCH_ROWS = 1 << 16
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError)
"""How Arrow reports a damaged file, or values in it that are none."""
_SHOWN = 200
"""Characters of a value in the preview."""


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """The file, if it is within the limits. Raises: Unreadable."""
    try:
        file = pq.ParquetFile(
            path,
            pre_buffer=False,
            thrift_string_size_limit=64 * limits.MEGABYTE,
            thrift_container_size_limit=1_000_000,
        )
    except DAMAGE as error:
        raise Unreadable(f"the Parquet file is damaged ({_line(error)}); get it again") from error
    with file:
        found = file.metadata
        if found.num_rows > limits.MAX_ROWS:
            raise Unreadable(
                f"it has {found.num_rows:,} rows, and at most {limits.MAX_ROWS:,} are read; take "
                "a part of it"
            )
        if len(file.schema_arrow.names) > limits.MAX_COLUMNS:
            raise Unreadable(
                f"it has {len(file.schema_arrow.names):,} columns, and at most "
                f"{limits.MAX_COLUMNS} are read; leave out what is no user, item, rating or time"
            )
        # Not column by column: Arrow ends the whole process over the statistics of a damaged one.
        size = sum(found.row_group(at).total_byte_size for at in range(found.num_row_groups))
        if size > limits.max_unpacked_bytes():
            raise Unreadable(
                f"it unpacks to {size / limits.MEGABYTE:,.0f} MB, more than "
                f"{limits.TIMES_UNPACKED} times what may be uploaded; take fewer rows or columns"
            )
        try:
            yield file
        except DAMAGE as error:
            raise Unreadable(
                f"the Parquet file is damaged ({_line(error)}); get it again"
            ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:150]


def parquet_head(path: Path, count: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Names of the columns, and the first rows as text. Raises: Unreadable."""
    with parquet_file(path) as file:
        names = _names(file)
        for batch in file.iter_batches(batch_size=count):
            columns = [list(map(_text, column.to_pylist())) for column in batch.columns]
            return names, tuple(zip(*columns, strict=True))
    return names, ()


def parquet_batches(path: Path, columns: Sequence[int]) -> Iterator[tuple[pa.RecordBatch, float]]:
    """The columns at these places, in this order, batch by batch; and how much of it has been read.

    Texts that repeat come as a dictionary, so that a long one in many rows takes no room.
    Raises: Unreadable.
    """
    with parquet_file(path) as file:
        schema, every = file.schema_arrow, _names(file)
        names = [every[at] for at in columns]
    dictionaries = [
        name
        for name in names
        if pa.types.is_string(schema.field(name).type)
        or pa.types.is_large_string(schema.field(name).type)
    ]
    done = 0
    with pq.ParquetFile(path, pre_buffer=False, read_dictionary=dictionaries) as file:
        try:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
                done += batch.num_rows
                yield batch.select(names), done / max(file.metadata.num_rows, 1)
        except DAMAGE as error:
            raise Unreadable(
                f"the Parquet file is damaged ({_line(error)}); get it again"
            ) from error


def _names(file: pq.ParquetFile) -> tuple[str, ...]:
    names = tuple(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise Unreadable("two of its columns have the same name; rename one")
    return names


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)[:_SHOWN]


WIDTH = "another number of columns than the other rows"
NO_OBJECT = "no JSON object on the line"
_BLOCK = limits.LONGEST_LINE
_CHUNK = 1 << 20
_LINES = 50_000
SHOWN = 5
"""So many rows that cannot be used are shown, of each reason."""
_BEGINNING = 120
"""Characters of one that are shown."""
_INNER = "\x1f"
"""Stands for a separator of two signs, which the parser cannot take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some rows, in the order of the file."""

    columns: dict[str, pa.Array]
    """Role -> values as they are written, all of one length."""
    unfit: Counter[str] = field(default_factory=Counter)
    """Reason -> rows that are no rows of the table at all, beside those of the columns."""
    shown: tuple[tuple[str, int, str], ...] = ()
    """Reason, number and text of the first of those."""
    first: int = 1
    """Number of the row that comes next; a line that names the columns is row 1."""
    holes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Numbers, ascending, of the rows from there on that are no rows of the table."""
    share: float = 0.0
    """How much of the file has been read, from 0 to 1."""


def row_numbers(
    first: int, holes: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Numbers of the rows at these places, counted from `first` past the holes."""
    before = holes - first - np.arange(len(holes))
    return first + places + np.searchsorted(before, places, side="right")


def next_number(first: int, holes: NDArray[np.int64], count: int) -> int:
    """Of the row after so many."""
    return int(row_numbers(first, holes, np.array([count - 1]))[0]) + 1 if count else first


def batches(plain: Plain, layout: Layout) -> Iterator[Batch]:
    """The whole file, piece by piece. Raises: Unreadable."""
    if layout.form is Form.PARQUET:
        return _parquet(plain, layout)
    if layout.encoding == "utf-8" and not plain.utf8:
        raise _not_encoded(layout)
    if layout.form is Form.JSON_LINES:
        return _json_lines(plain, layout)
    return _delimited(plain, layout)


def _parquet(plain: Plain, layout: Layout) -> Iterator[Batch]:
    first = 1
    for batch, share in parquet_batches(plain.path, [at for _, at in layout.roles]):
        columns = zip(layout.roles, batch.columns, strict=True)
        yield Batch(
            columns={role: values for (role, _), values in columns}, share=share, first=first
        )
        first += batch.num_rows


def _delimited(plain: Plain, layout: Layout) -> Iterator[Batch]:
    names = [str(at) for at in range(len(layout.names))]
    wanted = [str(at) for _, at in layout.roles]
    unfit: Counter[str] = Counter()
    first, holes = 1 + layout.header, np.zeros(0, np.int64)
    shown: list[tuple[str, int, str]] = []
    fresh: list[int] = []

    def note(row: pv.InvalidRow) -> str:
        unfit[WIDTH] += 1
        fresh.append(row.number)
        if len(shown) < SHOWN:
            shown.append((WIDTH, row.number, row.text[:_BEGINNING].replace(_INNER, "::")))
        return "skip"

    with opened(plain.path) as file:
        stream = _Text(file, layout)
        try:
            reader = pv.open_csv(
                pa.PythonFile(stream, mode="r"),
                pv.ReadOptions(
                    column_names=names,
                    skip_rows_after_names=int(layout.header),
                    block_size=_BLOCK,
                    use_threads=False,
                ),
                pv.ParseOptions(
                    delimiter=stream.separator,
                    quote_char='"' if layout.quotes else False,
                    newlines_in_values=layout.quotes,
                    invalid_row_handler=note,
                ),
                pv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                found, unfit = unfit, Counter()
                holes, fresh = np.append(holes, fresh).astype(np.int64), []
                columns = zip(layout.roles, batch.columns, strict=True)
                yield Batch(
                    columns={role: values for (role, _), values in columns},
                    unfit=found,
                    shown=tuple(shown),
                    first=first,
                    holes=holes,
                    share=stream.done / max(plain.size, 1),
                )
                first = next_number(first, holes, batch.num_rows)
                holes = holes[holes >= first]
        except pa.ArrowInvalid as error:
            raise Unreadable(_why(str(error), layout)) from error
        except UnicodeDecodeError as error:
            raise _not_encoded(layout) from error
    if unfit:
        yield Batch(
            columns={role: pa.array([], pa.string()) for role, _ in layout.roles},
            unfit=unfit,
            shown=tuple(shown),
        )


def _why(said: str, layout: Layout) -> str:
    if "straddl" in said or "block_size" in said or "block size" in said:
        quotes = " or a quotation mark that is not closed" if layout.quotes else ""
        return (
            f"it has a line longer than {limits.LONGEST_LINE >> 20} MB{quotes}; correct it"
            + ", or read it without quotation marks" * layout.quotes
        )
    if "UTF8" in said:
        return str(_not_encoded(layout))
    return f"it is not readable as delimited text ({' '.join(said.split())[:150]})"


def _not_encoded(layout: Layout) -> Unreadable:
    return Unreadable(
        f"it is not {ENCODINGS.get(layout.encoding, layout.encoding)} throughout; choose another "
        "encoding"
    )


class _Text(io.RawIOBase):
    """A text file as UTF-8 without a mark, its separator one sign, without its first lines.

    Remembers how far it has been read.
    """

    def __init__(self, file: BinaryIO, layout: Layout) -> None:
        self.done = 0
        self.separator = layout.separator if len(layout.separator) == 1 else _INNER
        self._file = file
        self._double = layout.separator if len(layout.separator) > 1 else ""
        self._as_is = layout.encoding == "utf-8" and not self._double
        self._decoder = codecs.getincrementaldecoder(layout.encoding)()
        self._held, self._rest = "", memoryview(b"")
        self._begun, self._skip = False, layout.skip

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  a writable buffer
        while not self._rest:
            chunk = self._file.read(_CHUNK)
            self.done += len(chunk)
            self._rest = memoryview(self._as_utf8(chunk))
            if not chunk:
                break
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def _as_utf8(self, chunk: bytes) -> bytes:
        if self._as_is:
            return chunk if self._begun else self._beginning(chunk, b"\xef\xbb\xbf", b"\n", b"\r")
        text = self._held + self._decoder.decode(chunk, not chunk)
        if not self._begun and text:
            text = self._beginning(text, "\ufeff", "\n", "\r")
        if self._double:
            # A half separator at the end waits for the other half.
            cut = len(text) - (text[-1:] == self._double[0] and bool(chunk))
            self._held, text = text[cut:], text[:cut].replace(self._double, _INNER)
        return text.encode()

    def _beginning(self, text: AnyStr, mark: AnyStr, feed: AnyStr, back: AnyStr) -> AnyStr:
        """Without a byte order mark, blank lines, and the lines that are none of the table."""
        self._begun = True
        text = text.removeprefix(mark).lstrip(feed + back)
        for _ in range(self._skip):
            text = text.partition(feed if feed in text else back)[2].lstrip(feed + back)
        return text


def _json_lines(plain: Plain, layout: Layout) -> Iterator[Batch]:
    wanted = [(role, layout.names[at]) for role, at in layout.roles]
    values: dict[str, list[str | None]] = {role: [] for role, _ in wanted}
    unfit: Counter[str] = Counter()
    count, first = 0, 1
    holes: list[int] = []
    shown: list[tuple[str, int, str]] = []

    def batch(share: float) -> Batch:
        return Batch(
            columns=_arrays(values),
            unfit=unfit,
            shown=tuple(shown),
            first=first,
            holes=np.array(holes, dtype=np.int64),
            share=share,
        )

    with opened(plain.path) as file:
        stream = _Text(file, layout)
        lines = io.BufferedReader(stream)
        while line := lines.readline(limits.LONGEST_LINE + 1):
            if len(line) > limits.LONGEST_LINE:
                raise Unreadable(f"it has a line longer than {limits.LONGEST_LINE >> 20} MB")
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                for role, name in wanted:
                    values[role].append(_sound(as_text(record.get(name))))
            else:
                unfit[NO_OBJECT] += 1
                holes.append(count + 1)
                if len(shown) < SHOWN:
                    text = line[:_BEGINNING].decode("utf-8", errors="replace").strip()
                    shown.append((NO_OBJECT, count + 1, text))
            count += 1
            if count % _LINES == 0:
                yield batch(stream.done / plain.size)
                values, unfit = {role: [] for role, _ in wanted}, Counter()
                first, holes = count + 1, []
    yield batch(1.0)


def _arrays(values: dict[str, list[str | None]]) -> dict[str, pa.Array]:
    return {role: pa.array(column, pa.string()) for role, column in values.items()}


def _sound(text: str | None) -> str | None:
    """A text that can be written as UTF-8, cut after any id's end; else None."""
    if text is None:
        return None
    text = text[: limits.LONGEST_ID + 1]
    return (
        text if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text) else None
    )
