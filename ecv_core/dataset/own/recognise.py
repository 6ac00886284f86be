"""The beginning of a plain file -> its layout, and its first rows to look at."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

import ecv_core.untrusted.bounded as bounded
from ecv_core.dataset.columns import read_ratings, read_seconds
from ecv_core.dataset.dates import date_orders
from ecv_core.dataset.layout import (
    SEPARATORS,
    UNIT_TEXTS,
    Form,
    Layout,
    TimeUnit,
    Unreadable,
    in_order,
    unnamed,
)
from ecv_core.dataset.own.roles import (
    are_dates,
    guess_roles,
    guess_unit,
    is_number,
    is_role_name,
    says_time,
)
from ecv_core.dataset.plain import Plain, check_limits, refusals
from ecv_core.dataset.rows import as_text, json_object, parquet_head
from ecv_core.records.errors import DatasetError
from ecv_core.untrusted.files import opened

HEAD_BYTES = 1 << 20
"""So much of a file is looked at to recognise it."""
SAMPLE = 200
"""Rows that decide."""
LONGEST_NAME = 100
_LONGEST_SAMPLE = 100_000
"""Characters of a line that is looked at to recognise the file; a longer one is left out here."""

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """What a file seems to be."""

    layout: Layout
    rows: tuple[Row, ...]
    """The first ones as text, each as wide as the layout's names."""


def recognise(plain: Plain) -> Recognised:
    """How a file is to be read, as far as its beginning tells.

    Raises: DatasetError for what is no table.
    """
    if plain.parquet:
        what = f"the file {plain.name}"
        return bounded.in_child(
            _parquet, plain, what=what, size=plain.given_bytes, error=DatasetError
        )
    with refusals(plain.name):
        head = _head(plain)
        encoding = _encoding(head, plain)
        text = _decoded(head, encoding)
        if text.lstrip()[:1] == "{":
            return _json_lines(text, encoding)
        return _delimited(text, encoding)


def _parquet(plain: Plain) -> Recognised:
    with refusals(plain.name):
        names, rows = parquet_head(plain.path, SAMPLE)
        return with_guesses(Layout(form=Form.PARQUET, names=names), rows)


def look_again(plain: Plain, layout: Layout) -> Recognised:
    """The first rows under a layout whose encoding, separator or header was corrected.

    Columns and what they are are recognised anew. Raises: DatasetError.
    """
    with refusals(plain.name):
        text = _decoded(_head(plain), layout.encoding)
        return _table(text, layout)


def with_guesses(layout: Layout, rows: Sequence[Row]) -> Recognised:
    """A layout with its columns recognised by name and value. Raises: Unreadable."""
    if len(layout.names) < 2:
        raise Unreadable(
            "it has one column, and a user and an item take two; if its columns are separated by "
            "another sign than , ; tab | or ::, write it with one of these"
        )
    named = layout.form is not Form.DELIMITED or layout.header
    roles = guess_roles(layout.names, rows, named=named)
    guessed = replace(layout, roles=in_order(roles))
    return Recognised(layout=with_unit(guessed, rows), rows=tuple(rows))


def with_unit(layout: Layout, rows: Sequence[Row]) -> Layout:
    """The unit of the column of timestamps, by its first values and its name."""
    place = layout.column("timestamp")
    if place is None:
        return layout
    values = [row[place] for row in rows]
    return replace(layout, unit=guess_unit(values, layout.names[place]))


def _head(plain: Plain) -> bytes:
    with opened(plain.path) as file:
        return file.read(HEAD_BYTES)


