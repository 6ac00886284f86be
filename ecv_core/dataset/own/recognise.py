"""The beginning of a plain file -> its layout, and its first rows to look at."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, takewhile
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import ecv_core.untrusted.bounded as bounded
from ecv_core.dataset.columns import read_ids, read_numbers, read_ratings, read_seconds
from ecv_core.dataset.dates import date_orders
from ecv_core.dataset.layout import (
    OPTIONS,
    ROLE_WORDS,
    SEPARATORS,
    SPACES,
    UNIT_TEXTS,
    Form,
    Layout,
    TimeUnit,
    Unreadable,
    default_names,
    in_order,
    rows_of_fields,
)
from ecv_core.dataset.own.roles import (
    NEARLY_ALL,
    are_dates,
    are_lists,
    filled_values,
    guess_roles,
    guess_unit,
    is_number,
    is_role_name,
    says_item,
    says_quantity,
    says_time,
)
from ecv_core.dataset.plain import PlainFile, check_limits, errors_as_dataset_error
from ecv_core.dataset.rows import as_text, flattened, json_object, parquet_head
from ecv_core.records.errors import DatasetError
from ecv_core.records.parameters import listed
from ecv_core.untrusted.files import opened

HEAD_BYTES = 1 << 20
"""So much of a file is looked at to recognise it."""
SAMPLE = 200
"""Rows that decide."""
LONGEST_NAME = 100
_HEADING = re.compile(r"[^\s,;|]+:")
"""A line that is a heading of the rows below it, such as Netflix's '1:'."""
_SEPARATOR_LINE = re.compile(r"sep=(.?)\s*", re.IGNORECASE)
_NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
"""Windows-1252 has the letters of Latin-1 and more signs; these bytes it has not at all."""
_COMMENTS = ("#", "%")
"""Signs with which a line that is a comment begins."""
_AGREEING_SHARE = 0.95
"""Of lines that agree without quotation marks at least this share has the usual width."""
_MOST_NAMED = 20
"""More columns that are not used are counted, not named."""
_MATRIX_MARKET = "%%MatrixMarket"
"""How a file of a sparse matrix begins."""
_MOST_TITLES = 10
"""So many of the first rows are looked at for the names of columns."""
_SPARSE_SAMPLE = re.compile(r"[+-]?[\d.]+( \d+(:\d+)?:[+-]?[\d.eE+-]+)+")
"""A line of libSVM or libFM: what is to be told, and the numbers and values of features."""
_DECIMAL_SIGN = re.compile("[.,]")
_SMALL_NUMBER = re.compile(r"\d{1,3}([.,]\d*)?")
_MAY_BE_THOUSAND = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_TELLING_ROWS = 10
"""In fewer rows no guess is given up."""
_LONGEST_SAMPLE = 100_000
"""Characters of a line that is looked at to recognise the file; a longer one is left out here."""

Row = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """What a file seems to be."""

    layout: Layout
    rows: tuple[Row, ...]
    """The first ones as text, each as wide as the layout's names."""
    notes: tuple[str, ...] = ()
    """Sentences about what was left out."""
    given_up: tuple[int, ...] = ()
    """The columns of which a note says that they are not used as what they seemed to be."""


def recognise(plain: PlainFile) -> Recognised:
    """How a file is to be read, as far as its beginning tells.

    Raises:
        DatasetError: For what is no table.
    """
    if plain.parquet:
        return bounded.run_in_child(
            _recognise_parquet,
            plain,
            what=f"the file {plain.name}",
            size=plain.given_bytes,
            error=DatasetError,
        )
    with errors_as_dataset_error(plain.name):
        head = _first_bytes(plain)
        encoding = _encoding(head, plain)
        text = _decode_whole_lines(head, encoding)
        if text.lstrip()[:1] == "{":
            return _recognise_json_lines(text, encoding)
        return _recognise_delimited(text, encoding)


def _recognise_parquet(plain: PlainFile) -> Recognised:
    with errors_as_dataset_error(plain.name):
        names, rows = parquet_head(plain.path, SAMPLE)
        return with_guesses(Layout(form=Form.PARQUET, names=names), rows)


def recognise_with_layout(plain: PlainFile, layout: Layout) -> Recognised:
    """The first rows under a layout whose encoding, separator or header was corrected.

    Columns and what they are are recognised anew. Raises: DatasetError.
    """
    with errors_as_dataset_error(plain.name):
        text = _decode_whole_lines(_first_bytes(plain), layout.encoding)
        return _recognise_columns(text, layout)


