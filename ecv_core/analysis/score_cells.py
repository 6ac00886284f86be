"""Scores with something beside the number, such as '31.9 %' and '0.81 ± 0.02', as numbers."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from ecv_core.analysis.score_columns import SCORE, names_row_numbers, roles_of
from ecv_core.analysis.score_tables import is_number, is_text, is_whole, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

_CELL = re.compile(
    r"""\s*(?P<number>[-+]?(?:\d+(?:[.,]\d+)?|\.\d+)(?:e[-+]?\d+)?)
    \s*%?
    \s*(?P<spread>(?:±|\+/?-|\\pm)\s*[\d.,e-]+|\(\s*(?:±|\+/?-)?\s*[\d.,e-]+\s*%?\s*\))?
    \s*%?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A score, perhaps with a spread behind it, perhaps in per cent."""


_PARAMETERS = re.compile(r"params?[_.].*|params")
"""The columns in which a search keeps its parameters."""
_WHOLE = re.compile(r"\s*[-+]?\d+\s*")
_MAY_HAVE_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:[.,]\d{3}|\d*)\s*")
"""A whole number, or one such as '1,001', whose sign may be of thousands."""
_MAY_BE_LIST = re.compile(r"\s*[1-9]\d*,\d+\s*")
"""A number such as '1,2', which may also be two, as of layers or n-grams."""


class _ScoreCell(NamedTuple):
    text: str
    score: float
    """Divided by 100 where it is in per cent."""
    in_percent: bool
    has_spread: bool


class ParsedScores(NamedTuple):
    """A table whose scores are numbers alone, and what stood beside them."""

    table: pa.Table
    cells: list[_ScoreCell]
    """All that were made numbers, column by column."""

    @property
    def percent_example(self) -> str:
        """The first cell in per cent; empty where there is none."""
        return next((cell.text for cell in self.cells if cell.in_percent), "")

    @property
    def spread_example(self) -> str:
        """The first cell with a spread behind its score; empty where there is none."""
        return next((cell.text for cell in self.cells if cell.has_spread), "")


def parse_score_texts(table: pa.Table, *, is_delimited: bool) -> ParsedScores:
    """Make numbers of the columns in which every cell is one with a percent sign or a spread.

    A share in per cent is divided by 100; a spread is left out. A column in which some cells have a
    percent sign and others have none stays as it is, for nobody knows what the others are. So does,
    beside scores with a decimal point, a column of '1,2', which may be a list.

    Args:
        table: As `table_of` gives it.
        is_delimited: As of `FileTable`.
    """
    import pyarrow as pa

    roles = roles_of(table.column_names)
    label_columns = [name for role, name in roles.items() if role != SCORE]
    has_points = _has_fractions(table.drop_columns(label_columns))
    parsed_cells = []
    for index, name in enumerate(table.column_names):
        if not is_text(table, name) or name in label_columns or names_row_numbers(name):
            continue
        if _PARAMETERS.fullmatch(name):  # A parameter such as '1,2' of n-grams is no 1.2.
            continue
        texts = texts_of(table, name)
        cells = _parse_column(texts, is_delimited=is_delimited, has_points=has_points)
        if not cells:  # some text is no score, so that the column stays as it is
            continue
        numbers = pa.array([cell.score for cell in cells], pa.float64())
        table = table.set_column(index, name, numbers)
        parsed_cells += cells
    return ParsedScores(table, parsed_cells)


def _has_fractions(table: pa.Table) -> bool:
    """Whether a column of numbers has decimals."""
    for name in table.column_names:
        if is_number(table, name) and not is_whole(table, name):
            for number in table[name].to_pylist():
                if number is not None and math.isfinite(number) and number != math.floor(number):
                    return True
    return False


def _is_unclear(texts: list[str], *, is_delimited: bool, has_points: bool) -> bool:
    """Whether nobody knows what the commas, or points, of a column are.

    Args:
        texts: The cells of the column.
        is_delimited: As of `parse_score_texts`.
        has_points: Whether decimals are behind a point in other columns.
    """
    # If other numbers have a decimal point, '1,2' may be a list of two numbers.
    if is_delimited and has_points and all(map(_MAY_BE_LIST.fullmatch, texts)):
        return True
    # A table that is no text file was written by a program, whose decimal sign is a point. So
    # numbers with points and no commas are clear.
    if not is_delimited and "," not in "".join(texts):
        return False
    all_are_whole = all(map(_WHOLE.fullmatch, texts))
    # '1,001' may be a thousand and one, or one and a thousandth.
    return not all_are_whole and all(map(_MAY_HAVE_THOUSANDS.fullmatch, texts))


def _parse_column(texts: list[str], *, is_delimited: bool, has_points: bool) -> list[_ScoreCell]:
    """The cells of a column of scores; none for any other.

    None has a text that is no number or an unclear one, or cells of which some alone are in per
    cent. Arguments are as of `_is_unclear`.
    """
    if _is_unclear(texts, is_delimited=is_delimited, has_points=has_points):
        return []
    cells: list[_ScoreCell] = []
    for text in texts:
        match = _CELL.fullmatch(text)
        if match is None:
            return []
        score = float(match["number"].replace(",", "."))
        in_percent = "%" in text
        if in_percent:
            score /= 100
        if cells and cells[0].in_percent != in_percent:
            return []  # whether the cells without a percent sign are in per cent is not known
        has_spread = match["spread"] is not None
        cells.append(_ScoreCell(text.strip(), score, in_percent, has_spread))
    return cells
