"""`study`: datasets x algorithms x splits as whole recorded runs; goes on where it was cut off."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

import ecv_core.datasets as datasets
from ecv_core import splits
from ecv_core.cli.exit_codes import OK
from ecv_core.cli.setting_options import add_setting
from ecv_core.errors import DatasetError, InputError, RunError
from ecv_core.fold import check_needs, prepared
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.runner import work
from ecv_core.runs.recorded import FOLDER
from ecv_core.store import open_store
from ecv_core.study import recording as study

ALSO = ("recall@10",)
"""Kept per user besides the score where splits are compared: the other metric of the paper on them.
"""


def study_options(parser: argparse.ArgumentParser) -> None:
    """The options of `study`."""
    parser.add_argument("--datasets", default="", metavar="A,B", help="ids, with commas")
    parser.add_argument("--algorithms", default="", metavar="A,B", help="ids, with commas")
    parser.add_argument(
        "--splits",
        default="",
        metavar="A,B",
        help=f"compare splits, single ones too: of {', '.join(splits.SPLITS)}",
    )
    add_setting(parser, "seed")
    parser.add_argument("--folder", default=str(FOLDER), help="default data/recorded")
    parser.add_argument(
        "--summary", action="store_true", help="run nothing; print what the recorded runs say"
    )
    add_setting(parser, "alpha", help="of the summary")
    parser.set_defaults(command=run_study)


def run_study(options: argparse.Namespace) -> int:
    """Run what is missing, cell by cell; with --summary, print what is there instead."""
    if options.summary:
        from ecv_core.cli.study_summary import print_summary

        return print_summary(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease; or give --summary"
        )
    wanted = study.cells(
        options.datasets.split(","),
        options.algorithms.split(","),
        [name for name in options.splits.split(",") if name],
        seed=options.seed,
        folder=Path(options.folder),
    )
    wanted = _possible(wanted)
    todo = [cell for cell in wanted if not cell.done]
    print(f"{len(wanted)} cells, {len(todo)} to run", file=sys.stderr)
    failed = []
    with tqdm(total=sum(cell.spec.k for cell in todo), unit="fold", disable=None) as bar:

        def on_fold(run: Run) -> None:
            bar.set_description(_name(run.spec))
            bar.update(1)

        also = ALSO if options.splits else ()
        runs = study.run_cells(open_store(), todo, job=work, on_fold=on_fold, also=also)
        for cell, run in runs:
            if run.state is RunState.FINISHED:
                tqdm.write(f"{cell.path}", file=sys.stdout)
            else:
                failed.append(f"{_name(run.spec)}: {run.error or run.state}")
    if failed:
        raise RunError("; ".join(failed))
    return OK


def _possible(wanted: list[study.Cell]) -> list[study.Cell]:
    """Those whose dataset is on disk and can serve split and algorithm; the others are named."""
    known: dict[tuple[str, str], str | None] = {}
    possible, left_out = [], []
    for cell in wanted:
        of_data = cell.spec.dataset, cell.spec.split
        if not cell.done and of_data not in known:
            known[of_data] = _unable(*of_data)
        why = None if cell.done else known[of_data]
        if why is None and not cell.done:
            try:
                check_needs(cell.spec)
            except DatasetError as error:
                why = str(error)
        if why is None:
            possible.append(cell)
        else:
            left_out.append(why)
    for why in dict.fromkeys(left_out):
        print(f"left out: {why}", file=sys.stderr)
    return possible


def _unable(dataset: str, split: str) -> str | None:
    """Why a dataset cannot be read or split; None where it can."""
    if not datasets.available(datasets.entry(dataset)):
        return f"{dataset} is not on disk"
    return None if split == study.USUAL_SPLIT else splits.obstacle(prepared(dataset), split)


def _name(spec: RunSpec) -> str:
    words = [spec.dataset, spec.algorithm]
    return " ".join(words if spec.split == study.USUAL_SPLIT else [*words, spec.split])
