"""The report of several runs -> a PDF of A4 pages."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import matplotlib
from fpdf import FPDF
from fpdf.enums import TableBordersLayout
from fpdf.fonts import FontFace

from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.report.runs_content import (
    PICTURES_CAPTION,
    SUMS_HEADERS,
    ReportContent,
    ReportPicture,
)
from ecv_core.figures.report.runs_table import HEADERS, TABLE_CAPTION, RunRow
from ecv_core.figures.report.saving import PAGE, figure_bytes
from ecv_core.records import __version__
from ecv_core.untrusted.texts import blank_hidden_characters

_FONT = "DejaVu Sans"
"""It comes with matplotlib, and has the letters of most languages."""
_TEXT = 9
"""Points, of paragraphs."""
_SMALL = 7
"""Points, of tables and notes."""
_LINE = 1.4
"""Height of a line, of the size of its type."""
_POINT = 25.4 / 72
"""Millimetres."""
_TABLE_LINE = _SMALL * _POINT * _LINE
"""Millimetres of a line of a table."""
_COLUMN_WIDTHS = (13, 14, 9, 8, 13, 9, 7, 8, 15, 13, 13)
"""Of the columns of HEADERS, as parts of the page."""


class _Pages(FPDF):
    """Pages with their numbers."""

    def footer(self) -> None:
        """Write the number of the page; fpdf2 calls it for each, and knows their count at last."""
        self.set_y(-12)
        self.set_font(_FONT, size=_SMALL)
        self.cell(w=0, text=f"e-fold · page {self.page_no()} of {{nb}}", align="R")


def runs_pdf(content: ReportContent) -> bytes:
    """The report as a PDF, which embeds its fonts.

    Args:
        content: As `runs_content` works it out.
    """
    pdf = _new_pdf(content.title)
    _paragraph(pdf, content.title, size=16, style="B")
    _paragraph(pdf, content.subtitle, size=_SMALL)
    pdf.ln(3)
    _paragraph(pdf, content.conclusion)
    pdf.ln(3)
    _add_key_numbers(pdf, content)
    _heading(pdf, "Results")
    _add_results(pdf, content.rows)
    if content.pictures:
        _heading(pdf, "Means")
        _paragraph(pdf, PICTURES_CAPTION, size=_SMALL)
    for picture in content.pictures:
        _add_picture(pdf, picture)
    for sums in content.sums:
        _heading(pdf, sums.title)
        _add_sums(pdf, sums.rows)
    _heading(pdf, "Energy and its source")
    _paragraph(pdf, content.energy)
    _heading(pdf, "Methods")
    _paragraph(pdf, content.methods)
    _paragraph(pdf, f"Machine: {content.machine}.", size=_SMALL)
    _heading(pdf, "Please cite")
    _paragraph(pdf, content.bibtex, size=_SMALL)
    return bytes(pdf.output())


def _new_pdf(title: str) -> FPDF:
    """An empty page with numbers below, in a font that knows more than Latin letters."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    pdf = _Pages(format="A4")
    pdf.add_font(_FONT, fname=fonts / "DejaVuSans.ttf")
    pdf.add_font(_FONT, style="B", fname=fonts / "DejaVuSans-Bold.ttf")
    pdf.set_font(_FONT, size=_TEXT)
    pdf.set_auto_page_break(auto=True, margin=16)
    pdf.set_title(blank_hidden_characters(title))
    pdf.set_creator(f"e-fold {__version__}")
    pdf.set_lang("en")
    pdf.add_page()
    return pdf


def _paragraph(pdf: FPDF, text: str, *, size: float = _TEXT, style: Literal["", "B"] = "") -> None:
    pdf.set_font(size=size, style=style)
    height = size * _POINT * _LINE
    pdf.multi_cell(
        w=0, h=height, text=blank_hidden_characters(text), align="L", new_x="LMARGIN", new_y="NEXT"
    )


def _heading(pdf: FPDF, title: str) -> None:
    """A heading, on the next page where no line after it would have room on this one."""
    pdf.ln(4)
    # The heading and at least one line below it need 20 mm of the page.
    if pdf.will_page_break(20):
        pdf.add_page()
    _paragraph(pdf, title, size=11, style="B")
    pdf.ln(1)


def _add_key_numbers(pdf: FPDF, content: ReportContent) -> None:
    """The numbers side by side: names, values, and notes below them."""
    pdf.set_font(size=_SMALL)
    # Each of the key numbers is a name, a value and a note.
    names, values, notes = zip(*content.numbers, strict=True)
    with pdf.table(
        borders_layout=TableBordersLayout.NONE, line_height=_TABLE_LINE, align="L"
    ) as table:
        table.row(names, style=FontFace(emphasis=""))
        table.row(values, style=FontFace(emphasis="B"))
        table.row(notes)


def _add_results(pdf: FPDF, rows: Sequence[RunRow]) -> None:
    """The table of the runs; the best of each dataset is bold."""
    _paragraph(pdf, TABLE_CAPTION, size=_SMALL)
    pdf.ln(1)
    pdf.set_font(size=_SMALL - 1)
    with pdf.table(
        col_widths=_COLUMN_WIDTHS,
        borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        line_height=_TABLE_LINE,
        text_align="LEFT",
    ) as table:
        table.row(HEADERS)
        for row in rows:
            style = None
            if row.is_best:
                style = FontFace(emphasis="B")
            table.row([blank_hidden_characters(cell) for cell in row.cells.values()], style=style)


def _add_sums(pdf: FPDF, rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is text; the others are numbers, which end at the right."""
    pdf.set_font(size=_SMALL)
    alignments = ["LEFT", *["RIGHT"] * (len(SUMS_HEADERS) - 1)]
    with pdf.table(
        borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        line_height=_TABLE_LINE,
        text_align=alignments,
    ) as table:
        table.row(SUMS_HEADERS)
        for row in rows:
            table.row([blank_hidden_characters(cell) for cell in row])


def _add_picture(pdf: FPDF, picture: ReportPicture) -> None:
    """A figure across the page, on the next page where it has no room on this one."""
    draw = partial(printed_figure, picture.make, width=PAGE)
    image = figure_bytes(draw, "png", title=picture.title)
    pdf.ln(2)
    pdf.image(io.BytesIO(image), w=pdf.epw, h=0, keep_aspect_ratio=True, alt_text=picture.alt)
