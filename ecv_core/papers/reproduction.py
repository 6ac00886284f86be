"""Every table and figure of the five papers, cell by cell, beside what is recorded here.

`data/papers.toml` has what the papers print, and why a cell differs or is not to be had.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

import pandas as pd

from ecv_core.figures.words import titled
from ecv_core.papers.our_tables import OUR_TABLES
from ecv_core.records.errors import UnknownName
from ecv_core.records.places import SHIPPED

PICTURE = "?"
"""A printed cell of which the paper, or the text of it at hand, has a picture and no number."""
NO_CELL = "-"
NOT_HERE = "what was recorded of it is not on this machine; get data/recorded from the project"

Label = Literal["same", "differs", "not computed", "impossible"]
WITHOUT_OURS: tuple[Label, Label] = ("impossible", "not computed")
"""Labels of a cell that has no number of ours; the file says of each why, the first one first."""
Value = float | str


@dataclass(frozen=True, kw_only=True)
class PaperPart:
    """A table or figure of a paper, or a part of it, as the file has it."""

    paper: str
    table: str
    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[str]]
    """The cells of each row as printed, from left to right."""
    source: str
    """As of `PaperCell`."""
    our_table: str
    """Which of `OUR_TABLES` of the paper has our side; '' where nothing computes it."""
    our_words: Mapping[str, str]
    """Row -> our side in words, where it is an option and no number."""
    why_different: str
    """Why our numbers are others, where they are."""
    reasons: Mapping[Label, Mapping[str, str]]
    """Label without a number of ours -> the cells that it holds for, as a pattern -> why."""


@dataclass(frozen=True, kw_only=True)
class CellVerdict:
    """A printed value against ours."""

    label: Label
    by: str = ""
    """How far ours is from the paper's: 'by +0.155 (+9 %)'; '' where that is no number."""
    why: str = ""
    """Why it differs, or what it would take to compute it; '' where it is the same."""


@dataclass(frozen=True, kw_only=True)
class PaperCell:
    """One cell of a table or figure, the paper's and ours."""

    paper: str
    table: str
    part: str
    """What is shown, where a table has several parts."""
    source: str
    """Where our side is recorded, and what computes or draws it."""
    row: str
    column: str
    published: str | None
    """As printed; None where there is a picture and no number."""
    ours: Value | None
    label: Label
    by: str
    """As of `CellVerdict`."""
    why: str


def papers() -> dict[str, str]:
    """Ids of the papers and their titles."""
    return _file()["papers"]


def tables(paper: str) -> list[str]:
    """The tables and figures of a paper."""
    return list(dict.fromkeys(part.table for part in _every_part() if part.paper == paper))


def paper_cells(
    paper: str | None = None, table: str | None = None, *, row_text: str = ""
) -> list[PaperCell]:
    """Work out our side of every cell from what is recorded, in seconds, and label it.

    Args:
        paper: An id, or how it begins; all papers by default.
        table: One of its tables or figures; all of them by default.
        row_text: Keeps rows that have this text in their name, in a cell, or over a cell with a
            yes.

    Raises:
        UnknownName: For a paper or a table that is not there.
    """
    cells: list[PaperCell] = []
    for part in _parts(paper, table):
        cells += _cells(part)
    if not row_text:
        return cells
    rows = {(cell.part, cell.row) for cell in cells if _has_text(cell, row_text.casefold())}
    return [cell for cell in cells if (cell.part, cell.row) in rows]


def _parts(paper: str | None, table: str | None) -> list[PaperPart]:
    """The parts of one table, of a paper, or of all papers; arguments as of `paper_cells`."""
    if paper is None:
        return _every_part()
    paper_id = _paper_id(paper)
    parts = [part for part in _every_part() if part.paper == paper_id]
    if table is None:
        return parts
    names = tables(paper_id)
    if table not in names:
        raise UnknownName(f"table or figure of {paper_id}", table, names)
    return [part for part in parts if part.table == table]


def _paper_id(beginning: str) -> str:
    """The id of the only paper that begins so. Raises: UnknownName."""
    names = [name for name in papers() if name.startswith(beginning)]
    if len(names) != 1:
        raise UnknownName("paper", beginning, papers())
    return names[0]


def _has_text(cell: PaperCell, text: str) -> bool:
    """Whether a text is in the row's name, in the cell, or over a cell with a yes."""
    shown_texts = [cell.row, cell.published or ""]
    if cell.published == "yes":  # the column then names what the row has
        shown_texts.append(cell.column)
    # A text is found in the words of the file, and in the words that are shown for them.
    shown_texts += list(map(titled, shown_texts))
    return any(text in shown.casefold() for shown in shown_texts)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((SHIPPED / "papers.toml").read_text(encoding="utf-8"))


