"""The command line: `python -m ecv_core ...`; its words and JSON are a contract other tools use."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from ecv_core import splits
from ecv_core.cli.data_commands import download, list_datasets, write_folds
from ecv_core.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, OK
from ecv_core.cli.orders_command import show_orders
from ecv_core.cli.run_command import run, spec_of
from ecv_core.cli.share_commands import import_file, write_report
from ecv_core.cli.study_command import run_study
from ecv_core.errors import EcvError, InputError, RunError
from ecv_core.records import RunSpec
from ecv_core.runs.recorded import FOLDER


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 for a failed run, 2 for bad input."""
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except RunError as error:
        return _complain(error, FAILED)
    except EcvError as error:
        return _complain(error, BAD_INPUT)
    except KeyboardInterrupt:
        return _complain("stopped; finished folds are kept", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def parse_spec(arguments: Sequence[str]) -> RunSpec:
    """The spec that `run ...` with these arguments would evaluate.

    Raises: InputError for arguments that make no run.
    """
    return spec_of(_parser().parse_args(arguments))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse bad arguments like any other bad input: in one line."""
        raise InputError(f"{message}; see '{self.prog} --help'")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m ecv_core", description="e-fold cross-validation")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("datasets", help="list the datasets, and which are on disk")
    listing.add_argument("--json", action="store_true", help="as JSON, for programs")
    listing.set_defaults(command=list_datasets)

    fetching = commands.add_parser(
        "download", help="download a dataset, after its licence is shown"
    )
    fetching.add_argument("dataset")
    fetching.set_defaults(command=download)

    splitting = commands.add_parser("folds", help="write a split for others to use")
    splitting.add_argument("dataset")
    splitting.add_argument(
        "file",
        type=Path,
        help="FILE.csv[.gz] (user_id,item_id,fold; k folds only) or FILE.zip (any split, README)",
    )
    splitting.add_argument(
        "--format", choices=splits.FORMS, default="csv", help="what FILE.zip holds (default csv)"
    )
    _add_split_options(splitting)
    splitting.set_defaults(command=write_folds)

    running = commands.add_parser("run", help="evaluate an algorithm on a dataset")
    running.add_argument("dataset")
    running.add_argument("algorithm")
    running.add_argument(
        "--rule", help="stopping rule (default e-fold; never where there is only one fold)"
    )
    level = running.add_mutually_exclusive_group()
    level.add_argument("--alpha", type=float, default=1e-4, help="larger stops sooner")
    level.add_argument("--tolerance", type=float, help="for the precision rule: 0.03 is 3 %%")
    running.add_argument("--confidence", type=float, default=0.95, metavar="0.95")
    running.add_argument("--min-folds", type=int, metavar="3", help="never stop before")
    _add_split_options(running)
    running.add_argument("--folds", metavar="FILE", help="use these released folds")
    running.add_argument("--metric", default="ndcg", help="what the score is (default ndcg)")
    running.add_argument("-n", type=int, default=10, help="length of the recommendation list")
    running.add_argument(
        "--candidates", default="all", metavar="all", help="items that may be listed: all or train"
    )
    running.add_argument(
        "--negatives", type=int, metavar="N", help="rank against N sampled items, not all"
    )
    running.add_argument(
        "--negative-sampling", default="uniform", metavar="uniform", help="uniform or popularity"
    )
    running.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a model's parameter"
    )
    running.add_argument(
        "--full", action="store_true", help="go on to the last fold after the stop"
    )
    running.add_argument("--only-folds", default="", metavar="0,1", help="run just these folds")
    running.add_argument("--country", default="DEU", help="for emissions: ISO code (default DEU)")
    running.add_argument("--download", action="store_true", help="get the dataset if it is missing")
    running.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    running.set_defaults(command=run)

    studying = commands.add_parser(
        "study", help="datasets x algorithms x splits, recorded; resumable"
    )
    studying.add_argument("--datasets", default="", metavar="A,B", help="ids, with commas")
    studying.add_argument("--algorithms", default="", metavar="A,B", help="ids, with commas")
    studying.add_argument(
        "--splits",
        default="",
        metavar="A,B",
        help=f"compare splits, single ones too: of {', '.join(splits.SPLITS)}",
    )
    studying.add_argument("--seed", type=int, default=42)
    studying.add_argument("--folder", default=str(FOLDER), help="default data/recorded")
    studying.add_argument(
        "--summary", action="store_true", help="run nothing; print what the recorded runs say"
    )
    studying.add_argument("--alpha", type=float, default=1e-4, help="of the summary")
    studying.set_defaults(command=run_study)

    ordering = commands.add_parser("orders", help="what a rule does over every order of the folds")
    ordering.add_argument("file", type=Path, help="CSV with a column 'score', one row per fold")
    ordering.add_argument("--alpha", type=float, required=True, help="larger stops sooner")
    ordering.add_argument("--confidence", type=float, default=0.95, metavar="0.95")
    ordering.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    ordering.set_defaults(command=show_orders)

    bringing = commands.add_parser("import", help="keep a run that was exported elsewhere")
    bringing.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")
    bringing.set_defaults(command=import_file)

    reporting = commands.add_parser("report", help="a run as one HTML page, to print or to send")
    reporting.add_argument("run_id", metavar="RUN_ID")
    reporting.add_argument("-o", "--output", type=Path, metavar="FILE.html")
    reporting.set_defaults(command=write_report)
    return parser


def _add_split_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--split", default="user-k-fold", metavar="NAME", help=f"one of {', '.join(splits.SPLITS)}"
    )
    parser.add_argument(
        "--split-param", action="append", default=[], metavar="NAME=VALUE", help="of the split"
    )
    parser.add_argument("-k", type=int, help="number of folds (default: the split's, mostly 10)")
    parser.add_argument("--seed", type=int, default=42, help="fixes every random choice")


def _complain(error: EcvError | str, code: int) -> int:
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    return code
