"""`study`: datasets x algorithms, each a whole run, recorded; go on where it was cut off."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from ecv_core import datasets, study
from ecv_core.cli.exit_codes import OK
from ecv_core.errors import InputError, RunError
from ecv_core.records import Run, RunState
from ecv_core.runner import work
from ecv_core.store import open_store


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
        seed=options.seed,
        folder=Path(options.folder),
    )
    absent = {
        cell.spec.dataset
        for cell in wanted
        if not datasets.available(datasets.entry(cell.spec.dataset))
    }
    for dataset in sorted(absent):
        print(f"{dataset} is not on disk and is left out", file=sys.stderr)
    todo = [cell for cell in wanted if not cell.done and cell.spec.dataset not in absent]
    print(f"{len(wanted)} cells, {len(todo)} to run", file=sys.stderr)
    failed = []
    with tqdm(total=sum(cell.spec.k for cell in todo), unit="fold", disable=None) as bar:

        def on_fold(run: Run) -> None:
            bar.set_description(f"{run.spec.dataset} {run.spec.algorithm}")
            bar.update(1)

        runs = study.run_cells(open_store(), todo, job=work, on_fold=on_fold)
        for cell, run in runs:
            if run.state is RunState.FINISHED:
                tqdm.write(f"{cell.path}", file=sys.stdout)
            else:
                failed.append(f"{run.spec.dataset} {run.spec.algorithm}: {run.error or run.state}")
    if failed:
        raise RunError("; ".join(failed))
    return OK
