"""What a command prints -> a power or an energy: of one device, or of several, a line each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_UNITS = {
    "W": ("W", 1.0),
    "mW": ("W", 1e-3),
    "kW": ("W", 1e3),
    "J": ("J", 1.0),
    "mJ": ("J", 1e-3),
    "kJ": ("J", 1e3),
    "MJ": ("J", 1e6),
    "mWh": ("J", 3.6),
    "Wh": ("J", 3.6e3),
    "kWh": ("J", 3.6e6),
}
"""A unit as it is printed -> watts or joules, and how many of them it is."""
_WORDS = {"w": "W", "watt": "W", "watts": "W", "j": "J", "joule": "J", "joules": "J"}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)")
_UNITS_OF_HEADINGS = {"mw": "mW", "kw": "kW", "kj": "kJ", "mwh": "mWh", "wh": "Wh", "kwh": "kWh"}
"""Units as they stand in headings such as 'power_mw'; 'mj' may be one of two."""
_WORDS_OF_OTHER_UNITS = re.compile(r"joule|energy|milli|micro|kilo|mega|^[numkMG\u00b5]?(W|J|Wh)$")
"""What says in a heading that its numbers may be no watts."""
_OF_SEVERAL = re.compile(r"(sum|total|avg|average|mean|min|max|all)\b.*", re.IGNORECASE)
"""Of a cell that says that its line is of several devices, or of several moments."""
_UNIT_OF_COLUMN = re.compile(r".*[\[(]\s*([A-Za-z]+)\s*[\])]\s*")
"""'power.draw [W]', as nvidia-smi heads a column."""
_NO_VALUE = re.compile(
    r"\[?(n/?a|nan|none|null|unknown( error)?|not supported|err!?|-+|\?+)\]?", re.IGNORECASE
)
"""What programs print in place of a value that they do not have."""


@dataclass(frozen=True)
class Printed:
    """A power or an energy, the sum where several devices have one each."""

    value: float
    unit: str
    """'W' or 'J'."""
    devices: int = 1
    """Lines that were added up."""


def printed_reading(text: str) -> Printed:
    """The power or the energy in what a command prints.

    Lines without a number and a unit before the first value are a header. After it each line is
    the value of one device: a number, perhaps with its unit (`47.3`, `47.3 W`, `12 Wh`), or cells
    of which one is such a value (`0, NVIDIA A100, 120.50 W`). Without a unit it is that of the
    header (`power.draw [mW]`), or else watts. Values of several devices are added up.

    Raises:
        ValueError: For what is no power and no energy, or not one per line, with what it is.
    """
    lines = []
    for line in text.splitlines():
        if line.strip():
            lines.append(line.strip())
    readings = _readings_of(lines)
    units = {reading.unit for reading in readings}
    if len(units) > 1:
        raise ValueError("it prints both watts and joules; print only one of them")
    value = 0.0
    for reading in readings:
        if reading.value < 0 or math.isinf(reading.value):
            raise ValueError(f"it says {reading.value} {reading.unit}")
        value += reading.value
    return Printed(value, units.pop(), len(readings))


def _readings_of(lines: list[str]) -> list[Printed]:
    """The reading of each line below the header; at least one. Raises: ValueError."""
    header_cells: list[str] = []
    readings = []
    for line in lines:
        reading = _reading_of(line, header_cells)
        if reading is not None:
            readings.append(reading)
        elif readings or _may_be_a_device(line):
            # A device whose value is missing must not pass for a header: the sum would lack it.
            raise ValueError(f"it prints '{line[:40]}', which is no power and no energy")
        else:
            header_cells = _cells(line)
    if len(readings) > 1:
        # Otherwise a printed total would be added to the devices whose total it is.
        _check_no_sum(lines)
    if not readings:
        last_line = ""
        if lines:
            last_line = lines[-1]
        raise ValueError(f"it prints '{last_line[:40]}', not watts or joules such as 47.3 W")
    return readings


_DECIMAL_COMMA = re.compile(
    r"""(?<![A-Za-z\d_.])
    (\d+,\d  # 47,3
    |[1-9]\d{0,2}(\.\d{3})+,\d+(?![\d.]))  # 1.047,3, but not the two values 1.047,47.3
    """,
    re.VERBOSE,
)


def _reading_of(line: str, header_cells: list[str]) -> Printed | None:
    """The only power or energy of a line; None where it has none.

    Args:
        line: The line that was printed.
        header_cells: Those of the line above the values.

    Raises:
        ValueError: For several, or for a number that may be read in two ways.
    """
    if _DECIMAL_COMMA.search(line):
        raise ValueError(
            f"it prints '{line[:40]}', which may be a decimal comma or two values; print a point"
        )
    cells = _cells(line)
    headings = [""] * len(cells)
    if len(header_cells) == len(cells):
        headings = header_cells
    readings = []
    for cell, heading in zip(cells, headings, strict=True):
        reading = _reading_of_cell(cell, heading, is_only_cell=len(cells) == 1)
        if reading is not None:
            readings.append(reading)
    if len(readings) > 1:
        raise ValueError(
            f"it prints '{line[:40]}', {len(readings)} powers or energies in a line; print one "
            "a line"
        )
    if not readings:
        return None
    return readings[0]


def _reading_of_cell(cell: str, heading: str, *, is_only_cell: bool) -> Printed | None:
    """The power or energy in a cell; a number without a unit has that of its column.

    Args:
        cell: The cell of a line.
        heading: The heading of its column; may be empty.
        is_only_cell: Whether it is the only one of its line, which without any unit is of watts.
    """
    match = _VALUE.fullmatch(cell)
    if match is None:
        return None
    number, printed_unit = match.groups()
    if printed_unit:
        unit = _unit(printed_unit)
    else:
        unit = _unit_of_column(heading)
        if unit is None and _WORDS_OF_OTHER_UNITS.search(heading):
            raise ValueError(
                f"it prints '{cell}' below '{heading[:40]}', and the unit is not known; print it "
                "with the number, such as 47.3 W"
            )
        if unit is None and is_only_cell:  # A number alone in its line is a power.
            unit = "W"
    if unit is None:
        # The number is of something else, such as a temperature.
        return None
    watts_or_joules, factor = _UNITS[unit]
    return Printed(float(number) * factor, watts_or_joules)


def _cells(line: str) -> list[str]:
    """The cells of a line of a table, in whichever way they are separated."""
    return [cell.strip() for cell in re.split(r"[,;\t|]", line)]


def _unit(name: str) -> str | None:
    """The unit of this name; None where it is none of a power or an energy."""
    if name in _UNITS:
        return name
    return _WORDS.get(name.lower())


def _unit_of_column(heading: str) -> str | None:
    """The unit that a heading says: 'power.draw [mW]', 'power_mw', 'kWh'; None for others."""
    match = _UNIT_OF_COLUMN.fullmatch(heading)
    if match is not None:
        return _unit(match[1])
    words = re.findall(r"[A-Za-z]+", heading)
    if not words:
        return None
    return _unit(words[-1]) or _UNITS_OF_HEADINGS.get(words[-1].lower())


def _check_no_sum(lines: list[str]) -> None:
    """Refuse a line of a sum or a mean beside those of devices. Raises: ValueError."""
    for line in lines:
        if any(_OF_SEVERAL.fullmatch(cell) for cell in _cells(line)[:-1]):
            raise ValueError(
                f"it prints '{line[:40]}' beside the values of devices; print either of them"
            )


def _may_be_a_device(line: str) -> bool:
    """Whether a line above the values may be of a device, so that it is no header."""
    if any(_NO_VALUE.fullmatch(cell) for cell in _cells(line)):
        return True
    values = re.findall(rf"({_NUMBER})\s*([A-Za-z]+)", line)
    return any(_unit(name) is not None for _, name in values)