def with_guesses(layout: Layout, rows: Sequence[Row]) -> Recognised:
    """A layout with its columns recognised by name and value. Raises: Unreadable."""
    if len(layout.names) < 2:
        raise Unreadable(_one_column_sentence(list(map("".join, rows))))
    has_names = layout.form is not Form.DELIMITED or layout.header
    # Numbers of columns, as pandas writes them, tell nothing.
    if all(map(is_number, layout.names[1:])) and not is_role_name(layout.names[0]):
        has_names = False
    roles = guess_roles(layout.names, rows, has_names=has_names)
    # In a file that nobody describes, NULL, NA and the like are taken for missing ids.
    layout = replace(layout, roles=in_order(roles), words_are_missing=True)
    recognised = Recognised(layout=with_unit(layout, rows), rows=tuple(rows))
    warning_of_lists = lists_sentence(recognised)
    if warning_of_lists:
        recognised = replace(recognised, notes=(f"{warning_of_lists}.",))
    return _without_mostly_empty_roles(recognised)


def _one_column_sentence(lines: Sequence[str]) -> str:
    """Why a file whose lines nothing separates is refused, as half a sentence."""
    if are_lists(lines):
        return _lists_sentence("a line")
    return (
        "it has one column, but user and item need two; if its columns are separated by anything "
        "but , ; tab | :: or spaces, save it with one of these"
    )


def lists_sentence(recognition: Recognised) -> str:
    """That a column has lists, such as 'N1 N2', where users or items are missing; else empty."""
    layout = recognition.layout
    if not layout.missing:
        return ""
    for place, name in enumerate(layout.names):
        if are_lists(_column(recognition, place)):
            option = f"{OPTIONS[layout.missing[0]]} {name}"
            way_out = f", or, if each is one id, name the column ({option})"
            return _lists_sentence(f"'{name}'") + way_out
    return ""


def _lists_sentence(holder: str) -> str:
    """Why a file with lists where users or items should be is refused, as half a sentence."""
    return (
        f"{holder} has lists, but each row must have one user and one item; "
        "write a line for each entry of the list"
    )


def _without_mostly_empty_roles(recognition: Recognised) -> Recognised:
    """The same without a rating, time or basket that most of the first rows lack; a note says so.

    Of fewer than _TELLING_ROWS rows nothing is given up.
    """
    row_count = len(recognition.rows)
    if row_count < _TELLING_ROWS:
        return recognition
    empty_counts = {}
    for role in ("rating", "timestamp", "basket"):
        place = recognition.layout.column(role)
        if place is None:
            continue
        values = _column(recognition, place)
        empty_count = row_count - _count_readable(values, role, recognition.layout)
        if empty_count > row_count / 2:
            empty_counts[role] = empty_count
    return without_roles(recognition, empty_counts, f"the first {row_count:,}")


def without_roles(
    recognition: Recognised, empty_counts: Mapping[str, int], row_count_words: str
) -> Recognised:
    """The same without roles that were guessed and cost too many rows; a note says so of each.

    Args:
        recognition: How a file is read.
        empty_counts: Role -> how many rows have no value of it.
        row_count_words: Of how many rows, in words: 'the first 200'.
    """
    layout = recognition.layout
    notes = list(recognition.notes)
    given_up = list(recognition.given_up)
    for role, place in layout.roles:
        if role not in empty_counts:
            continue
        layout = layout.with_roles({role: None})
        column = layout.names[place]
        role_in_words = ROLE_WORDS[role]
        given_up.append(place)
        notes.append(
            f"The column {column} is not used as the {role_in_words}, because "
            f"{empty_counts[role]:,} of {row_count_words} rows have no {role_in_words} in it. "
            f"To use it, give {OPTIONS[role]} {column}."
        )
    return replace(recognition, layout=layout, notes=tuple(notes), given_up=tuple(given_up))


def _count_readable(values: Sequence[str], role: str, layout: Layout) -> int:
    """How many of the values can be read as a basket, a rating or a time, whichever the role is."""
    column = pa.array(values, pa.string())
    if role == "basket":
        return len(values) - read_ids(column).null_count
    if role == "rating":
        numbers = read_ratings(column, decimal_comma=layout.decimal_comma)
    else:
        numbers = read_seconds(column, layout.unit)
    return int(np.isfinite(numbers).sum())


def roles_sentence(layout: Layout) -> str:
    """The sentence about which column is taken as what, and how to say otherwise."""
    column_words = []
    for role, place in layout.roles:
        column_words.append(f"{layout.names[place]} as the {ROLE_WORDS[role]}")
    options = " ".join(f"{OPTIONS[role]} COLUMN" for role in ("user_id", "item_id"))
    return (
        f"It was read with {', '.join(column_words)} (use {options} and similar options to change "
        "this):"
    )


