"""A plain file and its layout -> batches of the columns that have a role, as they are written."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.layout import ENCODINGS, Form, Layout, Unreadable
from ecv_core.dataset.plain import Plain, check_limits
from ecv_core.untrusted.files import opened

# A Parquet file -> its first rows, and batches of the columns that are asked for.


_BATCH_ROWS = 1 << 16
_SHOWN = 200
"""Characters of a value in the preview."""


@contextmanager
def parquet_file(
    path: Path, dictionaries: Sequence[str] = (), *, limited: bool = True
) -> Iterator[pq.ParquetFile]:
    """The file, if it is within the limits.

    Args:
        path: of the file.
        dictionaries: columns of text that come as dictionaries, so that a long text in many rows
            takes no room.
        limited: whether there are limits.
    Raises: Unreadable.
    """
    try:
        with pq.ParquetFile(
            path,
            pre_buffer=False,
            read_dictionary=list(dictionaries),
            thrift_string_size_limit=64 * limits.MEGABYTE,
            thrift_container_size_limit=1_000_000,
        ) as file:
            _check_size(file, limited=limited)
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        said = " ".join(str(error).split())[:150]
        raise Unreadable(f"the Parquet file is damaged ({said}); get it again") from error


def _check_size(file: pq.ParquetFile, *, limited: bool) -> None:
    found, names = file.metadata, file.schema_arrow.names
    # Not column by column: Arrow ends the whole process over the statistics of a damaged one.
    size = sum(found.row_group(at).total_byte_size for at in range(found.num_row_groups))
    if limited:
        check_limits(rows=found.num_rows, columns=len(names), size=size)
    if len(set(names)) < len(names):
        raise Unreadable("two of its columns have the same name; rename one")


def parquet_head(path: Path, count: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Names of the columns, and the first rows as text. Raises: Unreadable."""
    with parquet_file(path) as file:
        names = tuple(file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=count):
            columns = [list(map(_text, column.to_pylist())) for column in batch.columns]
            return names, tuple(zip(*columns, strict=True))
    return names, ()


def _text(value: object) -> str:
    text = as_text(value)
    return "" if value is None else (str(value) if text is None else text)[:_SHOWN]


def as_text(value: object) -> str | None:
    """A value as an id or a number is written; None for what is neither."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    is_one = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_one else None


# Any file -> its rows, batch by batch.


WIDTH = "another number of columns than the other rows"
NO_OBJECT = "no JSON object on the line"
_LINES = 50_000
_BEGINNING = 120
"""Characters of a line that are shown."""
_INNER = "\x1f"
"""Stands for a separator of two signs, which the parser cannot take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some rows, in the order of the file."""

    columns: dict[str, pa.Array]
    """Role -> values as they are written, all of one length."""
    unfit: int = 0
    """How many lines beside these are no rows of the table: by `WIDTH`, of JSON by `NO_OBJECT`."""
    first: str = ""
    """The beginning of the first of those."""
    share: float = 1.0
    """How much of the file has been read, from 0 to 1."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def batches(plain: Plain, layout: Layout) -> Iterator[Batch]:
    """The whole file, piece by piece. Raises: Unreadable."""
    if layout.form is Form.PARQUET:
        yield from parquet_batches(plain.path, layout)
        return
    if layout.encoding == "utf-8" and not plain.utf8:
        raise _not_encoded(layout)
    with opened(plain.path) as file:
        yield from text_batches(file, layout, plain.size)


def text_batches(file: io.BufferedIOBase, layout: Layout, size: int = 0) -> Iterator[Batch]:
    """Delimited text or JSON lines, piece by piece.

    Args:
        file: its bytes.
        layout: how it is read.
        size: of the file, where that is known.
    Raises: Unreadable.
    """
    try:
        of_form = _json_lines if layout.form is Form.JSON_LINES else _delimited
        yield from of_form(file, layout, max(size, 1))
    except UnicodeDecodeError as error:
        raise _not_encoded(layout) from error


def _not_encoded(layout: Layout) -> Unreadable:
    return Unreadable(
        f"it is not {ENCODINGS.get(layout.encoding, layout.encoding)} throughout; choose another "
        "encoding"
    )


