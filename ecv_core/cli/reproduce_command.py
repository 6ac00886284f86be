"""`reproduce`: every table and figure of the papers beside ours, as Markdown or JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from ecv_core.cli.output import OK, check_target, write_json
from ecv_core.figures.papers import Cell, answer, papers, reproduced


def reproduce_options(parser: argparse.ArgumentParser) -> None:
    """The options of `reproduce`."""
    parser.add_argument(
        "paper", nargs="?", help=f"one of {', '.join(papers())}, or how it begins; default all"
    )
    parser.add_argument("table", nargs="?", help="such as 'table 3' or 'figure 2'; default all")
    parser.add_argument("--json", metavar="FILE", help="write the cells as JSON; - for stdout")
    parser.set_defaults(command=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Work out our side of every cell and print it."""
    check_target(options.json)
    cells = reproduced(options.paper, options.table)
    write_json({"cells": [asdict(cell) for cell in cells]}, options.json)
    if options.json != "-":
        print("\n".join(_markdown(cells)))
    return OK


def _markdown(cells: Sequence[Cell]) -> Iterator[str]:
    yield answer(cells)
    shown = None
    for (paper, table, part), group in groupby(cells, lambda one: (one.paper, one.table, one.part)):
        here = list(group)
        columns = list(dict.fromkeys(cell.column for cell in here))
        reasons = list(dict.fromkeys(cell.why for cell in here if cell.why))
        texts = {(cell.row, cell.column): _text(cell, reasons) for cell in here}
        if paper != shown:
            yield f"\n## {papers()[paper]}"
            shown = paper
        yield f"\n### {table[0].upper()}{table[1:]}: {part}\n"
        yield f"| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}"
        for row in dict.fromkeys(cell.row for cell in here):
            yield f"| {row} | {' | '.join(texts.get((row, column), '') for column in columns)} |"
        yield f"\nHere: {here[0].source}."
        yield from (f"\n({number}) {reason}." for number, reason in enumerate(reasons, start=1))


def _text(cell: Cell, reasons: Sequence[str]) -> str:
    """The paper's value, the label, ours where the label does not say it, the reason's number."""
    ours = f", here {cell.shown}" if cell.why and cell.shown and not cell.by else ""
    label = " ".join(filter(None, (cell.label, cell.by)))
    note = f" ({reasons.index(cell.why) + 1})" if cell.why else ""
    return f"{cell.published or 'picture'}: {label}{ours}{note}"