def with_unit(layout: Layout, rows: Sequence[Row]) -> Layout:
    """The unit of the column of timestamps, by its first values and its name."""
    place = layout.column("timestamp")
    if place is None:
        return layout
    times = [row[place] for row in rows]
    return replace(layout, unit=guess_unit(times, layout.names[place]))


def _first_bytes(plain: PlainFile) -> bytes:
    with opened(plain.path) as file:
        return file.read(HEAD_BYTES)


def _encoding(head: bytes, plain: PlainFile) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        raise Unreadable(
            "it is not text, because it has bytes that no text has; give CSV, TSV, Parquet or "
            "JSON lines, or a ZIP or GZ of one"
        )
    if plain.is_utf8:
        return "utf-8"
    for byte in _NOT_IN_CP1252:
        if byte in head:
            return "latin-1"
    return "cp1252"


def _decode_whole_lines(head: bytes, encoding: str) -> str:
    """The head of a file as text; of several lines the last one, which may be cut, is left out."""
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    if len(head) < HEAD_BYTES:
        return text
    # The head of a longer file ends within a line, which is left out unless it is the only one.
    end_of_whole_lines = max(text.rfind("\n"), text.rfind("\r")) + 1
    return text[:end_of_whole_lines] or text


def _first_filled_lines(text: str, skip: int = 0) -> list[str]:
    """The first lines with something in them. Raises: Unreadable if none is left."""
    lines = []
    is_a_line_too_long = False
    # These are the rows that decide, the names of columns, and a title above them.
    most_lines = SAMPLE + 2
    for line in islice(_lines_of(text), skip, None):
        if len(line) > _LONGEST_SAMPLE:
            is_a_line_too_long = True
        elif line.strip():
            lines.append(line)
        if len(lines) == most_lines:
            break
    if lines:
        return lines
    if is_a_line_too_long:
        raise Unreadable(f"its first lines are longer than {_LONGEST_SAMPLE:,} characters")
    raise Unreadable("it has no rows")


def _recognise_delimited(text: str, encoding: str) -> Recognised:
    """How delimited text is to be read: first the lines, then the signs, then the columns."""
    _check_no_markup(text)
    lines = _first_filled_lines(text)
    _check_no_other_lines(lines)
    # Blank lines above the table are skipped, and so is a line that names the separator.
    skip = _place_of_filled_line(text, skip=0, number=0)
    separator = _separator_in_first_line(lines[0])
    if separator is not None:
        skip += 1
        lines = _first_filled_lines(text, skip)
    if separator not in SEPARATORS:
        separator = _likeliest_separator(_lines_of_table(lines))
    layout = Layout(
        form=Form.DELIMITED, names=(), encoding=encoding, separator=separator, skip=skip
    )
    layout = replace(layout, escapes=_has_escapes(text, separator))
    # Quotation marks are settled first, then lines above the table, then names: each step needs
    # what was settled before.
    layout = replace(layout, quotes=_has_quotes(lines, layout))
    rows = _split_into_fields(lines, layout) or []
    _check_no_headings(text, lines, rows)
    title_count = _count_titles(rows)
    if title_count:
        layout = replace(layout, skip=_place_of_filled_line(text, skip, title_count))
    layout = replace(layout, header=_has_header(rows[title_count:]))
    recognised = _recognise_columns(text, layout)
    notes = recognised.notes
    if layout.quotes and layout.escapes:
        notes = ('A quotation mark behind a backslash, \\", is read as a part of its text.', *notes)
    if title_count:
        notes = (_note_of_titles(title_count, lines[0]), *notes)
    return replace(recognised, notes=notes)


def _lines_of_table(lines: Sequence[str]) -> Sequence[str]:
    """The lines without comments of a sparse matrix, which may be more than its entries."""
    if not lines[0].startswith(_MATRIX_MARKET):
        return lines
    return [line for line in lines if not line.startswith(_COMMENTS)] or lines


def _lines_of(text: str) -> Iterator[str]:
    """All lines, whatever their ends."""
    return io.StringIO(text, newline=None)


def _separator_in_first_line(line: str) -> str | None:
    """What follows 'sep=' in the first line, as Excel writes it; None for any other line."""
    match = _SEPARATOR_LINE.fullmatch(line)
    if match is None:
        return None
    # Nothing after 'sep=' stands for a tab, which is often lost at the end of a line.
    return match[1] or "\t"


def _note_of_titles(count: int, first_line: str) -> str:
    noun = "line is"
    if count > 1:
        noun = f"{count} lines are"
    return f"The first {noun} no part of the table: {first_line.strip()[:LONGEST_NAME]}."


