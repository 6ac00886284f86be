"""How a file is to be read: what is known, or recognised, and what its owner corrects."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from ecv_core.records.errors import InputError, UnknownName

ROLES = ("user_id", "item_id", "rating", "timestamp", "basket", "cluster", "target")
"""What a column can be: the first two are needed, or the last one alone, of a table of samples."""
OPTIONS = {role: f"--{role.removesuffix('_id')}" for role in ROLES}
"""Of the command line, by role."""
ROLE_WORDS = {
    "user_id": "user",
    "item_id": "item",
    "rating": "rating",
    "timestamp": "time",
    "basket": "basket",
    "cluster": "cluster",
    "target": "target",
}
"""What a column is, in words."""
SPACES = "  "
"""Stands for one space or more, as between columns that are aligned."""
SEPARATORS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "vertical bar",
    "::": "double colon",
    " ": "space",
    SPACES: "spaces",
}
ONE_CHARACTER = "\x1f"
"""ASCII's unit separator; stands for a separator of two characters, which parsers cannot take."""
_QUOTED_OR_SPACES = re.compile(rb'("[^"\r\n]*")| +')
_ESCAPED_MARK = re.compile(rb'(?<!\\)((?:\\\\)*)\\"')
"""A quotation mark behind a backslash that is not itself behind one."""
ENCODINGS = {
    "utf-8": "UTF-8",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1 (ISO 8859-1)",
    "utf-16": "UTF-16",
}


ABOVE_ZERO = "amount"
"""Stands for the role of a column without one, of which rows of 0 or less are left out."""


class Unreadable(Exception):
    """Why a file cannot be used, as half a sentence; callers add the file and the way out."""


NONE = "none"
"""On the command line: no column has this role."""


class Form(StrEnum):
    """What kind of file it is."""

    DELIMITED = "delimited text"
    JSON_LINES = "JSON lines"
    PARQUET = "Parquet"


