"""A plain file and its layout -> batches of the columns that have a role, as they are written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.layout import (
    ENCODINGS,
    ONE_CHARACTER,
    Form,
    Layout,
    Unreadable,
    is_rewritten,
    rewritten_lines,
)
from ecv_core.dataset.losses import NO_OBJECT, SWALLOWED, WIDTH
from ecv_core.dataset.plain import PlainFile, check_limits
from ecv_core.dataset.swallowed import CountedLines, find_swallowed_rows
from ecv_core.untrusted.files import opened

# A Parquet file -> its first rows, and batches of the columns that are asked for.


_BATCH_ROWS = 1 << 16
_LONGEST_PREVIEW = 200
"""Characters of a value."""


@contextmanager
def parquet_file(
    path: Path, dictionaries: Sequence[str] = (), *, limited: bool = True
) -> Iterator[pq.ParquetFile]:
    """The file, if it is within the limits.

    Args:
        path: The path of the file.
        dictionaries: Columns of text that come as dictionaries, so that a long text in many rows
            takes no room.
        limited: Whether there are limits.

    Raises:
        Unreadable.
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
        reason = " ".join(str(error).split())[:150]
        raise Unreadable(f"the Parquet file is damaged ({reason}); get it again") from error


def _check_size(file: pq.ParquetFile, *, limited: bool) -> None:
    """Refuse a file beyond the limits, or with two columns of a name. Raises: Unreadable."""
    metadata = file.metadata
    names = file.schema_arrow.names
    if limited:
        # The sizes of row groups are taken, because Arrow ends the whole process if the statistics
        # of a column are damaged.
        size = 0
        for number in range(metadata.num_row_groups):
            size += metadata.row_group(number).total_byte_size
        check_limits(rows=metadata.num_rows, columns=len(names), size=size)
    if len(set(names)) < len(names):
        raise Unreadable("two of its columns have the same name; rename one")