def _has_escapes(text: str, separator: str) -> bool:
    """Whether a backslash stands before quotation marks within quoted fields, as Spark writes them.

    A field may end in a backslash, so that a mark between it and a separator tells nothing.
    """
    if '\\"' not in text:
        return False
    between = re.escape(separator)
    begin = rf'(?:^|{between})"(?:[^"\\]|\\[^"]|"")*'
    mark = rf'\\"(?!{between}|["\r\n]|\Z)'
    return re.search(begin + mark, text, re.MULTILINE) is not None


def _has_quotes(lines: Sequence[str], layout: Layout) -> bool:
    """Whether quotation marks enclose fields, as in '"Dr. No, 1962"', or are signs like any other.

    They are signs where one stays open, as an inch sign does, or where they would enclose whole
    rows: those from one inch sign to the next.
    """
    quoted_rows = _split_into_fields(lines, layout)
    if quoted_rows is None:  # A quotation mark is not closed.
        return False
    plain_rows = _split_into_fields(lines, replace(layout, quotes=False)) or []
    if len(plain_rows) == len(quoted_rows):  # No field in quotation marks has a line end in it.
        return True
    # Some field in quotation marks has line ends in it. Either the field is a text of several
    # lines, or the marks are signs and the lines between them are whole rows.
    usual_quoted = _usual_width(quoted_rows)
    usual_plain = _usual_width(plain_rows)
    if usual_plain.width < usual_quoted.width:
        # The lines are narrower than the rows, so that they are only parts of rows.
        return True
    plain_rows_agree = usual_plain.row_count >= _AGREEING_SHARE * len(plain_rows)
    lines_are_rows = plain_rows_agree and usual_plain.row_count > usual_quoted.row_count
    return not lines_are_rows


class _UsualWidth(NamedTuple):
    """The number of fields that most rows have."""

    width: int
    row_count: int
    """How many rows have it."""


def _usual_width(rows: Sequence[Sequence[str]]) -> _UsualWidth:
    (most_common,) = Counter(map(len, rows)).most_common(1)
    return _UsualWidth(*most_common)


