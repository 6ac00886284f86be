"""Bytes of delimited text, JSON lines or Parquet -> Arrow columns by role, types checked."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

import ecv_core.limits as limits
from ecv_core.datasets._catalogue import SourceFile
from ecv_core.datasets._content import Unreadable, first_line, read_content

Columns = dict[str, pa.ChunkedArray]
"""Role -> column: ids are strings, everything else is float64; no nulls, all of one length."""

_TEXT_ROLES = ("user_id", "item_id")
_LONGEST_HEADER = 1 << 16
_BLOCK_BYTES = 16 << 20  # a JSON line, that is a whole review, must fit into one block


def read_columns(path: Path, file: SourceFile) -> Columns:
    """Read the roles that `file` describes; optional ones only where the file has them.

    Raises: Unreadable if the file is damaged, lacks a column, or holds missing or wrong values.
    """
    content = read_content(path, file)
    try:
        if file.format == "delimited":
            table = _delimited(content, file)
        elif file.format == "json-lines":
            table = _json_lines(content, file)
        else:
            table = _parquet(content, file)
    except (pa.ArrowException, OSError) as error:  # Parquet reports damage as OSError
        raise Unreadable(" ".join(str(error).split())[:200]) from error
    if table.num_rows == 0:
        raise Unreadable("it holds no interactions")
    if file.rows is not None and table.num_rows != file.rows:
        raise Unreadable(f"it holds {table.num_rows:,} rows where {file.rows:,} are published")
    return {role: _checked(role, table[role]) for role in table.column_names}


def check_columns(path: Path, file: SourceFile) -> None:
    """Look at the first line, or the schema, alone. Raises: Unreadable if a column is missing."""
    if file.format == "parquet":
        try:
            names = pyarrow.parquet.read_schema(path).names
        except (pa.ArrowException, OSError) as error:
            raise Unreadable(" ".join(str(error).split())[:200]) from error
        _present(file, names)
    elif file.format == "delimited" and not all(isinstance(one, int) for _, one in file.columns):
        line = first_line(path).removeprefix(b"\xef\xbb\xbf").rstrip(b"\n")
        _present(file, _header(line, file.separator))


def _header(line: bytes, separator: str) -> list[str]:
    first = line[:_LONGEST_HEADER].decode("utf-8", "replace").splitlines()[:1]
    try:
        return next(csv.reader(first, delimiter=separator), [])
    except csv.Error as error:
        raise Unreadable(f"the first line is no row of delimited text ({error})") from error


def _delimited(content: bytes, file: SourceFile) -> pa.Table:
    content = content.removeprefix(b"\xef\xbb\xbf")
    separator = file.separator
    if len(separator) > 1:  # the parser takes one character only
        content, separator = content.replace(separator.encode(), b"\x01"), "\x01"
    positional = all(isinstance(column, int) for _, column in file.columns)
    if positional:
        present = {role: f"f{column}" for role, column in file.columns}
    else:
        present = _present(file, _header(content.split(b"\n", 1)[0], separator))
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(present.values()),
        column_types={column: _type(role) for role, column in present.items()},
        # Only an empty field is missing: "NA" and "null" are fine names for an item.
        null_values=[""],
        strings_can_be_null=True,
    )

    def parse(*, threads: bool) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.py_buffer(content),
            pyarrow.csv.ReadOptions(autogenerate_column_names=positional, use_threads=threads),
            pyarrow.csv.ParseOptions(delimiter=separator),
            convert,
        )

    try:
        table = parse(threads=True)
    except pa.ArrowInvalid:
        table = parse(threads=False)  # fails again, but now it knows the number of the row
    return table.rename_columns(list(present))


def _json_lines(content: bytes, file: SourceFile) -> pa.Table:
    schema = pa.schema([(str(column), _type(role)) for role, column in file.columns])
    table = pyarrow.json.read_json(
        pa.BufferReader(content),
        read_options=pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="ignore"
        ),
    )
    return table.rename_columns([role for role, _ in file.columns])


def _parquet(content: bytes, file: SourceFile) -> pa.Table:
    source = pyarrow.parquet.ParquetFile(pa.BufferReader(content))
    present = _present(file, source.schema_arrow.names)
    table = source.read(columns=list(present.values()))
    columns = {}
    for role, column in present.items():
        values = table[column]
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        columns[role] = values.cast(_type(role))
    return pa.table(columns)


def _present(file: SourceFile, header: list[str]) -> dict[str, str]:
    header = [name.rstrip("\r") for name in header]
    missing = [
        column
        for role, column in file.columns
        if column not in header and role not in file.optional
    ]
    if missing:
        raise Unreadable(
            f"the first line lacks the {_columns(missing)}; it reads {', '.join(header)[:100]!r}"
        )
    return {role: str(column) for role, column in file.columns if column in header}


def _columns(missing: list[str | int]) -> str:
    names = " and ".join(f"'{name}'" for name in missing)
    return f"column {names}" if len(missing) == 1 else f"columns {names}"


def _type(role: str) -> pa.DataType:
    return pa.string() if role in _TEXT_ROLES else pa.float64()


def _checked(role: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    bad = pc.is_null(values, nan_is_null=True)
    if role in _TEXT_ROLES:
        bad = pc.or_(bad, pc.equal(pc.fill_null(values, ""), ""))
    else:
        bad = pc.or_(bad, pc.invert(pc.is_finite(pc.fill_null(values, 0.0))))
    row = pc.index(bad, True).as_py()
    if row >= 0:
        raise Unreadable(f"row {row + 1:,} of the data has no valid {role}")
    if role == "timestamp":
        early, late = pc.less(values, limits.EARLIEST), pc.greater_equal(values, limits.LATEST)
        row = pc.index(pc.or_(early, late), True).as_py()
        if row >= 0:
            raise Unreadable(
                f"row {row + 1:,} of the data has the timestamp {values[row].as_py():g}, and "
                "those from the years 1700 to 2199 are taken, in seconds"
            )
    return values
