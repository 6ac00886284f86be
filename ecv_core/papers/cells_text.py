"""Cells of papers -> Markdown: the answer in a line, then each table with a label in every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from ecv_core.figures.words import counted, titled
from ecv_core.papers.reproduction import PaperCell, papers

DRAWN = "no number"
"""In place of a label where the paper has a picture: ours has nothing to be compared with."""
_WORDS_OF_LABEL = {
    "same": "the same here",
    "differs": "different",
    DRAWN: "ours alone, where the paper has a picture and no number",
    "not computed": "not computed yet",
    "impossible": "impossible here",
}


def markdown(cells: Sequence[PaperCell]) -> str:
    """The answer in a line, then each table as the paper has it, with a label in every cell."""
    if not cells:
        return "No row or value holds these words."
    cell_counts = Counter(_label(cell) for cell in cells)
    counts = []
    for label, words in _WORDS_OF_LABEL.items():
        if cell_counts[label]:
            counts.append(f"{cell_counts[label]} {words}")
    lines = [f"{counted(len(cells), 'cell')}: {', '.join(counts)}."]
    if cell_counts["same"] == len(cells) > 1:
        lines = [f"All {len(cells)} cells are the same here."]
    for paper, cells_of_paper in groupby(cells, lambda cell: cell.paper):
        lines.append(f"\n## {papers()[paper]}")
        for _, cells_of_part in groupby(cells_of_paper, lambda cell: (cell.table, cell.part)):
            lines += _part_lines(list(cells_of_part))
    return "\n".join(lines)


def _part_lines(cells: Sequence[PaperCell]) -> list[str]:
    """One part of a table: its title, its rows, where ours is from, and numbered reasons."""
    first = cells[0]
    columns = list(dict.fromkeys(cell.column for cell in cells))
    rows = list(dict.fromkeys(cell.row for cell in cells))
    reasons = list(dict.fromkeys(cell.why for cell in cells if cell.why))
    texts = {(cell.row, cell.column): _cell_text(cell, reasons) for cell in cells}
    lines = [f"\n### {first.table.capitalize()}: {first.part}\n"]
    lines.append(f"| row | {' | '.join(_heading(column) for column in columns)} |")
    lines.append("|---" * (len(columns) + 1) + "|")
    for row in rows:
        shown = [texts.get((row, column), "") for column in columns]
        lines.append(f"| {_heading(row)} | {' | '.join(shown)} |")
    lines.append(f"\nHere: {first.source}.")
    for number, reason in enumerate(reasons, start=1):
        lines.append(f"\n({number}) {reason}.")
    return lines


def _heading(text: str) -> str:
    """A row or column as people read it; RecBole's RO_RS stays."""
    if not text.isupper():
        text = text.replace("_percent", " %").replace("_", " ")
    return titled(text)


def _label(cell: PaperCell) -> str:
    """The label in words."""
    if cell.published is None and cell.ours is not None:
        return DRAWN
    return cell.label


def _cell_text(cell: PaperCell, reasons: Sequence[str]) -> str:
    """The paper's value, the label, ours where these do not say it, and the reason's number."""
    text = f"{titled(cell.published or 'picture')}: {_label(cell)} {cell.by}".rstrip()
    if isinstance(cell.ours, str) and cell.ours != cell.published:
        text += f", here {titled(cell.ours)}"
    elif isinstance(cell.ours, float) and cell.published is None:
        text += f", here {cell.ours:.4g}"
    if cell.why:
        text += f" ({reasons.index(cell.why) + 1})"
    return text