def _check_no_headings(text: str, lines: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table with headings between its rows, such as '1:' or '17|9'. Raises: Unreadable.

    Args:
        text: The beginning of the file.
        lines: The first lines of the table.
        rows: Their fields.
    """
    if len(rows[0]) > 1 or _usual_width(rows).width < 2:
        # The separator cuts the first line, which is no heading then, or cuts no rows.
        return
    first_line = lines[0].strip()
    shape = _shape(first_line)
    is_with_colon = _HEADING.fullmatch(first_line) is not None
    number_of_heading: dict[str, int] = {}
    last_number = -1
    for number, line in enumerate(_lines_of(text), start=1):
        text_of_line = line.strip()
        is_alike = _shape(text_of_line) == shape or (
            is_with_colon and _HEADING.fullmatch(text_of_line)
        )
        if not is_alike:
            continue
        # Lines that follow each other are titles, and no headings of rows.
        if number - 1 != last_number:
            number_of_heading.setdefault(text_of_line, number)
        last_number = number
    if len(number_of_heading) > 1:
        (first, first_number), (second, second_number) = islice(number_of_heading.items(), 2)
        raise Unreadable(
            f"lines such as '{first}' in line {first_number:,} and '{second}' in line "
            f"{second_number:,} are headings of the rows below "
            "them; put each heading into a column of its rows"
        )


def _shape(line: str) -> str:
    """A line with its numbers as 0, so that 'user 7' and 'user 12' are alike."""
    return re.sub(r"\d+", "0", line)


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first lines are titles or comments, above the names or the first row.

    The line right above the first row of usual width can be the names of its columns, one more or
    less than these, as long as that row does not name them itself.

    Raises:
        Unreadable: For a sparse matrix without entries.
    """
    width = _usual_width(rows).width
    if width < 2:
        return 0
    if rows[0][0].startswith(_MATRIX_MARKET):
        # The first line below the comments has the numbers of rows, columns and entries.
        comments = list(takewhile(_is_comment, rows))
        if len(comments) + 1 >= len(rows):
            raise Unreadable("its first lines have no entry of the sparse matrix")
        return len(comments) + 1
    above_table = 0  # These lines have another width.
    while len(rows[above_table]) != width:
        above_table += 1
    table = rows[above_table:]
    if above_table and _can_be_names(rows[above_table - 1], width) and not _is_named(table):
        # The last of these lines names the columns, and is no title.
        return above_table - 1
    return above_table + _count_titles_of_full_width(table)


def _count_titles_of_full_width(table: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are titles with as many fields as the rows below the names.

    A spreadsheet fills its titles up with empty fields, and a comment may have commas. Any row is a
    title above one that says 'user' and 'item', or other words for columns.
    """
    for title_count, row in enumerate(table[:_MOST_TITLES]):
        role_names = list(filter(is_role_name, row))
        # Files may have been joined, each with its names.
        comes_again = row in table[title_count + 1 :]
        if len(role_names) > 1 and (comes_again or _is_named(table[title_count:])):
            return title_count
    # At least one row is no title.
    title_count = len(list(takewhile(_may_be_title, table[:-1])))
    is_named = _is_named(table[title_count:])
    if is_named or _are_comments_with_numbers(table, title_count):
        return title_count
    return 0


def _are_comments_with_numbers(table: Sequence[Sequence[str]], count: int) -> bool:
    """Whether the first rows, and no others, are comments, the first with numbers: no names."""
    are_comments = all(map(_is_comment, table[:count])) and not _is_comment(table[count])
    return count > 0 and are_comments and any(map(is_number, table[0]))


def _is_named(table: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns of rows below it.

    A word such as 'book' names none where it comes again, as in a column of kinds of products.
    """
    names = table[0]
    rows = table[1:]
    for place, name in enumerate(names):
        if is_role_name(name) and name.strip() in filled_values(rows, place):
            return False
    return len(rows) > 0 and _has_header(table)


def _may_be_title(fields: Sequence[str]) -> bool:
    """Whether a row is a comment or ends in an empty field, and does not name columns."""
    role_names = list(filter(is_role_name, fields))
    if len(role_names) > 1:
        return False
    return _is_comment(fields) or not fields[-1].strip()


def _is_comment(fields: Sequence[str]) -> bool:
    """Whether a line begins with the sign of a comment."""
    return fields[0].startswith(_COMMENTS)


def _can_be_names(fields: Sequence[str], width: int) -> bool:
    """Whether a line of another width than the rows can name their columns."""
    if _is_comment(fields):
        return False
    if len(fields) < width and sum(map(is_role_name, fields)) > 1:
        # Texts that have the separator in them make rows of more fields.
        return True
    return len(fields) > 1 and abs(len(fields) - width) == 1


def _place_of_filled_line(text: str, skip: int, number: int) -> int:
    """The place of a line among all lines, by its number from 0 among filled ones after `skip`."""
    filled_places = []
    for place, line in enumerate(_lines_of(text)):
        if place >= skip and line.strip():
            filled_places.append(place)
    return filled_places[number]


def _check_no_markup(text: str) -> None:
    """Refuse web pages, XML and JSON lists. Raises: Unreadable."""
    start = text.lstrip()
    if start.startswith("<"):
        raise Unreadable("it is a web page or XML, and not a table; save the table as CSV")
    if start.startswith("[") and start[1:].lstrip().startswith(("{", "[")):
        raise Unreadable(
            "it is one JSON list; write JSON lines instead, one object per line without commas "
            "between them"
        )


def _check_no_other_lines(lines: Sequence[str]) -> None:
    """Refuse lines of JSON below another line, and those of libSVM. Raises: Unreadable."""
    json_count = 0
    sparse_count = 0
    for line in map(str.strip, lines):
        if _is_json(line):
            json_count += 1
        elif _SPARSE_SAMPLE.fullmatch(line):
            sparse_count += 1
    if json_count * 2 > len(lines):
        raise Unreadable(
            "its lines are JSON, but not all of them are objects; write JSON lines alone, one "
            'object per line, such as {"user": "ann", "item": "42"}'
        )
    if sparse_count * 2 > len(lines):
        raise Unreadable(
            "its lines are numbers of features and their values, as libSVM and libFM have them; "
            "write a column for the user and one for the item"
        )


def _is_json(line: str) -> bool:
    """Whether a line is an object or a list of JSON, with or without a comma behind it."""
    try:
        value = json.loads(line.removesuffix(","))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list)


def _recognise_columns(text: str, layout: Layout) -> Recognised:
    """Columns and first rows of a text that is read so. Raises: Unreadable."""
    if layout.form is not Form.DELIMITED:
        return _recognise_json_lines(text, layout.encoding)
    rows = _split_into_fields(_first_filled_lines(text, layout.skip), layout)
    if rows is None:
        raise Unreadable("a quotation mark is not closed; read it without quotation marks")
    header = []
    body = rows
    if layout.header:
        header = rows[0]
        body = rows[1:]
    if not body:
        raise Unreadable("it has a first line, and no row below it")
    width = _usual_width(body).width
    check_limits(columns=width)
    fitting_rows = [tuple(row) for row in body if len(row) == width]
    _check_names_fit(header, fitting_rows, layout.separator)
    names = _column_names(header, fitting_rows)
    return with_guesses(replace(layout, names=names), fitting_rows[:SAMPLE])


def _check_names_fit(header: Sequence[str], rows: Sequence[Row], separator: str) -> None:
    """Refuse rows that have more fields than columns have names. Raises: Unreadable.

    One more is right where R wrote the table, whose names of rows all differ, and any number where
    every row ends with a separator. Between aligned columns, rows with fewer may lack any of them.
    """
    width = len(rows[0])
    if not header or _end_with_separator(rows):
        return
    row_names = {row[0] for row in rows}
    if len(header) == width - 1 and len(row_names) == len(rows):
        return
    numbers = f"its first line names {len(header)} columns, but its rows have {width} fields; "
    if separator == SPACES and len(header) != width:
        raise Unreadable(
            f"{numbers}save it with tabs or commas between the columns, so that texts may have "
            "spaces and values may be missing"
        )
    if len(header) < width:
        raise Unreadable(
            f"{numbers}put texts that have the separator in them between quotation marks, and "
            "double those within"
        )


def _end_with_separator(rows: Sequence[Row]) -> bool:
    return all(row[-1] == "" for row in rows)


def _column_names(header: Sequence[str], rows: Sequence[Row]) -> Row:
    """A name for each column; some writers name not the first one, or end rows with a separator.

    Args:
        header: The fields of the first line that names columns; empty where none does.
        rows: At least one, all of one width.
    """
    width = len(rows[0])
    header_names = [name.strip()[:LONGEST_NAME] for name in header]
    # If every row ends with a separator, its last column is empty and has no name. Otherwise one
    # name less than columns means that R wrote the table: its first column, of row names, has none.
    if len(header_names) == width - 1 and not _end_with_separator(rows):
        header_names.insert(0, "")
    names = list(default_names(width))
    for place, name in enumerate(header_names[:width]):
        if name:
            names[place] = name
    return tuple(names)


def _likeliest_separator(lines: Sequence[str]) -> str:
    """The separator that cuts most lines into the same number of fields, and that into many.

    The first line counts less: its row may be one name short, or be cut by none but the separator.
    """
    qualities = {separator: _separator_quality(separator, lines) for separator in SEPARATORS}
    # A space stands in texts as well, so it is one only where no other character fits.
    quality_of_space = qualities.pop(" ")
    quality_of_spaces = qualities.pop(SPACES)
    # The best separator fits. Where several fit, it also cuts the first line, and where several do
    # so, it gives the most columns.
    best_separator, best_quality = max(qualities.items(), key=itemgetter(1))
    if best_quality.fits:
        return best_separator
    are_aligned = any(SPACES in line.strip() for line in lines)
    agree_better = quality_of_spaces.row_count >= quality_of_space.row_count
    if quality_of_spaces.fits and are_aligned and agree_better:
        return SPACES
    if quality_of_space.fits:
        return " "
    return best_separator


class _Quality(NamedTuple):
    """How well a separator cuts lines; a greater one is better."""

    fits: bool
    """Whether it cuts most lines into the same number of fields, at least two."""
    cuts_first_line: bool
    width: int
    """That number of fields; 0 where it does not fit."""
    row_count: int
    """How many of all lines have as many."""


def _separator_quality(separator: str, lines: Sequence[str]) -> _Quality:
    """How well a separator cuts lines; with quoted fields where they are closed."""
    escapes = _has_escapes("".join(lines), separator)
    layout = Layout(form=Form.DELIMITED, names=(), separator=separator, escapes=escapes)
    rows = _split_into_fields(lines, layout)
    if not rows:
        rows = _split_into_fields(lines, replace(layout, quotes=False))
    if not rows:
        return _Quality(fits=False, cuts_first_line=False, width=0, row_count=0)
    body = rows[1:] or rows
    usual = _usual_width(body)
    # A title above the table, or a text with the sign in it, may make some lines another width.
    fits = usual.width > 1 and usual.row_count >= 0.8 * len(body)
    cuts_first_line = len(rows[0]) > 1
    if not fits:
        return _Quality(fits=False, cuts_first_line=cuts_first_line, width=0, row_count=0)
    row_count = sum(len(row) == usual.width for row in rows)
    return _Quality(
        fits=True, cuts_first_line=cuts_first_line, width=usual.width, row_count=row_count
    )


def _split_into_fields(lines: Sequence[str], layout: Layout) -> list[list[str]] | None:
    """Rows of fields; None where a quotation mark is not closed, or a field is endless."""
    rows = []
    try:
        for row in rows_of_fields(lines, layout):
            # A field that has more than half of the sampled lines in it begins with a quotation
            # mark that nobody closed.
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
    if _has_role_names(rows):
        return True
    # If only the first line begins like a comment, such as '#user item', it names columns. If the
    # next line does so too, the character is a part of the values.
    if _is_comment(rows[0]) and len(rows) > 1:
        return not _is_comment(rows[1])
    if _are_numbers_of_columns(rows):
        return True
    if any(is_number(name) for name in rows[0]):
        return False
    for place, name in enumerate(rows[0]):
        values = filled_values(rows[1:], place)
        if _have_another_kind(values, name):
            return True
    return False


def _are_numbers_of_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has 0, 1, 2 and so on, as pandas calls columns without names.

    A row of the user 0 and the item 1 is none: below it are other numbers as small.
    """
    names = list(map(str.strip, rows[0]))
    numbers = list(map(str, range(len(names))))
    if names == ["", *numbers[:-1]]:  # The column of pandas' index has no name.
        return len(names) > 2
    if names != numbers:
        return False
    for place in range(len(names)):
        values = filled_values(rows[1:], place)
        if values and not any(map(_SMALL_NUMBER.fullmatch, values)):
            return True
    return False


def _has_role_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has words such as 'user' that name columns, and are no values.

    A single word may be a value, as 'book' is in a column of kinds of products: where a number
    stands beside it, and no numbers below it, or where it comes again in another row.
    """
    names = rows[0]
    places = [place for place, name in enumerate(names) if is_role_name(name)]
    if len(places) != 1:
        return len(places) > 1
    (place,) = places
    if any(map(is_number, names)):
        return _have_another_kind(filled_values(rows[1:], place), names[place])
    other_rows = []
    for row in rows:
        if row != names:  # Files may have been joined, each with its names.
            other_rows.append(row)
    return names[place].strip() not in filled_values(other_rows, place)


def _have_another_kind(values: Sequence[str], word: str) -> bool:
    """Whether values are numbers, or dates below a word that is none; the word is no number."""
    if not values:
        return False
    numbers = list(filter(is_number, values))
    if len(numbers) > NEARLY_ALL * len(values):
        # The callers have made sure that the word itself is no number.
        return True
    return are_dates(values) and not are_dates([word])


def _recognise_json_lines(text: str, encoding: str) -> Recognised:
    """What a file is that has a JSON object in each line: its fields are the columns.

    Raises:
        Unreadable: Where no line is an object, or a field has lists in place of users or items.
    """
    # A line that is no object is left out.
    records = []
    for line in _first_filled_lines(text)[:SAMPLE]:
        record = json_object(line)
        if record is not None:
            records.append(flattened(record))
    if not records:
        raise Unreadable(
            "it begins like JSON, but none of its first lines is an object; write JSON lines, one "
            'object per line, such as {"user": "ann", "item": "42"}'
        )
    names = _field_names(records)
    check_limits(columns=len(names))
    rows = []
    for record in records:
        # A record may lack some of the fields, and then has an empty text there.
        rows.append(tuple(as_text(record.get(name)) or "" for name in names))
    layout = Layout(form=Form.JSON_LINES, names=names, encoding=encoding)
    recognised = with_guesses(layout, rows)
    # A list in a field is no user and no item.
    for name in names:
        if any(isinstance(record.get(name), list) for record in records):
            _check_has_users_and_items(recognised, name)
    return recognised


def _field_names(records: Sequence[Mapping[str, object]]) -> Row:
    """The names of the fields of objects, in the order in which they appear.

    Of a field that holds a value in some objects and an object in others only the value has a name.
    """
    # A dict keeps the order in which names appear, which a set would not.
    every_name: dict[str, None] = {}
    for record in records:
        every_name.update(dict.fromkeys(record))
    names = []
    for name in every_name:
        # 'user.id' is a field of an object 'user'; where 'user' also holds values, it is left out.
        object_name = name.rpartition(".")[0]
        if len(name) <= LONGEST_NAME and object_name not in every_name:
            names.append(name)
    return tuple(names)


def _check_has_users_and_items(recognised: Recognised, name_of_lists: str) -> None:
    """Refuse a file with a field of lists where they are its users or items. Raises: Unreadable.

    A column of lists is read as an empty one. Lists elsewhere in the file do no harm: a field
    'items' does where no other one is called so.
    """
    layout = recognised.layout
    item = layout.column("item_id")
    lists_are_items = (
        item is not None and says_item(name_of_lists) and not says_item(layout.names[item])
    )
    lacks_users_or_items = bool(layout.missing)
    for role, place in layout.roles:
        if role in ("user_id", "item_id") and not any(_column(recognised, place)):
            lacks_users_or_items = True
    if lists_are_items or lacks_users_or_items:
        raise Unreadable(_lists_sentence(f"'{name_of_lists}'"))


def first_rows_sentences(recognition: Recognised) -> list[str]:
    """What of the first rows is read as rating and time, and how; a sentence each."""
    layout = recognition.layout
    count = len(recognition.rows)
    sentences = list(recognition.notes)
    rating = layout.column("rating")
    if rating is not None:
        rating_count = _count_readable(_column(recognition, rating), "rating", layout)
        sentences.append(f"{rating_count} of the first {count} rows have a rating.")
        sentences += _thousands_sentences(_column(recognition, rating), layout)
    timestamp = layout.column("timestamp")
    unread_times: dict[int, str] = {}
    if timestamp is None:
        unread_times = _unread_times(recognition)
        sentences += unread_times.values()
    else:
        values = _column(recognition, timestamp)
        sentences.append(_times_sentence(values, layout.unit))
        fitting_orders = date_orders(values).orders
        if layout.unit in fitting_orders and len(fitting_orders) > 1:
            sentences.append(
                "These dates fit both day first and month first: check which one is right."
            )
    sentences += _returns_sentences(recognition)
    told_places = (*unread_times, *recognition.given_up)
    return sentences + _unused_sentences(layout, told_places)


def _thousands_sentences(ratings: Sequence[str], layout: Layout) -> list[str]:
    """A sentence where what is read as decimals may be thousands: all have three; none for none."""
    decimals = list(filter(_DECIMAL_SIGN.search, ratings))
    if not decimals or not all(map(_MAY_BE_THOUSAND.fullmatch, decimals)):
        return []
    (number,) = read_ratings(pa.array(decimals[:1]), decimal_comma=layout.decimal_comma)
    return [
        f"{decimals[0]} is read as {number:g}: if it is more than a thousand, write thousands "
        "without a sign between them."
    ]


def _unused_sentences(layout: Layout, told_places: Container[int]) -> list[str]:
    """A sentence that names the columns that are not used; none for none.

    Args:
        layout: How the file is read.
        told_places: Of columns of which that is told already.
    """
    if layout.column("target") is not None:
        # All columns beside a target are used, as features.
        return []
    used_places = [place for _, place in layout.columns_to_read]
    unused = []
    for place, name in enumerate(layout.names):
        if place not in used_places and place not in told_places:
            unused.append(name)
    if not unused:
        return []
    words = listed(unused)
    if len(unused) > _MOST_NAMED:
        words = f"{listed(unused[:_MOST_NAMED])} and {len(unused) - _MOST_NAMED} more"
    if len(unused) == 1:
        return [f"The column {words} is not used."]
    return [f"These columns are not used: {words}."]


def _returns_sentences(recognition: Recognised) -> list[str]:
    """A sentence for each column of ratings or quantities that is 0 or less in some rows."""
    layout = recognition.layout
    sentences = []
    for place, count in rows_not_above_zero(recognition).items():
        name = layout.names[place]
        sentence = f"{count} of the first {len(recognition.rows)} rows have a {name} of 0 or less"
        if layout.above_zero == place:
            sentences.append(f"{sentence}: they are left out.")
        else:
            sentences.append(
                f"{sentence}, as returns have. Algorithms that rank items "
                "treat every row as a sign that the user likes the item."
            )
    return sentences


def rows_not_above_zero(recognition: Recognised) -> dict[int, int]:
    """The columns of ratings or quantities -> how many of the first rows are 0 or less there.

    Columns without such rows are not among them.
    """
    layout = recognition.layout
    counts = {}
    for place, name in enumerate(layout.names):
        if place != layout.column("rating") and not says_quantity(name):
            continue
        values = pa.array(_column(recognition, place), pa.string())
        numbers = read_numbers(values, decimal_comma=layout.decimal_comma)
        count = int(np.count_nonzero(numbers <= 0))
        if count:
            counts[place] = count
    return counts


def _unread_times(recognition: Recognised) -> dict[int, str]:
    """A sentence for the place of each column that is called a date, and is not read as one."""
    sentences = {}
    places_with_role = [place for _, place in recognition.layout.roles]
    for place, name in enumerate(recognition.layout.names):
        if place in places_with_role or not says_time(name):
            continue
        values = list(filter(None, _column(recognition, place)))
        if values:
            sentences[place] = (
                f"The column {name} is not read as a time, because it begins with {values[0]}."
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
