"""`figure`: a picture of a run or of the recorded study in a column's width, for a paper."""

from __future__ import annotations

import argparse
from pathlib import Path

from ecv_core.cli.options import add_rule_param
from ecv_core.cli.output import OK
from ecv_core.figures.report.figure_file import KINDS, write_figure
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.recorded import FOLDER


def figure_options(parser: argparse.ArgumentParser) -> None:
    """Add what `figure` takes."""
    parser.add_argument(
        "run",
        metavar="RUN|study|NAME",
        help="a run's id, a recorded one such as ml-100k--item-knn, or study: the recorded study; "
        "for p-values a recorded tuning such as ml-1m--item-knn, for dimensions and steps ml-100k",
    )
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.pdf|svg|pgf|png")
    add_rule_param(
        parser,
        axis_of(PAPERS_RULE),
        default=axis_of(PAPERS_RULE).default,
        help="of difference, stops, ranks and tradeoff",
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default data/recorded")
    parser.set_defaults(command=figure)


def figure(options: argparse.Namespace) -> int:
    """Draw it and write the file."""
    title = write_figure(options.run, options.kind, options.out, options.alpha, options.folder)
    print(f"{options.out}: {title}")
    return OK