class TimeUnit(StrEnum):
    """How timestamps are written."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    EXCEL_DAYS = "excel-days"
    ISO = "iso"
    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


UNITS_A_SECOND = {
    TimeUnit.SECONDS: 1,
    TimeUnit.MILLISECONDS: 10**3,
    TimeUnit.MICROSECONDS: 10**6,
    TimeUnit.NANOSECONDS: 10**9,
}
"""How many of a unit are a second, of those that count from 1970; coarsest first."""
UNIT_TEXTS = {
    TimeUnit.SECONDS: "seconds since 1970",
    TimeUnit.MILLISECONDS: "milliseconds since 1970",
    TimeUnit.MICROSECONDS: "microseconds since 1970",
    TimeUnit.NANOSECONDS: "nanoseconds since 1970",
    TimeUnit.EXCEL_DAYS: "days since 1899, as Excel counts them",
    TimeUnit.ISO: "dates such as 2023-01-22",
    TimeUnit.DAY_FIRST: "dates, day first: 22.01.2023",
    TimeUnit.MONTH_FIRST: "dates, month first: 01/22/2023",
}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the file is read. `names` has every column; a role is a place in it, from 0."""

    form: Form
    names: tuple[str, ...]
    roles: tuple[tuple[str, int], ...] = ()
    """(role, column), in the order of ROLES, each column once."""
    unit: TimeUnit = TimeUnit.SECONDS
    encoding: str = "utf-8"
    """Of text; any of ENCODINGS."""
    separator: str = ","
    """Of delimited text; any of SEPARATORS."""
    header: bool = True
    """Whether the first line of delimited text names the columns."""
    quotes: bool = True
    """Whether a field may stand in quotation marks, which are then no part of it."""
    escapes: bool = False
    """Whether a quotation mark in such a field stands behind a backslash, and is not doubled."""
    words_are_missing: bool = False
    """Whether NULL, NA and the like are no ids, as in files of which nobody says what they hold."""
    above_zero: int | None = None
    """The column of which rows of 0 or less are left out: returns, or ratings that are none."""
    without_bots: bool = False
    """Whether users are left out who have so many rows that they are hardly people."""
    skip: int = 0
    """Lines before the table that are none of it: blank ones, and Excel's 'sep=;'."""

    def column(self, role: str) -> int | None:
        """The place of the column with this role; None where there is none."""
        return dict(self.roles).get(role)

    @property
    def columns_to_read(self) -> tuple[tuple[str, int], ...]:
        """(role, column) of those with a role, and (ABOVE_ZERO, column) of one without."""
        # A column without a role is read too if rows of 0 or less in it are left out.
        places = [place for _, place in self.roles]
        if self.above_zero is None or self.above_zero in places:
            return self.roles
        return (*self.roles, (ABOVE_ZERO, self.above_zero))

    @property
    def decimal_comma(self) -> bool:
        """Whether '1,234' is less than two: no comma separates the columns."""
        return self.separator != ","

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed roles that no column has."""
        if self.column("target") is not None:
            return ()
        return tuple(role for role in ROLES[:2] if self.column(role) is None)

    def with_roles(self, roles: Mapping[str, int | None]) -> Layout:
        """The same file with other columns for these roles; None takes a role away.

        A column that is given a new role loses the one that it had. With a target no other column
        has a role: all of them are learnt from.
        """
        new_roles = {role: place for role, place in roles.items() if place is not None}
        if "target" in new_roles:
            # The file is a table of samples, whose other columns are features.
            return replace(self, roles=(("target", new_roles["target"]),))
        if len(set(new_roles.values())) < len(new_roles):
            raise InputError(
                "a column can be only one of user, item, rating, time, basket and cluster"
            )
        for role, place in self.roles:
            if role not in roles and place not in new_roles.values():
                new_roles[role] = place
        return replace(self, roles=in_order(new_roles))

    def place(self, column: str) -> int:
        """The column that somebody names: by its name, whatever its case, or its number from 1.

        Raises:
            UnknownName.
        """
        if column in self.names:
            return self.names.index(column)
        lower_names = [name.lower() for name in self.names]
        if lower_names.count(column.lower()) == 1:
            return lower_names.index(column.lower())
        numbers = list(map(str, range(1, len(self.names) + 1)))
        number = column.lstrip("0")
        if number in numbers:
            return numbers.index(number)
        # The sentence shows the beginning of what somebody asked for, and the first columns.
        raise UnknownName("column", column[:100], self.names[:20])


def rows_of_fields(lines: Sequence[str], layout: Layout) -> Iterator[list[str]]:
    """The fields of delimited text, row by row; what is iterated over raises csv.Error."""
    separator = layout.separator
    if is_rewritten(layout):
        lines = [rewritten_lines(line.encode(), layout).decode() for line in lines]
    if len(separator) > 1:
        separator = ONE_CHARACTER
    quoting: Literal[0, 3] = csv.QUOTE_NONE
    if layout.quotes:
        quoting = csv.QUOTE_MINIMAL
    return csv.reader(lines, delimiter=separator, quoting=quoting)


def is_rewritten(layout: Layout) -> bool:
    """Whether parsers cannot take the lines as they are."""
    return len(layout.separator) > 1 or (layout.quotes and layout.escapes)


def rewritten_lines(lines: bytes, layout: Layout) -> bytes:
    """Whole lines as parsers take them: one character between fields, and marks doubled."""
    lines = with_doubled_marks(lines, layout)
    if layout.separator == SPACES:
        return _with_single_separators(lines, has_quoted_texts=layout.quotes and b'"' in lines)
    if len(layout.separator) > 1:
        lines = lines.replace(layout.separator.encode(), ONE_CHARACTER.encode())
    return lines


def _with_single_separators(lines: bytes, *, has_quoted_texts: bool) -> bytes:
    """Lines of aligned columns with one character between fields, and none around them."""
    separator = ONE_CHARACTER.encode()
    if has_quoted_texts:
        lines = _QUOTED_OR_SPACES.sub(_quoted_or_separator, lines)
    else:
        # Each pass halves the spaces in a row; a pattern would take longer.
        while b"  " in lines:
            lines = lines.replace(b"  ", b" ")
        lines = lines.replace(b" ", separator)
    for end in (b"\n", b"\r"):
        lines = lines.replace(separator + end, end).replace(end + separator, end)
    return lines.removeprefix(separator).removesuffix(separator)


def with_doubled_marks(lines: bytes, layout: Layout) -> bytes:
    """Lines in which two quotation marks stand for one within a text, and no backslash does."""
    if layout.quotes and layout.escapes:
        return _ESCAPED_MARK.sub(rb'\1""', lines)
    return lines


def _quoted_or_separator(match: re.Match[bytes]) -> bytes:
    """A quoted text as it is, and one character for the spaces between fields."""
    return match[1] or ONE_CHARACTER.encode()


def in_order(roles: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Roles and their columns, in the order of ROLES."""
    return tuple((role, roles[role]) for role in ROLES if role in roles)


def default_names(count: int) -> tuple[str, ...]:
    """Names for the columns of a file that names none."""
    return tuple(f"column {number}" for number in range(1, count + 1))
