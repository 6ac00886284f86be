"""A file of scores -> its table, and what its columns hold."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Sequence
from csv import reader
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.analysis.score_columns import names_metrics, names_states, roles_of
from ecv_core.analysis.score_json import is_json, table_of_json
from ecv_core.analysis.score_logs import table_of_log
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("contender", "fold", "score")
LONGEST_NAME = 60
"""Characters of a name that are kept."""
_GZIP = b"\x1f\x8b"
"""What a packed file begins with."""


_WITH_POINT = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
_WITH_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_MAY_BE_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")
"""A number such as '1,001' or '1.001', whose sign may be before decimals, or of thousands."""


class RowLabels(NamedTuple):
    """What each row of a table is of."""

    names: list[str]
    """The different ones, as they first appear."""
    codes: NDArray[np.int32]
    """Of each row, the place of its name among them; shape (rows,)."""


class FileTable(NamedTuple):
    """The table of a file."""

    table: pa.Table
    is_delimited: bool
    """Whether it is from delimited text, in which people write numbers their way. A program writes
    the decimals of other files behind a point."""


def table_of(path: Path, file: str) -> FileTable:
    """The table of a file, with rows, and columns of different names.

    Args:
        path: The path of a CSV or JSON file, perhaps packed as .gz, a Parquet file, or a log of
            RecBole.
        file: How a sentence names it.

    Raises:
        InputError: For a file that cannot be read as a table.
    """
    table, is_delimited = _read(path, file)
    # Columns are selected by their places, as several may have the same name, or none.
    table = table.select(
        [place for place in range(table.num_columns) if not _is_empty(table, place)]
    )
    names = [name.strip() for name in table.column_names]
    if len(set(names)) < len(names):
        shown = ", ".join(names)[:200]
        raise InputError(f"the columns of {file} must have different names, but are {shown}")
    if not len(table):
        raise InputError(f"{file} has no rows; give one per contender and fold")
    return FileTable(table.rename_columns(names), is_delimited)


def _is_empty(table: pa.Table, place: int) -> bool:
    """Whether a column has neither a name nor values, as behind a separator at the end of lines."""
    has_name = bool(table.column_names[place].strip())
    return not has_name and table.column(place).null_count == len(table)


def _read(path: Path, file: str) -> FileTable:
    import pyarrow as pa

    if path.exists() and not path.is_file():  # a pipe or device may never end
        raise InputError(f"{file} is not a regular file; give a table of scores")
    if path.suffix == ".gz" and _packed_twice(path):
        raise InputError(f"{file} is packed twice; unpack it once and give the unpacked file")
    try:
        if path.suffix == ".parquet":
            return FileTable(_parquet(path, file), is_delimited=False)
        with _opened(path) as text:
            head = text.read(1 << 16)
            if is_json(head):
                content = (head + text.read()).decode("utf-8-sig")
                return FileTable(table_of_json(content, file), is_delimited=False)
            if path.suffix == ".log":
                content = (head + text.read()).decode("utf-8")
                return FileTable(table_of_log(content, file), is_delimited=False)
        return FileTable(_csv(path, head, file), is_delimited=True)
    except (OSError, EOFError, zlib.error, ValueError, pa.ArrowException) as error:
        raise _unreadable(file, error) from None


def _opened(path: Path) -> BufferedIOBase:
    """A file to be read, unpacked where its name says that it is packed."""
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open("rb")


def _csv(path: Path, head: bytes, file: str) -> pa.Table:
    """Delimited text, with a decimal comma where there is one.

    The delimiter is the sign that cuts the first line into most columns, a comma where none does.
    """
    import pyarrow as pa
    from pyarrow import csv

    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _not_utf8(file)
    text = head.decode("utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    first_line, *rows = lines or [""]
    separator = max(",;\t", key=first_line.count)
    _check_columns(first_line.count(separator) + 1, file)
    try:
        table = csv.read_csv(  # .gz is recognised by its ending
            path,
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(decimal_point=_decimal_point(rows, separator, file)),
        )
        # A name that is not in UTF-8 raises UnicodeDecodeError only where names are read.
        "".join(table.column_names)
    except UnicodeDecodeError:  # it says nothing to users
        raise _not_utf8(file) from None
    # Arrow gives bytes for a column of texts that are not all in UTF-8.
    if any(pa.types.is_binary(field.type) for field in table.schema):
        raise _not_utf8(file)
    return table


def _not_utf8(file: str) -> InputError:
    return InputError(f"{file} is not text in UTF-8; save it as CSV in UTF-8, or as Parquet")


def _decimal_point(rows: Sequence[str], separator: str, file: str) -> str:
    """The sign before the decimals of most numbers: a point, or a comma.

    Args:
        rows: The first lines of a table below that with the names.
        separator: What separates its columns.
        file: How a sentence names it.

    Raises:
        InputError: For '1,001' in quotation marks between commas, where no other number shows what
            its comma is.
    """
    with_point: list[str] = []
    with_comma: list[str] = []
    for fields in reader(rows, delimiter=separator):
        with_point += filter(_WITH_POINT.fullmatch, fields)
        with_comma += filter(_WITH_COMMA.fullmatch, fields)
    if not with_comma:
        return "."
    commas_may_be_of_thousands = all(map(_MAY_BE_THOUSANDS.fullmatch, with_comma))
    points_may_be_of_thousands = all(map(_MAY_BE_THOUSANDS.fullmatch, with_point))
    if not points_may_be_of_thousands:
        return "."
    # If other numbers have a point, '100,100' is a text, such as the value of a parameter.
    if with_point and (separator == "," or commas_may_be_of_thousands):
        return "."
    if commas_may_be_of_thousands and separator == ",":
        raise InputError(
            f"'{with_comma[0].strip()}' in {file} may be thousands or have decimals; write such "
            "numbers with a decimal point and without a sign for thousands"
        )
    return ","


def _parquet(path: Path, file: str) -> pa.Table:
    """The columns that may be used, of no more rows than may be."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        rows = table.metadata.num_rows
        if rows > limits.MAX_SCORE_ROWS:
            raise InputError(
                f"{file} has {rows:,} rows, but at most {limits.MAX_SCORE_ROWS:,} can be read; "
                "leave out some contenders"
            )
        names = table.schema_arrow.names
        _check_columns(len(names), file)
        roles = roles_of(names)
        if {"contender", "fold"} <= roles.keys():
            names = [
                field.name
                for field in table.schema_arrow
                if field.name in roles.values()
                or names_metrics(field.name)
                or names_states(field.name)
                or pa.types.is_floating(field.type)
                or pa.types.is_integer(field.type)
            ]
        return table.read(names)


