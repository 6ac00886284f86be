"""Lines of delimited text -> how many there are, and which a quotation mark swallows."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ecv_core.dataset.layout import Layout, with_doubled_marks

_QUOTED = re.compile('"[^"]*"')
_LINE_FEED = 10
_CARRIAGE_RETURN = 13


class CountedLines(io.RawIOBase):
    """A file that counts its lines as it is read: those of the table with something in them."""

    def __init__(self, file: io.BufferedIOBase, layout: Layout) -> None:
        self._file = file
        self._code_unit: np.dtype[Any] = np.dtype("u1")
        if layout.encoding == "utf-16":
            self._code_unit = np.dtype("u2")
        self._last_read_ended_mid_line = False
        # Lines above the table are read and counted too, but are none of its lines.
        self.lines = -_filled_lines_above(file, layout)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, which are counted."""
        content = self._file.read(size)
        self._count(content)
        return content

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def _count(self, content: bytes) -> None:
        """Count lines where they begin: at a code unit that is no line end, after one that is."""
        # A last byte that is half of a code unit is no line end, and is not waited for.
        unit_bytes = self._code_unit.itemsize
        whole_units = len(content) // unit_bytes
        units = np.frombuffer(content[: whole_units * unit_bytes], self._code_unit)
        if not len(units):
            return
        is_in_line = (units != _LINE_FEED) & (units != _CARRIAGE_RETURN)
        was_in_line = np.concatenate([[self._last_read_ended_mid_line], is_in_line[:-1]])
        self.lines += int(np.count_nonzero(is_in_line & ~was_in_line))
        self._last_read_ended_mid_line = bool(is_in_line[-1])


def _filled_lines_above(file: io.BufferedIOBase, layout: Layout) -> int:
    """How many of the lines above the table have something in them; the file stays at its start."""
    if not layout.skip:
        return 0
    count = 0
    lines = _text(file, layout)
    for _ in range(layout.skip):
        if lines.readline().strip("\r\n\ufeff"):
            count += 1
    # Detached, the file stays open, and is read again from its start.
    lines.detach()
    file.seek(0)
    return count


def _text(file: io.BufferedIOBase, layout: Layout) -> io.TextIOWrapper[Any]:
    return io.TextIOWrapper(file, encoding=layout.encoding, errors="replace")


def find_swallowed_rows(file: io.BufferedIOBase, layout: Layout) -> Iterator[str]:
    """The lines within quoted fields that look like rows of the table.

    A field in quotation marks may hold line ends. Where a mark is not closed it holds whole rows:
    then most of its lines have as many separators as the table.
    """
    # A quotation mark that nobody closes makes one field of all lines up to the next mark.
    # The lines of the open field after its first one are kept until it is known whether they are
    # rows.
    lines_of_field = []
    is_field_open = False
    lines = _text(file, layout)
    for written_line in lines:
        line = with_doubled_marks(written_line.encode(), layout).decode()
        if is_field_open:
            closing_mark = _find_closing_mark(line)
            if closing_mark is None:
                lines_of_field.append(line)
                continue
            # What stands before the closing mark is the end of a row only if it has a separator.
            if layout.separator in line[:closing_mark]:
                lines_of_field.append(line)
            yield from _lines_like_rows(lines_of_field, layout)
            lines_of_field = []
        # Here no field is open, or this line has closed it. It may open another one that goes on
        # in the next line.
        if '"' in line:
            is_field_open = _ends_in_field(line, layout.separator, begins_in_field=is_field_open)
    lines.detach()  # The file stays open so.
    # A field without an end is no text, so all of its lines are rows.
    yield from lines_of_field


def _find_closing_mark(line: str) -> int | None:
    """Where the field that is open at the beginning of a line ends; None where it goes on."""
    place = line.find('"')
    while place >= 0:
        if not line.startswith('"', place + 1):
            return place
        # Two marks in a row stand for one mark in the text.
        place = line.find('"', place + 2)
    return None


def _lines_like_rows(lines_of_field: list[str], layout: Layout) -> list[str]:
    """The lines of a quoted field that look like rows, if most of them do; else none."""
    separators_of_row = len(layout.names) - 1
    rows = []
    for line in lines_of_field:
        # A field of the row may be quoted itself, with separators in it that are none.
        outside_of_marks = _QUOTED.sub("", line)
        counts = (line.count(layout.separator), outside_of_marks.count(layout.separator))
        if separators_of_row in counts:
            rows.append(line)
    if len(rows) * 2 <= len(lines_of_field):
        # The field is a text, in which some line has as many separators as a row by chance.
        return []
    return rows


def _ends_in_field(line: str, separator: str, *, begins_in_field: bool) -> bool:
    """Whether a line ends in a quoted field; one begins with a mark right after a separator."""
    is_in_field = begins_in_field
    while True:
        if not is_in_field and line.startswith('"'):
            is_in_field = True
            line = line[1:]
        if is_in_field:
            closing_mark = _find_closing_mark(line)
            if closing_mark is None:
                return True
            line = line[closing_mark + 1 :]
        # What is left of the field has no marks that count; the next one may open with one.
        _, has_next_field, line = line.partition(separator)
        if not has_next_field:
            return False
        is_in_field = False
