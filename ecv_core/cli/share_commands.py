"""`import`, `report` and `figure` of a run, `backup` of all; papers `reproduce`d, a `board`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

import ecv_core.untrusted.limits as limits
from ecv_core.cli.output import OK, check_target, write_json
from ecv_core.records.errors import InputError, RunError
from ecv_core.store.backup import back_up
from ecv_core.store.imports import import_run
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import content_of


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")


def backup_command(options: argparse.Namespace) -> int:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {runs} {'run' if runs == 1 else 'runs'}, {size:.1f} MB")
    return OK


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")


def import_command(options: argparse.Namespace) -> int:
    from ecv_core.store.run_file import read_run

    path: Path = options.file
    try:
        content = content_of(path, at_most=limits.MAX_RUN_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a run's JSON") from None
    found = read_run(content, path.name)
    run_id, new = import_run(open_store(), found)
    title = f"{found.run.spec.algorithm} on {found.run.spec.dataset}"
    print(f"{run_id}: {title} " + ("is imported" if new else "is here already"))
    return OK


def report_command(options: argparse.Namespace) -> int:
    path: Path = options.output or Path(f"e-fold-{options.run_id}.html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; make it first")
    from ecv_core.library.run import Run, report
    from ecv_core.store.recorded import recorded_run

    run = recorded_run(options.run_id) or open_store().run(options.run_id)
    try:
        report(Run(run), path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {run.spec.algorithm} on {run.spec.dataset}")
    return OK


def figure_options(parser: argparse.ArgumentParser) -> None:
    from ecv_core.cli.options import add_rule_param
    from ecv_core.figures.report.figure_file import KINDS
    from ecv_core.stopping import PAPERS_RULE, axis_of
    from ecv_core.store.recorded import FOLDER

    axis = axis_of(PAPERS_RULE)
    parser.add_argument(
        "run",
        metavar="RUN|study|NAME",
        help="a run's id, a recorded one such as ml-100k--item-knn, or study: the recorded study; "
        "for p-values a recorded tuning such as ml-1m--item-knn, for dimensions and steps ml-100k",
    )
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.pdf|svg|pgf|png")
    add_rule_param(
        parser, axis, default=axis.default, help="of difference, stops, ranks and tradeoff"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default data/recorded")


def figure_command(options: argparse.Namespace) -> int:
    from ecv_core.figures.report.figure_file import write_figure

    title = write_figure(options.run, options.kind, options.out, options.alpha, options.folder)
    print(f"{options.out}: {title}")
    return OK


def reproduce_options(parser: argparse.ArgumentParser) -> None:
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


def reproduce_command(options: argparse.Namespace) -> int:
    from ecv_core.figures.papers import markdown, reproduced

    check_target(options.json)
    cells = reproduced(options.paper, options.table, having=options.having)
    write_json({"cells": [asdict(cell) for cell in cells]}, options.json)
    if options.json != "-":
        print(markdown(cells))
    return OK


def board_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["check", "site"],
        help="compute a result's scores again; or render a folder of results as a page",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE|FOLDER",
        help="a ZIP with run.json, folds.sha256 and reported.csv; or a folder of them",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="of site; default FOLDER/index.html"
    )


def board_command(options: argparse.Namespace) -> int:
    from ecv_core.jobs.board import check_result, site

    if options.action == "site":
        page, refused = site(options.file)
        for name, why in refused.items():
            print(f"{name} is left out: {why}", file=sys.stderr)
        path = options.output or options.file / "index.html"
        try:
            path.write_text(page, encoding="utf-8")
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror}") from None
        print(path)
        return OK
    if options.output:
        raise InputError("--output is of 'board site'; leave it out")
    checked = check_result(options.file)
    run, at = checked.run, checked.run.at_stop
    assert at is not None  # a run that is read has a stop
    within = f" ({at.interval.low:.4f} to {at.interval.high:.4f})" if at.interval else ""
    how = (
        "follow from what its model gave"
        if checked.recomputed
        else "are the means of its users' scores, which cannot be computed again"
    )
    print(
        f"{options.file}: {run.spec.algorithm} on {run.spec.dataset}, {run.spec.metric_name} "
        f"{at.mean:.4f}{within}, {run.folds_used} of {run.k} folds: accepted. The folds are "
        f"those made here, and their scores {how}. Seconds, energy and machine are its own words."
    )
    return OK
