"""`datasets`, `download` and `folds`: what there is to evaluate on."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import ecv_core.dataset as datasets
from ecv_core.cli import program
from ecv_core.cli.exit_codes import OK
from ecv_core.cli.options import named_values
from ecv_core.records.errors import InputError

COUNTS = ("users", "items", "interactions")


def datasets_options(parser: argparse.ArgumentParser) -> None:
    """The options of `datasets`."""
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")
    parser.set_defaults(command=list_datasets)


def download_options(parser: argparse.ArgumentParser) -> None:
    """The options of `download`."""
    parser.add_argument("dataset")
    parser.set_defaults(command=download)


def folds_options(parser: argparse.ArgumentParser) -> None:
    """The options of `folds`."""
    from ecv_core.cli.options import add_split_options
    from ecv_core.splits.exchange.archive import FORMS

    parser.add_argument("dataset")
    parser.add_argument(
        "file",
        type=Path,
        help="FILE.csv[.gz] (user_id,item_id,fold; k folds only) or FILE.zip (any split, README)",
    )
    parser.add_argument(
        "--format", choices=FORMS, default="csv", help="what FILE.zip holds (default csv)"
    )
    add_split_options(parser)
    parser.set_defaults(command=write_folds)


def list_datasets(options: argparse.Namespace) -> int:
    """List the datasets, for people or as JSON."""
    rows = datasets.listing()
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    print(f"{'dataset':<22}{'users':>9}{'items':>9}{'interactions':>14}  where")
    for row in rows:
        counts = [f"{row[name]:,}" if row[name] else "?" for name in COUNTS]
        where = "on disk" if row["on_disk"] else f"not here: {program()} download {row['id']}"
        print(f"{row['id']:<22}{counts[0]:>9}{counts[1]:>9}{counts[2]:>14}  {where}")
    return OK


def download(options: argparse.Namespace) -> int:
    """Fetch a dataset after showing its licence, with a progress bar."""
    entry = datasets.entry(options.dataset)
    print(fetch(entry) or f"{entry.id} is on disk already")
    return OK


def fetch(entry: datasets.DatasetEntry) -> Path | None:
    """Download a dataset unless it is there, after its licence; None if nothing was to do."""
    if datasets.available(entry):
        return None
    print(
        f"{entry.title}\nLicence: {entry.licence}\nPlease cite: {entry.citation}", file=sys.stderr
    )
    from tqdm import tqdm

    with tqdm(unit="B", unit_scale=True, desc=entry.id, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        return datasets.download(entry, show)


def write_folds(options: argparse.Namespace) -> int:
    """Write a split of a dataset as a file that others can use."""
    from ecv_core import fold, splits
    from ecv_core.fold.spec import make_spec

    spec = make_spec(
        dataset=options.dataset,
        algorithm="popular",  # folds do not depend on it
        split=options.split,
        split_params=named_values(options.split_param, "--split-param"),
        k=options.k,
        seed=options.seed,
    )
    if not options.file.name.endswith((".csv", ".csv.gz", ".zip")):
        raise InputError(
            f"folds are written as FILE.csv, FILE.csv.gz or FILE.zip, not as {options.file}"
        )
    archive = options.file.suffix == ".zip"
    if options.format != "csv" and not archive:
        raise InputError(f"--format {options.format} makes a FILE.zip, not {options.file}")
    if not options.file.absolute().parent.is_dir():
        raise InputError(f"the folder of {options.file} does not exist; make it first")
    if archive:
        fold.export_split(spec, options.file, options.format)
    else:
        fold.export_folds(spec, options.file)
    word = splits.strategy(spec.split).fold_word
    print(f"{options.file}: {options.dataset} split by {spec.split}, {spec.k} x {word}")
    return OK