def _check_columns(count: int, file: str) -> None:
    """Before they are read, which takes memory for each."""
    # A column of folds and one of row numbers may stand beside those of the contenders.
    if count > limits.MAX_SYSTEMS + 2:
        raise InputError(
            f"{file} has more than {limits.MAX_SYSTEMS} columns, the most that can be read; "
            "leave some out"
        )


def _unreadable(file: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
    if not why.isprintable():  # These may be the first bytes of a picture.
        why = "it is not text"
    return InputError(
        f"{file} cannot be read as a table of scores ({why}); give a CSV, JSON or Parquet file "
        f"with the columns {', '.join(COLUMNS)}, or a column per contender and a row per fold"
    )


def _packed_twice(path: Path) -> bool:
    """Whether what a gzip file holds begins as one."""
    try:
        with gzip.open(path) as file:
            return file.read(len(_GZIP)) == _GZIP
    except (OSError, EOFError, zlib.error):
        return False


def labels_of(table: pa.Table, column: str, role: str, file: str) -> RowLabels:
    """Of a column that says what each row is of.

    Args:
        table: The table of scores.
        column: The column of the table.
        role: What its values are, for a sentence: 'fold'.
        file: How a sentence names it.

    Raises:
        InputError: For a row without a label, and for values that are no names.
    """
    import pyarrow as pa
    from pyarrow import compute

    values = table[column]
    if pa.types.is_dictionary(values.type):
        # A category of pandas, which may list values that no row has, and in another order.
        values = values.cast(values.type.value_type)
    is_missing = compute.is_null(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        lengths = compute.utf8_length(compute.utf8_trim_whitespace(values))
        # A length is cast and not compared with 0, because pyarrow loads pandas for every Python
        # value that it gets.
        has_letters = lengths.cast(pa.bool_())
        is_missing = compute.or_kleene(is_missing, compute.invert(has_letters))
    missing_rows = compute.indices_nonzero(is_missing)
    if len(missing_rows):
        raise InputError(
            f"row {missing_rows[0].as_py() + 1} of {file} has no {role}; give every row one"
        )
    try:
        encoded = values.combine_chunks().dictionary_encode()
        if hasattr(encoded, "combine_chunks"):  # what is too long for one array stays in chunks
            encoded = encoded.combine_chunks()
        names = [str(value)[:LONGEST_NAME].strip() for value in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError, OverflowError):
        raise InputError(
            f"the column '{role}' of {file} has values that cannot be names ({values.type}); "
            "give texts or numbers"
        ) from None
    # 32 bits will do: there are at most MAX_SCORES names.
    return RowLabels(names, np.from_dlpack(encoded.indices).astype(np.int32, copy=False))


def numbers_of(table: pa.Table, column: str, file: str) -> Floats:
    """The scores in a column, NaN where one is missing. Raises: InputError for a text.

    Arrow's `to_numpy` would load pandas, so that is not used.
    """
    import pyarrow as pa

    values = table[column]
    try:
        # The first cast loads all functions of Arrow, so numbers that need none are left alone.
        if values.type != pa.float64():
            values = values.cast(pa.float64())
    except pa.ArrowException as error:
        # Arrow's message has the first value that is no number, in quotation marks.
        quoted_value = re.search("'(.*?)'", str(error)[:100])
        instead = "; see its values"
        if quoted_value:
            instead = f", and not '{quoted_value[1]}'"
        raise InputError(f"the column '{column}' of {file} must hold numbers{instead}") from None
    if values.null_count:
        values = values.fill_null(np.nan)
    return np.concatenate([np.from_dlpack(chunk) for chunk in values.chunks])


def texts_of(table: pa.Table, column: str) -> list[str]:
    """The values of a column as texts."""
    return [str(value) for value in table[column].to_pylist()]


def is_text(table: pa.Table, column: str) -> bool:
    """Whether a column holds texts, perhaps each of them once, as a category of pandas does."""
    import pyarrow as pa

    kind = table[column].type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_whole(table: pa.Table, column: str) -> bool:
    """Whether a column holds whole numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(table[column].type))


def is_number(table: pa.Table, column: str) -> bool:
    """Whether a column holds numbers, or nothing at all."""
    import pyarrow as pa

    kind = table[column].type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind))


def is_numeric(text: str) -> bool:
    """Whether a text may be a number: '-1.5e-3'."""
    return re.fullmatch(r"[-+.\deE]+", text) is not None


def distinct_labels(names: Sequence[str]) -> RowLabels:
    """RowLabels of rows that each have a name of their own."""
    return RowLabels(list(names), np.arange(len(names), dtype=np.int32))


def labels_of_cells(columns: RowLabels, rows: RowLabels) -> tuple[RowLabels, RowLabels]:
    """The labels of the cells of a table, column by column, each from the first row to the last.

    Args:
        columns: The labels of the columns.
        rows: The labels of the rows.

    Returns:
        What each cell is of by its column, and by its row; of shape (columns * rows,).
    """
    by_column = np.repeat(columns.codes, len(rows.codes))
    by_row = np.tile(rows.codes, len(columns.codes))
    return RowLabels(columns.names, by_column), RowLabels(rows.names, by_row)
