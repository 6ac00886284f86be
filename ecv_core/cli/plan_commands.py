"""`study`, `tune` and `power`: many runs at once, and which parameters are best."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ecv_core import dataset as datasets
from ecv_core import models, splits, stopping
from ecv_core.cli import answer
from ecv_core.cli.options import (
    OF_MACHINE,
    add_place,
    add_rule_params,
    add_setting,
    add_settings,
    asked_rule_params,
    gives_up,
    machine_settings,
    named_values,
    place_of,
    showing_phase,
)
from ecv_core.cli.select_command import add_comparison, compared
from ecv_core.figures.words import counted, metric_label
from ecv_core.jobs.book import Says
from ecv_core.jobs.plans import study as studies
from ecv_core.jobs.plans.study import Cell
from ecv_core.jobs.plans.tune import make_tuning, tune
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.tuning.metrics_study import (
    dominance_frame,
    find_tuning,
    power_document,
    powers_frame,
    study_metrics,
)
from ecv_core.selection.tuning.spaces import space_of
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan
from ecv_core.store.store import open_store

# `study`: datasets x algorithms x splits as runs, whole or up to a rule's stop. They are in the
# database, and with --folder also recorded there. It goes on where it was cut off.

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
    add_settings(parser, OF_MACHINE)
    parser.add_argument(
        "--folder", metavar="FOLDER", help="also record each run there, as data/recorded has them"
    )


def study_command(options: argparse.Namespace) -> None:
    settings = _stopping(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease"
        )
    folder = Path(options.folder) if options.folder else None
    wanted = _possible(
        studies.planned(
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
    cells = wanted if folder else studies.filled(wanted, store)
    for cell in cells:
        if cell.run is not None and cell.answered:
            print(f"{_result(cell.run)}, there already")
    todo = [cell for cell in cells if not (cell.recorded or cell.answered)]
    print(f"{counted(len(wanted), 'run')}, {len(todo)} to compute", file=sys.stderr)
    if todo:
        keep_plan(store, STUDY, [PlannedRun(spec=cell.spec) for cell in wanted])
    failed = []
    with tqdm(total=sum(cell.spec.k for cell in todo), unit="fold", disable=None) as bar:

        def on_fold(run: RunRecord) -> None:
            bar.set_description(_name(run.spec))
            bar.update(1)

        def on_end(cell: Cell) -> None:
            assert cell.run is not None
            if cell.run.state is RunState.FINISHED:
                tqdm.write(f"{cell.path or _result(cell.run)}", file=sys.stdout)
            else:
                failed.append(f"{_name(cell.spec)}: {cell.run.error or cell.run.state}")

        with place_of(options, no_energy=options.no_energy) as executor:
            studies.compute(
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


def _result(run: RunRecord) -> str:
    """What a run found, as a line."""
    at = run.at_stop
    mean = "" if at is None else f": {metric_label(run.spec)} {at.mean:.4f} over {at.n} of {run.k}"
    return f"{run.run_id} {_name(run.spec)}{mean} folds, {len(run.folds)} run"


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
    why = dict(studies.with_obstacles(cell for cell in wanted if not cell.recorded))
    for sentence in dict.fromkeys(filter(None, why.values())):
        print(f"left out: {sentence}", file=sys.stderr)
    return [cell for cell in wanted if why.get(cell) is None]


def _name(spec: RunSpec) -> str:
    words = [spec.dataset, spec.algorithm]
    return " ".join(words if spec.split == spec.task.usual_split else [*words, spec.split])


def tune_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset")
    parser.add_argument("algorithm")
    parser.add_argument(
        "--space", help="declared values: default or paper; with --grid, none unless asked for"
    )
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2",
        help="your own values of a parameter, in place of declared ones",
    )
    parser.add_argument(
        "--sampler",
        choices=("grid", "random", "tpe"),
        default="grid",
        help="which configurations are tried: all, or drawn by Optuna",
    )
    parser.add_argument(
        "--budget",
        type=int,
        metavar="N",
        help="so many configurations (default: a grid's all, otherwise 20)",
    )
    parser.add_argument(
        "--all-folds", action="store_true", help="run every fold of every configuration"
    )
    add_comparison(parser)


def tune_command(options: argparse.Namespace) -> None:
    """Say how much it is, run it, and say what was found."""
    own = {name: _values(text) for name, text in named_values(options.grid, "--grid").items()}
    space_of(models.algorithm(options.algorithm), options.space, own)  # before data are read
    settings = compared(options, options.dataset, models.algorithm(options.algorithm).task)
    plan = make_tuning(
        dataset=options.dataset,
        algorithm=options.algorithm,
        space=options.space,
        own=own,
        sampler=options.sampler,
        budget=options.budget,
        confidence=options.confidence,
        indifference=options.indifference,
        all_folds=options.all_folds,
        **settings,
    )
    store = open_store()
    for name, values in plan.left_out.items():
        print(
            f"left out: {name} {', '.join(map(str, values))}, more than {plan.spec.dataset} has",
            file=sys.stderr,
        )
    folds = plan.budget * plan.spec.k
    most = "" if plan.all_folds else "at most "
    print(
        f"{counted(plan.budget, 'configuration')}, {most}{counted(folds, 'fold')}", file=sys.stderr
    )
    with (
        tqdm(total=folds, unit="fold", disable=None, leave=False) as bar,
        place_of(options, no_energy=options.no_energy) as executor,
    ):
        says = Says(fold=lambda run: bar.update(1), trouble=gives_up(), progress=showing_phase(bar))
        tuned = tune(store, plan, executor=executor, speculate=options.speculate, says=says)
    answer(options, tuned.document(), tuned.sentence)


def _values(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def power_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset")
    parser.add_argument("algorithm")
    parser.add_argument(
        "--pairs",
        choices=("all", "25"),
        default="all",
        help="the exact expectation of a draw of 25 pairs over all pairs, or one draw",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument(
        "--metric", metavar="ndcg@10", help="that dominance is worked out by (default ndcg@10)"
    )
    parser.add_argument(
        "--own", action="store_true", help="your own tuning, where there is a recorded one too"
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")


def power_command(options: argparse.Namespace) -> None:
    datasets.entry(options.dataset)
    models.algorithm(options.algorithm)

    scores = find_tuning(open_store(), options.dataset, options.algorithm, own=options.own)
    found = study_metrics(scores, pairs=options.pairs, seed=options.seed, metric=options.metric)
    heads = ["metric", "DP", "DP + sd", "told apart, %", "DP, Holm", "apart, Holm, %"]
    tables = [
        frame.to_string(index=False, header=header, float_format="{:.3f}".format)
        for frame, header in ((powers_frame(found), heads), (dominance_frame(found), True))
        if len(frame)
    ]
    answer(options, power_document(found), "\n\n".join([found.sentence(), *tables]))
