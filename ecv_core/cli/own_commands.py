"""`add`, `rename` and `remove`: datasets of one's own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ecv_core.cli import program
from ecv_core.cli.exit_codes import OK

if TYPE_CHECKING:
    from ecv_core.dataset._about import About

_SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "colons": "::", "space": " "}
_YES_NO = {"yes": True, "no": False}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `add`."""
    from ecv_core.dataset.own.layout import ENCODINGS, NONE, OPTIONS, TimeUnit

    parser.add_argument("name", help="what the dataset is to be called")
    parser.add_argument(
        "file", type=Path, help="CSV, TSV, JSON lines or Parquet; or a ZIP or GZ of one"
    )
    for role, option in OPTIONS.items():
        parser.add_argument(
            option,
            dest=role,
            metavar="COLUMN",
            help=f"the column of the {option[2:]}, by name or number from 1; '{NONE}' for none. "
            "Default: as recognised.",
        )
    parser.add_argument(
        "--time-unit", choices=[unit.value for unit in TimeUnit], help="how timestamps are written"
    )
    parser.add_argument("--separator", choices=list(_SIGNS), help="between the columns")
    parser.add_argument("--encoding", choices=list(ENCODINGS), help="of the text")
    parser.add_argument("--header", choices=list(_YES_NO), help="does the first line name columns?")
    parser.add_argument(
        "--quotes", choices=list(_YES_NO), help='may fields stand in quotation marks (")?'
    )
    parser.set_defaults(command=add)


def rename_options(parser: argparse.ArgumentParser) -> None:
    """The options of `rename`."""
    parser.add_argument("name", help="a dataset that was added")
    parser.add_argument("new", help="what it is to be called")
    parser.set_defaults(command=rename)


def remove_options(parser: argparse.ArgumentParser) -> None:
    """The options of `remove`."""
    parser.add_argument("name", help="a dataset that was added; its runs stay")
    parser.set_defaults(command=remove)


def add(options: argparse.Namespace) -> int:
    """Read a file, say what of it can be used, and keep it as a dataset."""
    from tqdm import tqdm

    from ecv_core.dataset.own import Corrections, add_file
    from ecv_core.dataset.own.layout import OPTIONS, TimeUnit

    asked = Corrections(
        encoding=options.encoding,
        separator=_SIGNS.get(options.separator),
        header=_YES_NO.get(options.header),
        quotes=_YES_NO.get(options.quotes),
        unit=None if options.time_unit is None else TimeUnit(options.time_unit),
        columns={role: given for role in OPTIONS if (given := getattr(options, role)) is not None},
    )
    bar_format = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with tqdm(total=1000, bar_format=bar_format, disable=None, leave=False) as bar:

        def report(doing: str, done: int, total: int) -> None:
            bar.set_description(doing, refresh=False)
            bar.update((1000 * done // total if total else 0) - bar.n)

        about, layout = add_file(options.name, options.file, asked, report)
    columns = ", ".join(f"{role} = {name}" for role, name in about.columns.items())
    print(f"{layout.form.value}: {columns}", file=sys.stderr)
    print("\n".join(summary(about)))
    print(f"kept as {options.name}: {program()} run {options.name} item-knn")
    return OK


def summary(about: About) -> list[str]:
    """What of a file can be used, and what is left by pruning, line by line."""
    lines = [f"{about.kept:,} of {about.rows:,} rows can be used"]
    lines += [f"  {count:,} not: {reason}" for reason, count in about.unused.items()]
    lines.append(
        f"{about.raw_users:,} users, {about.raw_items:,} items; after 5-core pruning "
        f"{about.users:,} users, {about.items:,} items, {about.interactions:,} interactions, "
        f"density {about.density:.3%}"
    )
    return lines


def rename(options: argparse.Namespace) -> int:
    """Give a dataset another name."""
    from ecv_core.dataset import own

    own.rename(options.name, options.new)
    print(f"{options.name} is called {options.new} now; its runs keep the name that they had")
    return OK


def remove(options: argparse.Namespace) -> int:
    """Delete a dataset."""
    from ecv_core.dataset import own

    own.remove(options.name)
    print(f"{options.name} is deleted; its runs stay")
    return OK
