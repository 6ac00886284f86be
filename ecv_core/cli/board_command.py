"""`board`: results that others hand in, checked."""

from __future__ import annotations

import argparse
from pathlib import Path

from ecv_core.cli.output import OK
from ecv_core.jobs.board import check_result


def board_options(parser: argparse.ArgumentParser) -> None:
    """The options of `board`."""
    parser.add_argument("action", choices=["check"], help="compute its scores again")
    parser.add_argument(
        "file", type=Path, help="a ZIP with run.json, folds.sha256 and reported.csv"
    )
    parser.set_defaults(command=check)


def check(options: argparse.Namespace) -> int:
    """Say whether a result holds; a forged one is refused in a sentence."""
    checked = check_result(options.file)
    run, mean = checked.run, checked.run.at_stop
    assert mean is not None  # a run that is read has a stop
    interval = mean.interval
    within = f" ({interval.low:.4f} to {interval.high:.4f})" if interval else ""
    how = (
        "follow from what its model gave"
        if checked.recomputed
        else "are the means of its users' scores, which cannot be computed again"
    )
    print(
        f"{options.file}: {run.spec.algorithm} on {run.spec.dataset}, {run.spec.metric_name} "
        f"{mean.mean:.4f}{within}, {run.folds_used} of {run.k} folds: accepted. The folds are "
        f"those made here, and their scores {how}. Seconds, energy and machine are its own words."
    )
    return OK
