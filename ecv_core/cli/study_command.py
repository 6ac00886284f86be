"""`study`: datasets x algorithms x splits as runs, whole or up to a rule's stop.

They are in the database, and with --folder also recorded there. It goes on where it was cut off.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ecv_core import splits, stopping
from ecv_core.cli.options import (
    add_machine_options,
    add_place,
    add_rule_params,
    add_setting,
    asked_rule_params,
    gives_up,
    machine_settings,
    place_of,
)
from ecv_core.cli.output import OK
from ecv_core.figures.words import counted, metric_label
from ecv_core.jobs.book import Says
from ecv_core.jobs.plans.study import (
    Cell,
    answers,
    compute,
    filled,
    planned,
    with_obstacles,
)
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import Run, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan
from ecv_core.store.store import open_store

ALSO = ("recall@10",)
"""Kept per user besides the score where splits are compared: the other metric of the paper on them.
"""


_STOPS = (
    "for slow models: end each run at the stop of this rule, mostly precision; one of "
    f"{', '.join(stopping.RULES)}. Without it all folds are run. What is there whole is not run "
    "again."
)


def study_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--datasets", default="", metavar="A,B", help="ids, with commas")
    parser.add_argument("--algorithms", default="", metavar="A,B", help="ids, with commas")
    parser.add_argument(
        "--splits",
        default="",
        metavar="A,B",
        help=f"compare splits, single ones too: of {', '.join(splits.SPLITS)}",
    )
    add_setting(parser, "seed")
    add_setting(parser, "rule", help=_STOPS)
    add_rule_params(parser)
    add_place(parser)
    add_machine_options(parser)
    parser.add_argument(
        "--folder", metavar="FOLDER", help="also record each run there, as data/recorded has them"
    )
    parser.set_defaults(command=run_study)


def run_study(options: argparse.Namespace) -> int:
    settings = _stopping(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease"
        )
    folder = Path(options.folder) if options.folder else None
    wanted = _possible(
        planned(
            options.datasets.split(","),
            options.algorithms.split(","),
            [name for name in options.splits.split(",") if name],
            folder=folder,
            seed=options.seed,
            **settings,
            **machine_settings(options),
        )
    )
    store = open_store()
    todo = [cell for cell in wanted if not cell.recorded]
    if folder is None:
        there = {cell.spec: cell.run for cell in filled(wanted, store)}
        todo = [cell for cell in wanted if not _there(there.get(cell.spec), cell.spec)]
        for spec, run in there.items():
            if run is not None and _there(run, spec):
                print(f"{_result(run)}, there already")
    print(f"{counted(len(wanted), 'run')}, {len(todo)} to compute", file=sys.stderr)
    if todo:
        keep_plan(store, STUDY, [PlannedRun(spec=cell.spec) for cell in wanted])
    failed = []
    with tqdm(total=sum(cell.spec.k for cell in todo), unit="fold", disable=None) as bar:

        def on_fold(run: Run) -> None:
            bar.set_description(_name(run.spec))
            bar.update(1)

        def on_end(cell: Cell) -> None:
            assert cell.run is not None
            if cell.run.state is RunState.FINISHED:
                tqdm.write(f"{cell.path or _result(cell.run)}", file=sys.stdout)
            else:
                failed.append(f"{_name(cell.spec)}: {cell.run.error or cell.run.state}")

        with place_of(options) as executor:
            compute(
                store,
                todo,
                executor=executor,
                speculate=options.speculate,
                says=Says(fold=on_fold, trouble=gives_up()),
                on_end=on_end,
                also=ALSO if options.splits else (),
            )
    if failed:
        raise RunError("; ".join(failed))
    return OK


def _there(run: Run | None, spec: RunSpec) -> bool:
    return run is not None and answers(run, spec)


def _result(run: Run) -> str:
    """What a run found, as a line."""
    at = run.at_stop
    mean = "" if at is None else f": {metric_label(run.spec)} {at.mean:.4f}"
    return f"{run.run_id} {_name(run.spec)}{mean}, {run.folds_used} of {run.k} folds"


def _stopping(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of when to stop; without a rule all folds are run.

    Raises: InputError for a setting that would be ignored.
    """
    rule = options.rule or stopping.PAPERS_RULE
    params = asked_rule_params(options, rule)
    if options.rule is None:
        if params:
            raise InputError("a parameter of a rule asks for --rule too; give it, or leave it out")
        return {"full": True}
    if options.splits:
        raise InputError("--rule does not go with --splits; leave one of them out")
    if not stopping.rule(rule).looks and rule != stopping.NEVER_STOPS:
        raise InputError(
            f"--rule {rule} would stop every run after the same fold; use a rule that looks at "
            "the scores, or run all folds"
        )
    return {"rule": rule, "rule_params": params}


def _possible(wanted: list[Cell]) -> list[Cell]:
    """Those that are recorded or can be run; why the others cannot is said."""
    why = dict(with_obstacles(cell for cell in wanted if not cell.recorded))
    for sentence in dict.fromkeys(filter(None, why.values())):
        print(f"left out: {sentence}", file=sys.stderr)
    return [cell for cell in wanted if why.get(cell) is None]


def _name(spec: RunSpec) -> str:
    words = [spec.dataset, spec.algorithm]
    return " ".join(words if spec.split == spec.task.usual_split else [*words, spec.split])
