"""Runs as files: exported and imported, as a report, and all of them as a backup."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

import ecv_core.untrusted.limits as limits
from ecv_core.cli import check_target, program, write_json
from ecv_core.cli.runs_commands import run_named
from ecv_core.figures.words import counted, run_name
from ecv_core.records.errors import InputError, RunError
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, read_run
from ecv_core.store.listing import RunList
from ecv_core.store.recorded import recorded_run
from ecv_core.store.rescue import back_up
from ecv_core.store.results import Results
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import content_of


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="the run's id, or the beginning of it")
    parser.add_argument("-o", "--output", metavar="FILE.json", help="- for stdout")


def export_command(options: argparse.Namespace) -> None:
    """Write a run as JSON, as the page and `run --json` do."""
    run = recorded_run(options.run_id) or run_named(open_store(), options.run_id)
    target = options.output or f"e-fold-{run.run_id}.json"
    check_target(target)
    write_json(run_document(run, Results(open_store()).user_scores(run)), target)
    if target != "-":
        print(f"{target}: {run_name(run)}; '{program()} import {target}' adds it elsewhere")


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="a file written by 'Run as JSON' on a run's page, or by run --json"
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


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="*", metavar="RUN_ID")
    parser.add_argument(
        "--since",
        type=date.fromisoformat,
        metavar="2026-10-01",
        help="all runs started on or after this day",
    )
    parser.add_argument(
        "--until",
        type=date.fromisoformat,
        metavar="2026-12-31",
        help="all runs started on or before this day",
    )
    parser.add_argument("--tag", metavar="TAG", help="all runs with this tag")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.html",
        help="or FILE.pdf; FILE.tex has a table for a paper, FILE.csv a row for each run",
    )


def report_command(options: argparse.Namespace) -> None:
    """One page about a run, or about several: by their ids, their days, or their tag."""
    from ecv_core.library import run as library

    ids = options.run_id or _ids_between(options.since, options.until, options.tag)
    name = "report"
    if len(ids) == 1:
        name = ids[0]
    path: Path = options.output or Path(f"e-fold-{name}.html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; make it first")
    store = open_store()
    runs = [library.Run(recorded_run(run_id) or store.run(run_id)) for run_id in ids]
    subject: library.Run | library.Runs = library.Runs(runs)
    words = counted(len(runs), "run")
    if len(runs) == 1:
        subject = runs[0]
        words = f"{subject.spec.algorithm} on {subject.spec.dataset}"
    try:
        library.report(subject, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {words}")


def _ids_between(since: date | None, until: date | None, tag: str | None) -> list[str]:
    """The ids of the runs that were started in these days, and have this tag.

    Raises: InputError where nothing was asked for, or no run is found.
    """
    if since is None and until is None and tag is None:
        raise InputError("say which runs: RUN_ID ..., --since DATE, --until DATE or --tag TAG")
    ids = []
    for row in RunList(open_store()).rows():
        has_tag = tag is None or tag in row.label.tags
        if has_tag and _is_between(row.created_at.date(), since, until):
            ids.append(row.run_id)
    if not ids:
        raise InputError("no run matches these dates or this tag; `runs` lists all runs")
    return ids


def _is_between(day: date, since: date | None, until: date | None) -> bool:
    """Whether a day is neither before the one nor after the other; None is no end."""
    if since is not None and day < since:
        return False
    return until is None or day <= until


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="name of the copy; an older file of that name is replaced"
    )


def backup_command(options: argparse.Namespace) -> None:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {counted(runs, 'run')}, {size:.1f} MB")
