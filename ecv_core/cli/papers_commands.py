"""What papers print: a `figure` as a file, their cells `reproduce`d, and a `board` of results."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ecv_core.cli import say, write_answer
from ecv_core.cli.options import add_json, add_rule_param
from ecv_core.figures.words import FigureKind, ends_words, shown_interval
from ecv_core.records.parameters import score_text
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.outputs import write_result
from ecv_core.store.recorded import FOLDER

if TYPE_CHECKING:
    from ecv_core.papers.board import Checked


def figure_options(parser: argparse.ArgumentParser) -> None:
    # The axis of a rule is the parameter at whose values it is compared: alpha of the paper's rule.
    axis = axis_of(PAPERS_RULE)
    parser.add_argument(
        "run",
        metavar="RUN|SELECTION|study|NAME",
        help="The id of a run, the beginning of it, the name of a recorded run, such as "
        "ml-100k--item-knn, or 'study' for the recorded study. For race it is the id of a "
        "selection, or a dataset of the study; for p-values a recorded tuning, such as "
        "ml-1m--item-knn; for dimensions, steps, board and spaces a dataset, such as ml-100k.",
    )
    parser.add_argument("--kind", required=True, choices=get_args(FigureKind), help="Which figure.")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE.pdf|svg|pgf|png",
        help="Where the figure goes; of efold and race also FILE.html, .gif or .webp, which play "
        "fold by fold.",
    )
    add_rule_param(
        parser,
        axis,
        help="Alpha of the rule, for the figures difference, stops, ranks and tradeoff. Default: "
        f"{axis.default}.",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=FOLDER,
        help="Folder of recorded runs. Default: data/recorded.",
    )


def figure_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.figure_file import write_figure

    title = write_figure(options.run, options.kind, options.out, options.alpha, options.folder)
    print(f"{options.out}: {title}")


def reproduce_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paper",
        nargs="?",
        help="Id of a paper, or its beginning, such as discriminative. Default: all.",
    )
    parser.add_argument(
        "table", nargs="?", help="A table or figure, such as 'table 3' or 'figure 2'. Default: all."
    )
    parser.add_argument(
        "--having",
        default="",
        metavar="TEXT",
        help=(
            "Only rows with this text in their name, in a cell or in the heading above a 'yes', "
            "such as temporal-user or Tafeng."
        ),
    )
    add_json(parser, "the cells")


def reproduce_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.cells_text import markdown
    from ecv_core.papers.reproduction import paper_cells

    cells = paper_cells(options.paper, options.table, row_text=options.having)
    write_answer(options, {"cells": [asdict(cell) for cell in cells]}, markdown(cells))


def board_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["check", "site"],
        help=(
            "Check a result by computing its scores again, or render a folder of results as a page."
        ),
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE|FOLDER",
        help="A ZIP with run.json, folds.sha256 and reported.csv, or a folder of such files.",
    )


def board_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.board import board_page, check_result

    if options.action == "check":
        print(f"{options.file}: {_accepted_words(check_result(options.file))}")
        return
    folder: Path = options.file
    page = board_page(folder)
    for name, why in page.refused.items():
        say(f"{name} is left out: {why}")
    path = folder / "index.html"
    write_result(path, page.html)
    print(path)


def _accepted_words(checked: Checked) -> str:
    """What was accepted, and what of it is a claim."""
    run = checked.run
    mean = score_text(run.moments[run.folds_used - 1].mean)
    interval = shown_interval(run).interval
    if interval:
        mean += f" ({ends_words(interval)})"
    source_words = "are the means of the reported user scores, which cannot be computed again"
    if checked.recomputed:
        source_words = "follow from what the model returned"
    return (
        f"{run.spec.algorithm} on {run.spec.dataset}, {run.spec.metric_name} {mean}, "
        f"{run.folds_used} of {run.k} folds: accepted. Its folds are the same as those made "
        f"here, and its scores {source_words}. Its times, its energy and its machine are as "
        "reported, unchecked."
    )
