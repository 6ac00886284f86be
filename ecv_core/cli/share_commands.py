"""Runs as files: `import`, `report` and `figure` of one, `backup` of all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

import ecv_core.untrusted.limits as limits
from ecv_core.cli.output import OK
from ecv_core.records.errors import InputError, RunError
from ecv_core.store.backup import back_up
from ecv_core.store.imports import import_run
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import content_of


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")
    parser.set_defaults(command=write_copy)


def write_copy(options: argparse.Namespace) -> int:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {runs} {'run' if runs == 1 else 'runs'}, {size:.1f} MB")
    return OK


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")
    parser.set_defaults(command=import_file)


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")
    parser.set_defaults(command=write_report)


def import_file(options: argparse.Namespace) -> int:
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


def write_report(options: argparse.Namespace) -> int:
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
    parser.set_defaults(command=figure)


def figure(options: argparse.Namespace) -> int:
    from ecv_core.figures.report.figure_file import write_figure

    title = write_figure(options.run, options.kind, options.out, options.alpha, options.folder)
    print(f"{options.out}: {title}")
    return OK
