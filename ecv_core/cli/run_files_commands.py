"""Runs as files: exported and imported, as a report, and all of them as a backup."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

import ecv_core.untrusted.limits as limits
from ecv_core.cli import check_target, program, say, write_json
from ecv_core.cli.options import ANY_RUN
from ecv_core.figures.words import counted, run_name
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, read_run
from ecv_core.store.listing import RunList
from ecv_core.store.lookup import find_run
from ecv_core.store.outputs import WAY_OUT_OF_FILE, check_folder
from ecv_core.store.rescue import back_up
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted.files import content_of


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help=ANY_RUN)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.json",
        help="Where the run goes; - for stdout. Default: e-fold-RUN.json.",
    )


def export_command(options: argparse.Namespace) -> None:
    """Write a run as JSON, as the page and `run --json` do."""
    store = open_store()
    run = find_run(options.run_id, store=store)
    target = options.output or f"e-fold-{run.run_id}.json"
    check_target(target, "--output")
    write_json(run_document(run, Results(store).user_scores(run)), target, "--output")
    if target != "-":
        print(f"{target}: {run_name(run)}; '{program()} import {target}' adds it elsewhere")


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="A file written by 'Run as JSON' on a run's page, or by run --json."
    )


def import_command(options: argparse.Namespace) -> None:
    path: Path = options.file
    try:
        content = content_of(path, at_most=limits.MAX_RUN_BYTES)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}; give the JSON file of a run"
        ) from None
    file = read_run(content, path.name)
    run_id, is_new = import_run(open_store(), file)
    outcome = "is here already"
    if is_new:
        outcome = "is imported"
    print(f"{run_id}: {file.run.spec.algorithm} on {file.run.spec.dataset} {outcome}")


def _day(text: str) -> date:
    """A day such as 2026-10-01. Raises: argparse.ArgumentTypeError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no day of the calendar; write it as 2026-10-01"
        ) from None


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids",
        nargs="*",
        metavar="RUN",
        help="Ids of the runs, the beginnings of ids, or names of recorded runs, such as "
        "ml-100k--popular.",
    )
    parser.add_argument(
        "--since",
        type=_day,
        default=date.min,
        metavar="2026-10-01",
        help="All runs that were started on or after this day.",
    )
    parser.add_argument(
        "--until",
        type=_day,
        default=date.max,
        metavar="2026-12-31",
        help="All runs that were started on or before this day.",
    )
    parser.add_argument("--tag", metavar="TAG", help="All runs with this tag.")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.html",
        help="Where the report goes. FILE.pdf is a PDF, FILE.tex has a table for a paper, FILE.csv "
        "has a row for each run, and any other name is HTML. Default: e-fold-RUN.html; "
        "e-fold-report.html for several runs.",
    )


def report_command(options: argparse.Namespace) -> None:
    """One page about a run, or about several: by their ids, their days, or their tag."""
    from ecv_core.library import run as library

    if options.output is not None:
        check_folder(options.output)
    store = open_store()
    runs = [library.Run(record) for record in _runs_to_report(options, store)]
    subject: library.Run | library.Runs
    if len(runs) == 1:
        subject = runs[0]
        words = run_name(subject)
        name = subject.run_id
    else:
        subject = library.Runs(runs)
        words = counted(len(runs), "run")
        name = "report"
    if len(options.run_ids) == 1:
        # What was typed may be the name of a recorded run, which says more than its id.
        name = options.run_ids[0]
    path: Path = options.output or Path(f"e-fold-{name}.html")
    try:
        library.report(subject, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; {WAY_OUT_OF_FILE}") from None
    print(f"{path}: {words}")


def _runs_to_report(options: argparse.Namespace, store: Store) -> list[RunRecord]:
    """The runs that are named, or that were started in these days and have this tag.

    Raises:
        InputError: Where runs are named in no way or in both, or no run is found.
    """
    since = options.since
    until = options.until
    tag = options.tag
    are_named = bool(options.run_ids)
    # These are the defaults of the filters, which let every run through.
    are_filtered = (since, until, tag) != (date.min, date.max, None)
    if are_named == are_filtered:
        # Runs are asked for in both ways, or in neither.
        raise InputError(
            "say which runs in one way: RUN ..., or --since DATE, --until DATE and --tag TAG"
        )
    if are_named:
        return [find_run(name, store=store) for name in options.run_ids]
    records = []
    run_list = RunList(store)
    for row in run_list.rows():
        has_tag = tag is None or tag in row.label.tags
        if has_tag and since <= row.created_at.date() <= until:
            records.append(store.run(row.run_id))
    # Of a run that cannot be read nobody knows whether it is one of those that are asked for.
    for sentence in run_list.damaged.values():
        say(sentence)
    if not records:
        raise InputError("no run matches these dates or this tag; `runs` lists all runs")
    return records


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="Name of the copy; an older file of that name is replaced."
    )


def backup_command(options: argparse.Namespace) -> None:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {counted(runs, 'run')}, {size:.1f} MB")
