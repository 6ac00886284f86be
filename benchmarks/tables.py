"""Tables in Markdown, printed row by row, as the documents have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_head(columns: Sequence[str]) -> None:
    """The names of the columns, and the line below them."""
    print_row(columns)
    print_row(["---"] * len(columns))


def print_row(cells: Iterable[object]) -> None:
    """One row; it is written at once, as the next may take minutes."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def bold_where(is_bold: bool, text: str) -> str:
    """A cell, bold where a promise breaks."""
    if is_bold:
        return f"**{text}**"
    return text


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"
