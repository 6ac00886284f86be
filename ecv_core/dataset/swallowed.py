"""Lines of delimited text -> how many there are, and which a quotation mark swallows."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from ecv_core.dataset.layout import Layout

_QUOTED = re.compile('"[^"]*"')
_LINE_FEED = 10
_CARRIAGE_RETURN = 13
_BEGINNING = 120
"""Characters of a line that are shown."""


class CountedLines(io.RawIOBase):
    """A file that counts its lines as it is read: those of the table with something in them."""

    def __init__(self, file: io.BufferedIOBase, layout: Layout) -> None:
        self._file = file
        self._code_unit: np.dtype[Any] = np.dtype("u1")
        if layout.encoding == "utf-16":
            self._code_unit = np.dtype("u2")
        self._in_line = False
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
        """Count each line where it begins: at a sign that is no line end, after one that is."""
        usable = len(content) // self._code_unit.itemsize * self._code_unit.itemsize
        signs = np.frombuffer(content[:usable], self._code_unit)
        if not len(signs):
            return
        in_line = (signs != _LINE_FEED) & (signs != _CARRIAGE_RETURN)
        begins = int(np.count_nonzero(in_line[1:] > in_line[:-1]))
        if in_line[0] and not self._in_line:
            begins += 1
        self._in_line = bool(in_line[-1])
        self.lines += begins


def _filled_lines_above(file: io.BufferedIOBase, layout: Layout) -> int:
    """How many of the lines above the table have something in them; the file stays at its start."""
    if not layout.skip:
        return 0
    count = 0
    lines = _text(file, layout)
    for _ in range(layout.skip):
        if lines.readline().strip("\r\n\ufeff"):
            count += 1
    lines.detach()
    file.seek(0)
    return count


def _text(file: io.BufferedIOBase, layout: Layout) -> io.TextIOWrapper[Any]:
    return io.TextIOWrapper(file, encoding=layout.encoding, errors="replace")


def swallowed_lines(file: io.BufferedIOBase, layout: Layout) -> list[str]:
    """The beginnings of lines within quoted fields that look like rows of the table.

    A field in quotation marks may hold line ends. Where a mark is not closed it holds whole rows:
    then most of its lines have as many separators as the table.
    """
    separator = layout.separator
    separators = len(layout.names) - 1
    swallowed: list[str] = []
    field_lines: list[str] = []  # the lines of the field that is open, after its first one
    is_open = False
    lines = _text(file, layout)
    for line in lines:
        if is_open:
            end = _closing_mark(line)
            # The last line of a field has a part of another row only with a separator in it.
            if end is None or separator in line[:end]:
                field_lines.append(line)
            if end is not None:
                swallowed += _rows_among(field_lines, separator, separators)
                field_lines = []
        if '"' in line:
            is_open = _ends_inside(line, separator, inside=is_open)
    lines.detach()
    # A field without an end is no text, so all of its lines are rows.
    swallowed += [line.strip()[:_BEGINNING] for line in field_lines]
    return swallowed


def _closing_mark(line: str) -> int | None:
    """Where the field that is open at the beginning of a line ends; None where it goes on."""
    place = line.find('"')
    while place >= 0:
        if not line.startswith('"', place + 1):
            return place
        place = line.find('"', place + 2)  # two of them are one that is a sign
    return None


def _rows_among(field: list[str], separator: str, separators: int) -> list[str]:
    """The beginnings of the lines of a quoted field, if most of them look like rows; else none."""
    rows = []
    for line in field:
        outside = _QUOTED.sub("", line)
        if separators in (line.count(separator), outside.count(separator)):
            rows.append(line)
    if len(rows) * 2 <= len(field):
        return []
    return [row.strip()[:_BEGINNING] for row in rows]


def _ends_inside(line: str, separator: str, *, inside: bool) -> bool:
    """Whether a line ends within quotation marks, which open at the beginning of a field alone."""
    while True:
        if not inside and line.startswith('"'):
            inside = True
            line = line[1:]
        if inside:
            mark = _closing_mark(line)
            if mark is None:
                return True
            line = line[mark + 1 :]
        # What is left of the field has no marks that count; the next one may open with one.
        _, has_next_field, line = line.partition(separator)
        if not has_next_field:
            return False
        inside = False
