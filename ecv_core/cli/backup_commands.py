"""`backup` and `restore`: all runs as one file, and back, while a dashboard is open."""

from __future__ import annotations

import argparse
from pathlib import Path

from ecv_core.cli.exit_codes import OK
from ecv_core.store.backup import back_up, restore
from ecv_core.store.store import open_store


def backup_options(parser: argparse.ArgumentParser) -> None:
    """The options of `backup`."""
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")
    parser.set_defaults(command=write_copy)


def restore_options(parser: argparse.ArgumentParser) -> None:
    """The options of `restore`."""
    parser.add_argument("file", type=Path, help="what 'backup' wrote")
    parser.set_defaults(command=bring_back)


def write_copy(options: argparse.Namespace) -> int:
    """Copy all runs into a file."""
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {runs} {'run' if runs == 1 else 'runs'}, {size:.1f} MB")
    return OK


def bring_back(options: argparse.Namespace) -> int:
    """Put a copy in the place of all runs."""
    runs, before = restore(open_store(), options.file)
    print(
        f"{runs} {'run is' if runs == 1 else 'runs are'} here now; those of before are in {before}"
    )
    return OK
