"""`import`, `report` and `backup`: runs as files, one or all of them."""

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
    """The options of `backup`."""
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")
    parser.set_defaults(command=write_copy)


def write_copy(options: argparse.Namespace) -> int:
    """Copy all runs into a file."""
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {runs} {'run' if runs == 1 else 'runs'}, {size:.1f} MB")
    return OK


def import_options(parser: argparse.ArgumentParser) -> None:
    """The options of `import`."""
    parser.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")
    parser.set_defaults(command=import_file)


def report_options(parser: argparse.ArgumentParser) -> None:
    """The options of `report`."""
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")
    parser.set_defaults(command=write_report)


def import_file(options: argparse.Namespace) -> int:
    """Keep a run that was exported elsewhere."""
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
    """Write a run's report."""
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
