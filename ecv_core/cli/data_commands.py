"""`datasets`, `download`, `folds`, `add` and `remove`: what there is to evaluate on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ecv_core import dataset as datasets
from ecv_core.cli import program, say
from ecv_core.cli.options import DATASET, add_split_options, named_values, values_of
from ecv_core.dataset import own
from ecv_core.dataset.layout import ENCODINGS, NONE, OPTIONS, SEPARATORS, TimeUnit
from ecv_core.dataset.own.recognise import Recognised, first_rows_sentences, rows_not_above_zero
from ecv_core.records.errors import InputError, NotInstalled, how_to_install
from ecv_core.records.parameters import percent_text
from ecv_core.records.tasks import Task


def datasets_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON, for programs.")


def download_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=DATASET)


def folds_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=DATASET)
    parser.add_argument(
        "file",
        type=Path,
        help=(
            "Where the folds go: FILE.csv[.gz] (user_id,item_id,fold; k-fold splits only) or "
            "FILE.zip (any split, with a README)."
        ),
    )
    add_split_options(parser)


def datasets_command(options: argparse.Namespace) -> None:
    rows = datasets.listing()
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'dataset':<22}{'users':>9}{'items':>9}{'interactions':>14}  where")
    for row in rows:
        if row["samples"]:
            # A table of samples has two counts, which are as wide as the three columns of other
            # data.
            size = f"{row['samples']:,} samples, {row['features']:,} features".rjust(32)
        else:
            size = (
                f"{_count(row['users']):>9}{_count(row['items']):>9}"
                f"{_count(row['interactions']):>14}"
            )
        place_words = f"not on disk; get it with: {program()} download {row['id']}"
        if row["on_disk"]:
            place_words = "on disk"
        print(f"{row['id']:<22}{size}  {place_words}")


def _count(number: int | None) -> str:
    """A number that may not be known."""
    if not number:
        return "?"
    return f"{number:,}"


def download_command(options: argparse.Namespace) -> None:
    """Download a dataset unless it is there, after its licence."""
    entry = datasets.entry(options.dataset)
    if datasets.available(entry):
        print(f"{entry.id} is on disk already")
        return
    say(f"{entry.title}\nLicence: {entry.licence}\nPlease cite: {entry.citation}")
    from tqdm import tqdm

    with tqdm(unit="B", unit_scale=True, desc=entry.id, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        print(datasets.download(entry, show))


def folds_command(options: argparse.Namespace) -> None:
    from ecv_core import fold, models
    from ecv_core.fold.spec import make_spec
    from ecv_core.splits import exchange
    from ecv_core.store.outputs import check_folder, check_output

    algorithms = models.serving(datasets.entry(options.dataset).usual_task)
    if not algorithms:  # All models of tables are scikit-learn's, and so are the splits of tables.
        raise NotInstalled(how_to_install("sklearn"))
    spec = make_spec(
        dataset=options.dataset,
        algorithm=algorithms[0],  # Any will do: the folds are the same.
        split=options.split,
        split_params=named_values(options.split_param, "--split-param"),
        k=options.k,
        seed=options.seed,
    )
    if not options.file.name.endswith((".csv", ".csv.gz", ".zip")):
        raise InputError(
            f"folds are written to FILE.csv, FILE.csv.gz or FILE.zip, not to {options.file}"
        )
    check_folder(options.file)
    check_output(options.file)
    if options.file.suffix == ".zip":
        exchange.write_bytes(options.file, fold.split_archive(spec))
    else:
        fold.export_folds(spec, options.file)
    print(f"{options.file}: {options.dataset} split by {spec.split}, k = {spec.k}")


# Datasets of one's own.


SEPARATOR_NAMES = {name.replace(" ", "-"): sign for sign, name in SEPARATORS.items()}
"""Of the command line, by name: a tab is hard to write there."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="A name for the dataset.")
    parser.add_argument(
        "file", type=Path, help="A CSV, TSV, JSON lines or Parquet file, or a ZIP or GZ of one."
    )
    for role, option in OPTIONS.items():
        parser.add_argument(
            option,
            dest=role,
            metavar="COLUMN",
            help=f"The column of the {option[2:]}, by its name or its number, counted from 1; "
            f"'{NONE}' if there is none. Default: recognised from the file.",
        )
    parser.add_argument(
        "--time-unit", choices=[unit.value for unit in TimeUnit], help="Format of the timestamps."
    )
    parser.add_argument("--encoding", choices=list(ENCODINGS), help="Encoding of the text.")
    parser.add_argument(
        "--separator",
        choices=list(SEPARATOR_NAMES),
        help="Character between the columns.",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="Whether the first line holds the names of the columns.",
    )
    parser.add_argument(
        "--quotes",
        action=argparse.BooleanOptionalAction,
        help="Whether fields may be enclosed in quotation marks.",
    )
    parser.add_argument(
        "--above-zero",
        metavar="COLUMN",
        default="",
        help=(
            "Leave out the rows with 0 or less in this column, such as returns, or ratings of 0 "
            "that mean 'not rated'."
        ),
    )
    parser.add_argument(
        "--no-bots",
        action="store_true",
        help="Leave out users with more than a tenth of all rows, where there are many users.",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="Add it even if more than a tenth of its rows cannot be used.",
    )


