"""`study`: datasets x algorithms x splits as recorded runs, whole or up to a rule's stop.

It goes on where it was cut off.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ecv_core import splits, stopping
from ecv_core.cli.exit_codes import OK
from ecv_core.cli.setting_options import add_rule_params, add_setting, asked_rule_params
from ecv_core.errors import InputError, RunError
from ecv_core.jobs import GivesUp
from ecv_core.jobs.plans.study import USUAL_SPLIT, Cell, compute, planned, with_obstacles
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.runs.recorded import FOLDER
from ecv_core.store import open_store
from ecv_core.words import counted

ALSO = ("recall@10",)
"""Kept per user besides the score where splits are compared: the other metric of the paper on them.
"""


_STOPS = (
    "for slow models: end each run at the stop of this rule, mostly precision, and record it in "
    f"FOLDER/stopped; one of {', '.join(stopping.RULES)}. Without it all folds are run. What is "
    "recorded whole is not run again."
)


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
    parser.add_argument(
        "--space",
        metavar="default",
        help="with --splits: a whole search space of each algorithm, on one dataset",
    )
    parser.add_argument("--json", metavar="FILE", help="with --space; - for stdout")
    add_setting(parser, "seed")
    add_setting(parser, "rule", help=_STOPS, metavar="precision")
    add_rule_params(parser)
    parser.add_argument("--folder", default=str(FOLDER), help="default data/recorded")
    parser.add_argument(
        "--summary", action="store_true", help="run nothing; print what the recorded runs say"
    )
    parser.set_defaults(command=run_study)


def run_study(options: argparse.Namespace) -> int:
    """Run what is missing, one after the other; with --summary, print what is there instead."""
    settings = _stopping(options)
    if options.summary:
        from ecv_core.cli.study_summary import print_summary

        return print_summary(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease; or give --summary"
        )
    if options.space:
        from ecv_core.cli.study_spaces import study_spaces

        return study_spaces(options)
    if options.json:
        raise InputError("--json belongs to --space; runs of a study are recorded in --folder")
    wanted = _possible(
        planned(
            options.datasets.split(","),
            options.algorithms.split(","),
            [name for name in options.splits.split(",") if name],
            folder=Path(options.folder),
            seed=options.seed,
            **settings,
        )
    )
    todo = [cell for cell in wanted if not cell.recorded]
    print(f"{counted(len(wanted), 'run')}, {len(todo)} to compute", file=sys.stderr)
    failed = []
    with tqdm(total=sum(cell.spec.k for cell in todo), unit="fold", disable=None) as bar:

        def on_fold(run: Run) -> None:
            bar.set_description(_name(run.spec))
            bar.update(1)

        def on_end(cell: Cell) -> None:
            assert cell.run is not None
            if cell.run.state is RunState.FINISHED:
                tqdm.write(f"{cell.path}", file=sys.stdout)
            else:
                failed.append(f"{_name(cell.spec)}: {cell.run.error or cell.run.state}")

        compute(
            open_store(),
            todo,
            on_fold=on_fold,
            on_end=on_end,
            trouble=GivesUp(partial(tqdm.write, file=sys.stderr)),
            also=ALSO if options.splits else (),
        )
    if failed:
        raise RunError("; ".join(failed))
    return OK


def _stopping(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of when to stop; without a rule all folds are run.

    Raises: InputError for a setting that would be ignored.
    """
    papers = stopping.axis_of(stopping.PAPERS_RULE).name
    rule = options.rule or stopping.PAPERS_RULE
    params = asked_rule_params(options, rule)
    if options.rule is None:
        if not {*params} <= {papers}:
            raise InputError("--rule-param belongs to a rule; give --rule too, or leave it out")
        return {"full": True}
    for name in ("summary", "space", "splits"):
        if getattr(options, name):
            raise InputError(f"--rule does not go with --{name}; leave one of them out")
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
    return " ".join(words if spec.split == USUAL_SPLIT else [*words, spec.split])
