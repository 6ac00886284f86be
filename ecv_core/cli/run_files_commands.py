"""Runs as files: exported and imported, as a report, and all of them as a backup."""

from __future__ import annotations

import argparse
from pathlib import Path

import ecv_core.untrusted.limits as limits
from ecv_core.cli import check_target, program, write_json
from ecv_core.cli.runs_commands import run_named
from ecv_core.figures.words import counted, run_name
from ecv_core.records.errors import InputError, RunError
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, read_run
from ecv_core.store.recorded import recorded_run
from ecv_core.store.rescue import back_up
from ecv_core.store.results import Results
from ecv_core.store.store import open_store
from ecv_core.untrusted.files import content_of


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or the beginning of it")
    parser.add_argument("-o", "--output", metavar="FILE.json", help="- for stdout")


def export_command(options: argparse.Namespace) -> None:
    """Write a run as JSON, as the page and `run --json` do."""
    run = recorded_run(options.run_id) or run_named(open_store(), options.run_id)
    target = options.output or f"e-fold-{run.run_id}.json"
    check_target(target)
    write_json(run_document(run, Results(open_store()).user_scores(run)), target)
    if target != "-":
        print(f"{target}: {run_name(run)}; '{program()} import {target}' keeps it elsewhere")


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")


def import_command(options: argparse.Namespace) -> None:
    path: Path = options.file
    try:
        content = content_of(path, at_most=limits.MAX_RUN_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a run's JSON") from None
    file = read_run(content, path.name)
    run_id, is_new = import_run(open_store(), file)
    outcome = "is here already"
    if is_new:
        outcome = "is imported"
    print(f"{run_id}: {file.run.spec.algorithm} on {file.run.spec.dataset} {outcome}")


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")


def report_command(options: argparse.Namespace) -> None:
    path: Path = options.output or Path(f"e-fold-{options.run_id}.html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; make it first")
    from ecv_core.library import run as library

    run = recorded_run(options.run_id) or open_store().run(options.run_id)
    try:
        library.report(library.Run(run), path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {run.spec.algorithm} on {run.spec.dataset}")


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")


def backup_command(options: argparse.Namespace) -> None:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {counted(runs, 'run')}, {size:.1f} MB")