def remove_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="A dataset that you added; its runs are kept.")


def add_command(options: argparse.Namespace) -> None:
    """Read a file, say what of it can be used, and keep it as a dataset."""
    from tqdm import tqdm

    unit = None
    if options.time_unit is not None:
        unit = TimeUnit(options.time_unit)
    layout_fields = values_of(options, ("encoding", "header", "quotes"))
    if options.separator is not None:
        layout_fields["separator"] = SEPARATOR_NAMES[options.separator]
    bar_format = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with tqdm(total=1000, bar_format=bar_format, disable=None, leave=False) as bar:

        def show(phase: str, done: int, total: int) -> None:
            bar.set_description(phase, refresh=False)
            thousandths = 0
            if total:
                thousandths = 1000 * done // total
            bar.update(thousandths - bar.n)

        # `own` is the module of datasets that users add.
        facts, recognised_file = own.add_file(
            options.name,
            options.file,
            values_of(options, OPTIONS),
            show,
            unit=unit,
            layout_fields=layout_fields,
            leave_out=own.LeaveOut(options.above_zero, options.no_bots),
            even_if_lossy=options.yes,
        )
    columns = ", ".join(f"{role} = {name}" for role, name in facts.columns.items())
    say(f"{recognised_file.layout.form.value}: {columns}")
    for sentence in first_rows_sentences(recognised_file):
        say(sentence)
    _offer_to_leave_out(recognised_file)
    print("\n".join(summary(facts)))
    algorithm = (facts.task or Task.TOP_N).usual_algorithm
    print(f"added as {options.name}; run it with: {program()} run {options.name} {algorithm}")


def _offer_to_leave_out(recognised: Recognised) -> None:
    """Say how rows of 0 or less are left out, where there are some."""
    layout = recognised.layout
    for place in rows_not_above_zero(recognised):
        if place != layout.above_zero:
            say(f"--above-zero {layout.names[place]} leaves such rows out.")


def summary(about: own.About) -> list[str]:
    """What of a file can be used, and what is left by pruning, line by line."""
    lines = [f"{about.kept:,} of {about.rows:,} rows can be used"]
    lines += [f"  {count:,} cannot: {reason}" for reason, count in about.unused.items()]
    remarks = [f"  {column} {remark}" for column, remark in about.remarks.items()]
    if about.task is not None:
        kind = "numbers"
        if about.classes:
            kind = f"{about.classes} classes"
        # Samples are counted where other data count users, and features where they count items.
        lines.append(
            f"{about.raw_users:,} samples, {about.raw_items:,} features; "
            f"target {about.columns['target']}: {kind}, {about.task.value}"
        )
        for column, reason in about.left_out.items():
            lines.append(f"  {column} is no feature: {reason}")
        return lines + remarks
    lines.append(
        f"{about.raw_users:,} users, {about.raw_items:,} items; after 5-core pruning "
        f"{about.users:,} users, {about.items:,} items, {about.interactions:,} interactions, "
        f"density {percent_text(about.density)}"
    )
    if about.busiest_words:
        lines.append(f"{about.busiest_words} (--no-bots leaves it out)")
    return lines + remarks


def remove_command(options: argparse.Namespace) -> None:
    own.remove(options.name)
    print(f"{options.name} is deleted; its runs are kept")