def parquet_batches(path: Path, layout: Layout, *, limited: bool = True) -> Iterator[Batch]:
    """The columns of a Parquet file that have a role; `limited` as of `parquet_file`.

    Raises: Unreadable.
    """
    with parquet_file(path, limited=limited) as file:
        schema = file.schema_arrow
    names = {role: schema.names[at] for role, at in layout.roles}
    kinds = {name: schema.field(name).type for name in names.values()}
    of_text = [
        name
        for name, kind in kinds.items()
        if pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ]
    done = 0
    with parquet_file(path, of_text, limited=limited) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(kinds)):
            done += batch.num_rows
            columns = {role: batch.column(name) for role, name in names.items()}
            yield Batch(columns=columns, share=done / max(file.metadata.num_rows, 1))


def _delimited(file: io.BufferedIOBase, layout: Layout, size: int) -> Iterator[Batch]:
    wanted = [str(at) for _, at in layout.roles]
    stream: pa.NativeFile = pa.PythonFile(file, mode="r")
    separator, encoding = layout.separator, layout.encoding
    if len(separator) > 1:
        if encoding != "utf-8":
            stream, encoding = pa.transcoding_input_stream(stream, encoding, "utf-8"), "utf-8"
        stream = pa.TransformInputStream(stream, _OneSign(separator))
        separator = _INNER
    unfit: list[str] = []

    def note(row: pv.InvalidRow) -> str:
        unfit.append("" if unfit else row.text[:_BEGINNING].replace(_INNER, layout.separator))
        return "skip"

    def batch(columns: Sequence[pa.Array]) -> Batch:
        return Batch(
            columns={role: values for (role, _), values in zip(layout.roles, columns, strict=True)},
            unfit=len(unfit),
            first=unfit[0] if unfit else "",
            share=file.tell() / size,
        )

    try:
        reader = pv.open_csv(
            stream,
            pv.ReadOptions(
                column_names=[str(at) for at in range(len(layout.names))],
                skip_rows=layout.skip,
                skip_rows_after_names=int(layout.header),
                block_size=limits.LONGEST_LINE,
                use_threads=False,
                encoding=encoding,
            ),
            pv.ParseOptions(
                delimiter=separator,
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
        for rows in reader:
            yield batch(rows.columns)
            unfit.clear()
    except pa.ArrowInvalid as error:
        raise Unreadable(_why(str(error), layout)) from error
    if unfit:
        yield batch([pa.array([], pa.string())] * len(wanted))


class _OneSign:
    """Puts one sign for a separator of two, in chunk after chunk of UTF-8."""

    def __init__(self, separator: str) -> None:
        self._separator, self._held = separator.encode(), b""

    def __call__(self, chunk: pa.Buffer) -> bytes:
        # A half separator at the end waits for the other half; the last chunk is empty.
        text: bytes = (self._held + chunk.to_pybytes()).replace(self._separator, _INNER.encode())
        half = text.endswith(self._separator[:1]) and chunk.size > 0
        self._held = self._separator[:1] if half else b""
        return text[:-1] if half else text


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


def _json_lines(file: io.BufferedIOBase, layout: Layout, size: int) -> Iterator[Batch]:
    wanted = [(role, layout.names[at]) for role, at in layout.roles]
    encoding = "utf-8-sig" if layout.encoding == "utf-8" else layout.encoding
    with io.TextIOWrapper(file, encoding=encoding) as lines:  # type: ignore[type-var]
        ended = False
        while not ended:
            values: dict[str, list[str | None]] = {role: [] for role, _ in wanted}
            unfit: list[str] = []
            for _ in range(_LINES):
                line = lines.readline(limits.LONGEST_LINE + 1)
                if ended := not line:
                    break
                if len(line) > limits.LONGEST_LINE:
                    raise Unreadable(f"it has a line longer than {limits.LONGEST_LINE >> 20} MB")
                if not line.strip():
                    continue
                if (record := json_object(line)) is None:
                    unfit.append("" if unfit else line[:_BEGINNING].strip())
                    continue
                for role, name in wanted:
                    values[role].append(_sound(as_text(record.get(name))))
            yield Batch(
                columns={role: pa.array(column, pa.string()) for role, column in values.items()},
                unfit=len(unfit),
                first=unfit[0] if unfit else "",
                share=file.tell() / size,
            )


def json_object(line: str) -> dict[str, Any] | None:
    """The object that a line holds; None where it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _sound(text: str | None) -> str | None:
    """A text that can be written as UTF-8, cut after any id's end; else None."""
    if text is None:
        return None
    text = text[: limits.LONGEST_ID + 1]
    return (
        text if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text) else None
    )
