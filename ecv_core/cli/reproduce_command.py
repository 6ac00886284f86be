"""`reproduce`: every table and figure of the papers beside ours, as Markdown or JSON."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ecv_core.cli.output import OK, check_target, write_json


def reproduce_options(parser: argparse.ArgumentParser) -> None:
    """The options of `reproduce`."""
    parser.add_argument(
        "paper", nargs="?", help="its id, or how that begins, such as discriminative; default all"
    )
    parser.add_argument("table", nargs="?", help="such as 'table 3' or 'figure 2'; default all")
    parser.add_argument(
        "--having",
        default="",
        metavar="TEXT",
        help="only rows with this in their name or a cell, or above a yes: temporal-user, Tafeng",
    )
    parser.add_argument("--json", metavar="FILE", help="write the cells as JSON; - for stdout")
    parser.set_defaults(command=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Work out our side of every cell and print it."""
    from ecv_core.figures.papers import markdown, reproduced

    check_target(options.json)
    cells = reproduced(options.paper, options.table, having=options.having)
    write_json({"cells": [asdict(cell) for cell in cells]}, options.json)
    if options.json != "-":
        print(markdown(cells))
    return OK