def parquet_head(path: Path, count: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Names of the columns, and the first rows as text. Raises: Unreadable."""
    with parquet_file(path) as file:
        names = tuple(file.schema_arrow.names)
        first_batch = next(file.iter_batches(batch_size=count), None)
        if first_batch is None:
            return names, []
        return names, [tuple(map(_preview, row.values())) for row in first_batch.to_pylist()]


def _preview(value: object) -> str:
    """A value as it is shown: empty where there is none, and cut where it is long."""
    if value is None:
        return ""
    text = as_text(value)
    if text is None:
        text = str(value)
    return text[:_LONGEST_PREVIEW]


def as_text(value: object) -> str | None:
    """A value as an id or a number is written; None for what is neither."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    # From 2**53 on, a float may stand for several whole numbers.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


# Any file -> its rows, batch by batch.


_JSON_ROWS = 50_000
"""Lines of JSON that make a batch."""
_BEGINNING = 120
"""Characters of a line that are shown."""
_DEEPEST = 5
"""Objects within objects are opened up to so many levels."""


@dataclass
class UnfitLines:
    """Lines that are no rows of the table."""

    reason: str = WIDTH
    """Why they are none."""
    count: int = 0
    first: str = ""
    """The beginning of the first of them."""

    def add(self, line: str) -> None:
        """Count a line; of the first its beginning is kept."""
        if not self.count:
            self.first = line[:_BEGINNING]
        self.count += 1


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Some rows, in the order of the file."""

    columns: Mapping[str, pa.Array]
    """Role -> values as they are written, all of one length."""
    unfit: UnfitLines = field(default_factory=UnfitLines)
    """The lines beside these rows that are none."""
    share: float = 1.0
    """How much of the file has been read, from 0; a little above 1 where that is not known well."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def per_mille(self) -> int:
        """How much of the file has been read, in thousandths."""
        return int(1000 * min(self.share, 1.0))


def batches(plain: PlainFile, layout: Layout) -> Iterator[Batch]:
    """The whole file, piece by piece. Raises: Unreadable."""
    if layout.form is Form.PARQUET:
        yield from parquet_batches(plain.path, layout)
        return
    if layout.encoding == "utf-8" and not plain.is_utf8:
        raise _not_encoded(layout)
    with opened(plain.path) as file:
        yield from text_batches(file, layout, plain.size)


def text_batches(file: io.BufferedIOBase, layout: Layout, size: int = 0) -> Iterator[Batch]:
    """Delimited text or JSON lines, piece by piece.

    Args:
        file: Its bytes.
        layout: How it is read.
        size: The size of the file, where that is known.

    Raises:
        Unreadable.
    """
    size = max(size, 1)
    try:
        if layout.form is Form.JSON_LINES:
            yield from _json_batches(file, layout, size)
        else:
            yield from _delimited_batches(file, layout, size)
    except UnicodeDecodeError as error:
        raise _not_encoded(layout) from error


def _not_encoded(layout: Layout) -> Unreadable:
    return Unreadable(
        f"it is not {ENCODINGS.get(layout.encoding, layout.encoding)} throughout; choose another "
        "encoding"
    )


def parquet_batches(path: Path, layout: Layout, *, limited: bool = True) -> Iterator[Batch]:
    """The columns of a Parquet file that have a role; `limited` as of `parquet_file`.

    Raises:
        Unreadable.
    """
    with parquet_file(path, limited=limited) as file:
        schema = file.schema_arrow
    column_of_role = {role: schema.names[place] for role, place in layout.columns_to_read}
    columns = list(dict.fromkeys(column_of_role.values()))
    text_columns = []
    for column in columns:
        kind = schema.field(column).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            text_columns.append(column)
    # Only now is it known which columns to have read as dictionaries, so the file is opened anew.
    rows_read = 0
    with parquet_file(path, text_columns, limited=limited) as file:
        for rows in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
            rows_read += rows.num_rows
            values = {role: rows.column(column) for role, column in column_of_role.items()}
            yield Batch(columns=values, share=rows_read / max(file.metadata.num_rows, 1))


def _delimited_batches(file: io.BufferedIOBase, layout: Layout, size: int) -> Iterator[Batch]:
    """Batches of the rows of delimited text.

    A row of another width than the table is counted in the batch during which the parser met it.
    What is counted once the last rows are read comes in batches without rows.
    """
    roles = [role for role, _ in layout.columns_to_read]
    no_rows = {role: pa.array([], pa.string()) for role in roles}
    unfit = UnfitLines(WIDTH)  # Lines since the batch before.
    counted_file = CountedLines(file, layout)
    rows_read = int(layout.header)  # The line of names is among the lines as well.

    def skip_unfit(row: pv.InvalidRow) -> str:
        # The parser was given one character for a separator of two; a person sees the file's own.
        unfit.add(row.text.replace(ONE_CHARACTER, layout.separator))
        return "skip"

    try:
        for rows in _open_csv(counted_file, layout, skip_unfit):
            columns = dict(zip(roles, rows.columns, strict=True))
            rows_read += rows.num_rows + unfit.count
            yield Batch(columns=columns, unfit=unfit, share=file.tell() / size)
            unfit = UnfitLines(WIDTH)
    except pa.ArrowInvalid as error:
        raise Unreadable(_csv_reason(str(error), layout)) from error
    if unfit.count:
        rows_read += unfit.count
        yield Batch(columns=no_rows, unfit=unfit, share=file.tell() / size)
    # There are more lines than rows where quoted fields have line ends in them, which is no fault,
    # or where a quotation mark that nobody closed has swallowed rows, which are then counted.
    if layout.quotes and counted_file.lines > rows_read:
        file.seek(0)
        swallowed_rows = UnfitLines(SWALLOWED)
        for row in find_swallowed_rows(file, layout):
            swallowed_rows.add(row.strip())
        if swallowed_rows.count:
            yield Batch(columns=no_rows, unfit=swallowed_rows)


def _open_csv(
    file: CountedLines, layout: Layout, skip_row: Callable[[pv.InvalidRow], str]
) -> pv.CSVStreamingReader:
    """The rows of delimited text: of the columns that have a role, as texts.

    Args:
        file: Its bytes.
        layout: How it is read.
        skip_row: Called with each row of another width; returns 'skip'.

    Raises:
        Pyarrow.ArrowInvalid for what is not readable as delimited text.
    """
    places = [str(place) for _, place in layout.columns_to_read]
    stream: pa.NativeFile = pa.PythonFile(file, mode="r")
    separator = layout.separator
    encoding = layout.encoding
    # What Arrow's parser cannot take is replaced in the bytes of lines, which are UTF-8 for this.
    if is_rewritten(layout):
        if encoding != "utf-8":
            stream = pa.transcoding_input_stream(stream, encoding, "utf-8")
            encoding = "utf-8"
        stream = pa.TransformInputStream(stream, _LineRewriter(layout))
    if len(separator) > 1:
        separator = ONE_CHARACTER
    read_options = pv.ReadOptions(
        column_names=[str(place) for place in range(len(layout.names))],
        skip_rows=layout.skip,
        skip_rows_after_names=int(layout.header),
        block_size=limits.LONGEST_LINE,
        use_threads=False,
        encoding=encoding,
    )
    parse_options = pv.ParseOptions(
        delimiter=separator,
        quote_char='"' if layout.quotes else False,
        newlines_in_values=layout.quotes,
        invalid_row_handler=skip_row,
    )
    convert_options = pv.ConvertOptions(
        include_columns=places,
        column_types=dict.fromkeys(places, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    return pv.open_csv(stream, read_options, parse_options, convert_options)


class _LineRewriter:
    """Rewrites whole lines, in chunk after chunk of UTF-8."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._begun_line = b""

    def __call__(self, chunk: pa.Buffer) -> bytes:
        """The next lines; the last chunk is empty."""
        text = self._begun_line + chunk.to_pybytes()
        end_of_lines = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        # The line that goes on in the next chunk is kept for it. One that is too long is not: the
        # parser refuses it.
        if not chunk.size or len(text) - end_of_lines > limits.LONGEST_LINE:
            end_of_lines = len(text)
        self._begun_line = text[end_of_lines:]
        return rewritten_lines(text[:end_of_lines], self._layout)


def _csv_reason(message: str, layout: Layout) -> str:
    """Why delimited text cannot be read, from what Arrow says."""
    if "straddl" in message or "block_size" in message or "block size" in message:
        line = f"it has a line longer than {limits.LONGEST_LINE >> 20} MB"
        if layout.quotes:
            return (
                f"{line} or a quotation mark that is not closed; correct it, or read it without "
                "quotation marks"
            )
        return f"{line}; correct it"
    if "UTF8" in message:
        return str(_not_encoded(layout))
    return f"it is not readable as delimited text ({' '.join(message.split())[:150]})"


def _json_batches(file: io.BufferedIOBase, layout: Layout, size: int) -> Iterator[Batch]:
    """JSON lines, piece by piece.

    Args:
        file: Its bytes.
        layout: How it is read.
        size: The size of the file.

    Raises:
        Unreadable for a line that is too long.
    """
    field_of_role = {role: layout.names[place] for role, place in layout.columns_to_read}
    encoding = layout.encoding
    if encoding == "utf-8":
        # The mark of the byte order is no part of the first line.
        encoding = "utf-8-sig"
    with io.TextIOWrapper(file, encoding=encoding) as text:  # type: ignore[type-var]
        filled_lines = _filled_lines(text)
        is_at_end = False
        while not is_at_end:
            unfit = UnfitLines(NO_OBJECT)
            lines = islice(filled_lines, _JSON_ROWS)
            columns = _json_columns(lines, field_of_role, unfit)
            batch = Batch(columns=columns, unfit=unfit, share=file.tell() / size)
            is_at_end = len(batch) + unfit.count < _JSON_ROWS  # The last batch is not full.
            yield batch


def _json_columns(
    lines: Iterable[str], field_of_role: Mapping[str, str], unfit: UnfitLines
) -> dict[str, pa.Array]:
    """Role -> what the objects on these lines have in its field, as texts.

    Args:
        lines: Each with something in it.
        field_of_role: Role -> name in the objects, as 'user.id' where an object is within another.
        unfit: Lines that hold no object are added to these.
    """
    texts: dict[str, list[str | None]] = {role: [] for role in field_of_role}
    for line in lines:
        record = json_object(line)
        if record is None:
            unfit.add(line.strip())
            continue
        # Most objects have no others in them, and to make them flat takes time.
        if any(isinstance(value, dict) for value in record.values()):
            record = flattened(record)
        for role, field_name in field_of_role.items():
            texts[role].append(_cut_encodable(as_text(record.get(field_name))))
    return {role: pa.array(values, pa.string()) for role, values in texts.items()}


def _filled_lines(text: TextIO) -> Iterator[str]:
    """The lines with something in them. Raises: Unreadable for one that is too long."""
    line = text.readline(limits.LONGEST_LINE + 1)
    while line:
        if len(line) > limits.LONGEST_LINE:
            raise Unreadable(f"it has a line longer than {limits.LONGEST_LINE >> 20} MB")
        if line.strip():
            yield line
        line = text.readline(limits.LONGEST_LINE + 1)


def json_object(line: str) -> dict[str, Any] | None:
    """The object that a line holds; None where it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return record


def flattened(record: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The fields of an object, those of the objects in it under their path, as 'user.id'.

    An object of MongoDB, such as {"$oid": "5a"}, is the value that it holds.
    """
    fields: dict[str, Any] = {}
    for name, value in record.items():
        path = above + name
        value = _value_of_mongodb(value)
        if isinstance(value, dict) and path.count(".") < _DEEPEST:
            fields.update(flattened(value, f"{path}."))
        else:
            fields[path] = value
    return fields


def _value_of_mongodb(value: object) -> object:
    """The value within objects of MongoDB, such as {"$date": {"$numberLong": "7"}}."""
    while isinstance(value, dict) and len(value) == 1:
        ((name, inner_value),) = value.items()
        if not name.startswith("$"):
            break
        value = inner_value
    return value


def _cut_encodable(text: str | None) -> str | None:
    """A text, cut after any id's end; None where it cannot be written as UTF-8."""
    if text is None:
        return None
    # One character more than an id may have is kept, so that an id that is too long still shows.
    text = text[: limits.LONGEST_ID + 1]
    try:
        text.encode()
    except UnicodeEncodeError:
        # The text has half of a surrogate pair, which UTF-8 cannot write.
        return None
    return text