def _encoding(head: bytes, plain: Plain) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        raise Unreadable(
            "it is no text: it has bytes that no text has; CSV, TSV, Parquet and JSON lines are "
            "read, and a ZIP or GZ of one"
        )
    if plain.utf8:
        return "utf-8"
    # Windows-1252 has the letters of Latin-1 and more signs; a few bytes it has not at all.
    return "latin-1" if any(byte in head for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"


def _decoded(head: bytes, encoding: str) -> str:
    text = head.decode(encoding, errors="replace")
    return text.removeprefix("\ufeff")


def _lines(text: str, skip: int = 0) -> list[str]:
    """The first lines with something in them; the last one may be cut, and is left out then."""
    lines: list[str] = []
    for line in islice(io.StringIO(text, newline=None), skip, None):
        cut = len(text) >= HEAD_BYTES // 2 - 1 and not line.endswith("\n")
        if line.strip() and len(line) <= _LONGEST_SAMPLE and not (cut and lines):
            lines.append(line)
        if len(lines) == SAMPLE + 2:
            break
    if not lines:
        raise Unreadable(f"its first lines are longer than {_LONGEST_SAMPLE:,} characters")
    return lines


def _delimited(text: str, encoding: str) -> Recognised:
    _check_no_markup(text)
    lines = _lines(text)
    skip = sum(1 for _ in takewhile(str.isspace, io.StringIO(text, newline=None)))
    separator = ""
    if lines[0].lower().startswith("sep=") and len(lines[0].strip()) in (4, 5):  # Excel's
        separator = lines[0].rstrip("\n")[4:5] or "\t"
        skip += 1
        lines = _lines(text, skip)
    if separator not in SEPARATORS:
        separator = _separator(lines)
    layout = Layout(
        form=Form.DELIMITED, names=(), encoding=encoding, separator=separator, skip=skip
    )
    rows = _fields(lines, layout)
    if rows is None:
        layout = replace(layout, quotes=False)
        rows = _fields(lines, layout) or []
    layout = replace(layout, header=_has_header(rows))
    return _table(text, layout)


def _check_no_markup(text: str) -> None:
    """Refuse web pages, XML and JSON lists. Raises: Unreadable."""
    start = text.lstrip()
    if start.startswith("<"):
        raise Unreadable("it is a web page or XML, no table; save the table as CSV")
    if start.startswith("[") and start[1:].lstrip().startswith(("{", "[")):
        raise Unreadable(
            "it is one JSON list; write JSON lines instead, one object per line without commas "
            "between them"
        )


def _table(text: str, layout: Layout) -> Recognised:
    """Columns and first rows of a text that is read so. Raises: Unreadable."""
    if layout.form is not Form.DELIMITED:
        return _json_lines(text, layout.encoding)
    rows = _fields(_lines(text, layout.skip), layout)
    if rows is None:
        raise Unreadable("a quotation mark is not closed; read it without quotation marks")
    body = rows[1:] if layout.header else rows
    if not body:
        raise Unreadable("it has a first line, and no row below it")
    width = Counter(len(row) for row in body).most_common(1)[0][0]
    check_limits(columns=width)
    names = _names(rows[0] if layout.header else [], body, width)
    fitting = [tuple(row) for row in body if len(row) == width][:SAMPLE]
    return with_guesses(replace(layout, names=names), fitting)


def _names(header: Sequence[str], body: Sequence[Sequence[str]], width: int) -> Row:
    """A name for each column; some writers leave out that of the first, or end rows with a sign."""
    own_names = [name.strip()[:LONGEST_NAME] for name in header]
    if len(own_names) == width - 1:
        rows_end_with_sign = all(row[-1] == "" for row in body if len(row) == width)
        if not rows_end_with_sign:
            own_names.insert(0, "")
    names = list(unnamed(width))
    for place, name in enumerate(own_names[:width]):
        if name:
            names[place] = name
    return tuple(names)


def _separator(lines: Sequence[str]) -> str:
    """The sign that cuts most lines into the same number of fields, and that into many.

    The first line counts less: its row may be one name short, or be cut by none but the separator.
    """

    qualities = {sign: _separator_quality(sign, lines) for sign in SEPARATORS}
    signs = [sign for sign in SEPARATORS if sign != " "]
    best = max(signs, key=lambda sign: qualities[sign])  # the first of equals
    if qualities[" "].fits and not qualities[best].fits:
        return " "  # only where no other does: a space stands in texts as well
    return best


class _Quality(NamedTuple):
    """How well a separator cuts lines; a greater one is better."""

    fits: bool
    """Whether it cuts most lines into the same number of fields, at least two."""
    cuts_first_line: bool
    width: int
    """That number of fields; 0 where it does not fit."""


def _separator_quality(separator: str, lines: Sequence[str]) -> _Quality:
    layout = Layout(form=Form.DELIMITED, names=(), separator=separator)
    rows = _fields(lines, layout) or _fields(lines, replace(layout, quotes=False)) or [[]]
    body = rows[1:] or rows
    width, count = Counter(map(len, body)).most_common(1)[0]
    fits = width > 1 and count >= 0.8 * len(body)
    if not fits:
        width = 0
    return _Quality(fits=fits, cuts_first_line=len(rows[0]) > 1, width=width)


def _fields(lines: Sequence[str], layout: Layout) -> list[list[str]] | None:
    """Rows of fields; None where a quotation mark is not closed, or a field is endless."""
    separator = layout.separator
    if len(separator) > 1:  # the csv module takes one character
        lines = [line.replace(separator, "\x1f") for line in lines]
        separator = "\x1f"
    quoting: Literal[0, 3] = csv.QUOTE_NONE
    if layout.quotes:
        quoting = csv.QUOTE_MINIMAL
    rows = []
    try:
        for row in csv.reader(lines, delimiter=separator, quoting=quoting):
            if any(field.count("\n") > SAMPLE // 2 for field in row):
                return None
            if row:
                rows.append(row)
    except csv.Error:
        return None
    return rows


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: it has a word above numbers, or above dates."""
    if not rows:
        return False
    if any(is_role_name(name) for name in rows[0]):
        return True
    if any(is_number(name) for name in rows[0]):
        return False
    for place, name in enumerate(rows[0]):
        below = [row[place] for row in rows[1:] if place < len(row) and row[place].strip()]
        if below and _is_word_above(name, below):
            return True
    return False


def _is_word_above(name: str, values: Sequence[str]) -> bool:
    """Whether a word that is no number stands above numbers, or one that is no date above dates."""
    numbers = 0
    for value in values:
        numbers += is_number(value)
    if numbers > 0.9 * len(values):
        return True
    return are_dates(values) and not are_dates([name])


def _json_lines(text: str, encoding: str) -> Recognised:
    records = []
    for line in _lines(text)[:SAMPLE]:
        record = json_object(line)
        if record is not None:
            records.append(record)
    if not records:
        raise Unreadable(
            "it begins like JSON, but none of its first lines is an object; write JSON lines, one "
            'object per line, such as {"user": "ann", "item": "42"}'
        )
    every_name: dict[str, None] = {}  # in the order in which they appear
    for record in records:
        every_name.update(dict.fromkeys(record))
    names = tuple(name for name in every_name if len(name) <= LONGEST_NAME)
    check_limits(columns=len(names))
    rows = []
    for record in records:
        rows.append(tuple(as_text(record.get(name)) or "" for name in names))
    return with_guesses(Layout(form=Form.JSON_LINES, names=names, encoding=encoding), rows)


def first_look(recognition: Recognised) -> list[str]:
    """What of the first rows is read as rating and time, and how; a sentence each."""
    layout = recognition.layout
    count = len(recognition.rows)
    sentences = []
    rating = layout.column("rating")
    if rating is not None:
        values = _column(recognition, rating)
        ratings = read_ratings(pa.array(values), decimal_comma=layout.decimal_comma)
        sentences.append(f"{np.isfinite(ratings).sum()} of the first {count} rows have a rating.")
    timestamp = layout.column("timestamp")
    if timestamp is None:
        sentences += _unread_times(recognition)
    else:
        values = _column(recognition, timestamp)
        sentences.append(_times_sentence(values, layout.unit))
        fitting, _ = date_orders(values)
        if layout.unit in fitting and len(fitting) > 1:
            sentences.append("Day first and month first fit these dates alike: see which it is.")
    return sentences


def _unread_times(recognition: Recognised) -> list[str]:
    """A sentence for each column that is called a date or a time, and is not read as one."""
    sentences = []
    has_role = [place for _, place in recognition.layout.roles]
    for place, name in enumerate(recognition.layout.names):
        if place in has_role or not says_time(name):
            continue
        values = list(filter(None, _column(recognition, place)))
        if values:
            sentences.append(
                f"The column {name} is not read as a time: it begins with {values[0]}."
            )
    return sentences


def _column(recognition: Recognised, place: int) -> list[str]:
    return [row[place].strip() for row in recognition.rows]


def _times_sentence(values: Sequence[str], unit: TimeUnit) -> str:
    """How many of the values are times, and the first of them as it is read."""
    times = read_seconds(pa.array(values), unit)
    is_time = np.isfinite(times)
    sentence = f"{is_time.sum()} of the first {len(values)} rows have a time ({UNIT_TEXTS[unit]})"
    if not is_time.any():
        return f"{sentence}."
    first = int(is_time.argmax())
    moment = datetime.fromtimestamp(times[first], UTC)
    return f"{sentence}: {values[first]} is {moment.day} {moment:%B %Y, %H:%M} UTC."
