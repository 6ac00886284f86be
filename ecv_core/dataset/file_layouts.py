"""What an entry says of a file, and the file's own names of columns -> its layout."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from ecv_core.dataset.entries import SourceFile
from ecv_core.dataset.layout import Form, Layout, Unreadable, rows_of_fields
from ecv_core.dataset.sources import FileSource


def parquet_layout(source: FileSource) -> Layout:
    """How a Parquet file is read. Raises: Unreadable if it lacks a column."""
    from pyarrow import parquet

    names = parquet.read_schema(source.path).names
    return Layout(form=Form.PARQUET, names=tuple(names), roles=_named_roles(source.form, names))


def text_layout(stream: io.BufferedIOBase, file: SourceFile) -> Layout:
    """How delimited text or JSON lines are read; leaves the stream where it begins.

    Raises:
        Unreadable if the first line lacks a column.
    """
    if file.format == "json-lines":
        names = [str(column) for _, column in file.columns]
        return Layout(form=Form.JSON_LINES, names=tuple(names), roles=_named_roles(file, names))
    layout = Layout(form=Form.DELIMITED, names=(), separator=file.separator)
    fields = _first_fields(stream.read(1 << 16), layout)
    stream.seek(0)
    if file.names_columns:
        roles = _named_roles(file, fields)
    else:
        # Without names, the entry tells the place of each role's column. The layout takes the
        # first row for names, of which only the number counts then.
        roles = tuple((role, int(place)) for role, place in file.columns)
    return replace(layout, names=tuple(fields), roles=roles, header=file.names_columns)


def _named_roles(file: SourceFile, names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """(role, place of its column), by name. Raises: Unreadable if a needed column is missing."""
    places = {name: place for place, name in enumerate(names)}
    roles = []
    missing = []
    for role, column in file.columns:
        if column in places:
            roles.append((role, places[str(column)]))
        elif role not in file.optional:
            missing.append(repr(column))
    if missing:
        noun = "column"
        if len(missing) > 1:
            noun = "columns"
        raise Unreadable(
            f"the first line lacks the {noun} {' and '.join(missing)}; it reads "
            f"{', '.join(names)[:100]!r}"
        )
    return tuple(roles)


def _first_fields(start: bytes, layout: Layout) -> list[str]:
    """The fields of the first line of delimited text. Raises: Unreadable."""
    lines = start.decode("utf-8-sig", "replace").splitlines()
    if not lines:
        return []
    try:
        return next(rows_of_fields(lines[:1], layout), [])
    except csv.Error as error:
        raise Unreadable(f"the first line is not a row of delimited text ({error})") from error