@cache
def _every_part() -> list[PaperPart]:
    """Every part of every table and figure of the file, in its order."""
    parts = []
    for fields in _file()["parts"]:
        part = PaperPart(
            paper=fields["paper"],
            table=fields["table"],
            title=fields["part"],
            columns=fields["columns"],
            rows=_printed_rows(fields),
            source=fields["source"],
            our_table=fields.get("ours", ""),
            our_words=fields.get("here", {}),
            why_different=fields.get("differs", ""),
            reasons={label: fields.get(label, {}) for label in WITHOUT_OURS},
        )
        parts.append(part)
    return parts


def _printed_rows(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """The cells of each row of a part as printed, from left to right."""
    published_file = fields.get("held")  # This is the file of data/published that holds the rows.
    if published_file is not None:
        return _published_rows(published_file)
    rows = {}
    for row, text in fields["rows"].items():
        if text == PICTURE:  # the paper prints this row as a picture
            rows[row] = [PICTURE] * len(fields["columns"])
        else:
            rows[row] = text.split(" | ")
    return rows


def _published_rows(name: str) -> dict[str, list[str]]:
    """The rows of a file in data/published."""
    text = (SHIPPED / "published" / name).read_text(encoding="utf-8")
    rows = {}
    # Numbers are read as texts, because a cell is compared to as many decimals as are printed.
    for result in tomllib.loads(text, parse_float=str)["results"]:
        row = ", ".join(result[key] for key in ("method", "split") if key in result)
        rows[row] = [result[key] for key in ("rmse", "reported_in") if key in result]
    return rows


def _cells(part: PaperPart) -> Iterator[PaperCell]:
    """Every cell of a part, with our side where there is one."""
    for row, printed in part.rows.items():
        for column, text in zip(part.columns, printed, strict=True):
            if text == NO_CELL:
                continue
            published = None
            if text != PICTURE:
                published = text
            ours = _our_value(part, row, column)
            verdict = _compare(part, row, column, text, ours)
            yield PaperCell(
                paper=part.paper,
                table=part.table,
                part=part.title,
                source=part.source,
                row=row,
                column=column,
                published=published,
                ours=ours,
                label=verdict.label,
                by=verdict.by,
                why=verdict.why,
            )


def _our_value(part: PaperPart, row: str, column: str) -> Value | None:
    """Ours of one cell: a number or words; None where there is none."""
    # The file may have words of ours for a row, which hold for all its columns. A table that is
    # worked out has cells for some columns, and there they go before the words.
    value: Any = part.our_words.get(row)
    if part.our_table:
        tables_of_paper = OUR_TABLES[part.paper]()
        table = tables_of_paper[part.our_table]
        if column in table:
            value = table[column].get(row)
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    return float(value)


def _compare(
    part: PaperPart, row: str, column: str, published: str, ours: Value | None
) -> CellVerdict:
    """What a printed cell and ours have to do with each other."""
    if ours is None:
        return _without_ours(part, row, column, published)
    if published == PICTURE:
        return CellVerdict(label="impossible", why=_file()["reasons"]["picture"])
    if isinstance(ours, str):
        # Words in the file, written beside the row, were compared with the paper by their author:
        # an option that has another name here counts as the same.
        if part.our_words or published == ours:
            return CellVerdict(label="same")
        return CellVerdict(label="differs", why=part.why_different)
    # Two numbers are the same if ours, rounded to as many decimals as are printed, is the printed
    # one.
    published_number = float(published)
    _, _, printed_decimals = published.partition(".")
    decimals = len(printed_decimals)
    if published_number == round(ours, decimals):
        return CellVerdict(label="same")
    difference_words = f"by {ours - published_number:+.{decimals}f}"
    if published_number:
        difference_words += f" ({100 * (ours - published_number) / abs(published_number):+.0f} %)"
    return CellVerdict(label="differs", by=difference_words, why=part.why_different)


def _without_ours(part: PaperPart, row: str, column: str, published: str) -> CellVerdict:
    """Why there is no number of ours: the first reason of the file that matches the cell."""
    for label, reasons in part.reasons.items():
        for pattern, reason in reasons.items():
            if pattern == published or fnmatchcase(f"{row}, {column}", pattern):
                # A reason that several parts share has a name, under which the file holds its text
                # once.
                return CellVerdict(label=label, why=_file()["reasons"].get(reason, reason))
    return CellVerdict(label="impossible", why=NOT_HERE)
