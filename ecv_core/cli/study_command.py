"""`study`: datasets x algorithms x splits as runs, whole or up to a rule's stop.

They are in the database, and with --folder also recorded there. It goes on where it was cut off.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from ecv_core import splits, stopping
from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.rules import curves_of_run
from ecv_core.analysis.tuning.under_splits import planned_spaces
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
from ecv_core.cli.output import OK, check_target, write_json
from ecv_core.energy.parts import left_out_words
from ecv_core.figures.study_summary import (
    WITHIN_PERCENT,
    recorded_study,
    scores_frame,
    summary,
    systems_of,
)
from ecv_core.figures.words import counted, metric_label
from ecv_core.jobs.plans.study import (
    Cell,
    answers,
    compute,
    filled,
    of_the_paper,
    planned,
    with_obstacles,
)
from ecv_core.jobs.plans.tune import run_spaces
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import Run, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan
from ecv_core.store.recorded import FOLDER, recorded_stopped
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

# `study --splits A,B --space ...`: whole search spaces under several splits.


def study_spaces(options: argparse.Namespace) -> int:
    """Compute what is missing, and say how alike the splits rank the configurations."""
    check_target(options.json)
    if "," in options.datasets:
        raise InputError("--space takes one dataset at a time; give --datasets one id")
    planned = planned_spaces(
        options.datasets,
        options.algorithms.split(","),
        [name for name in options.splits.split(",") if name],
        options.space,
        seed=options.seed,
        **machine_settings(options),
    )
    folds = sum(spec.k * len(configurations) for spec, configurations in planned)
    each = sum(len(configurations) for _, configurations in planned)
    print(
        f"{counted(each, 'configuration')} in all splits, at most {counted(folds, 'fold')}",
        file=sys.stderr,
    )
    with tqdm(total=folds, unit="fold", disable=None) as bar, place_of(options) as executor:
        found = run_spaces(
            open_store(),
            planned,
            executor=executor,
            share=True,
            on_fold=lambda: bar.update(1),
            trouble=gives_up(),
        )
    write_json(found.document(), options.json)
    if options.json == "-":
        return OK
    for split, scores in found.scores.items():
        best = int(scores.argmax())
        print(f"{split}: best {found.names[best]}, {found.metric} {scores[best]:.4f}")
    for one in found.agreements:
        print(
            f"{one.split} and {one.other}: Kendall's tau {one.tau:.2f} "
            f"({one.low:.2f} to {one.high:.2f}); the best of the first is "
            f"{one.best_loss_percent:.2g} % below the best of the second there"
        )
    return OK


# `study --summary`: what the recorded runs say at one alpha, as the page Studies shows it.


def print_summary(options: argparse.Namespace) -> int:
    """Print the tables.

    Raises: InputError for an alpha that cannot be, or where no run is recorded.
    """
    axis = axis_of(PAPERS_RULE)
    alpha = float(axis.parse(axis.default if options.alpha is None else options.alpha))
    folder = Path(options.folder or FOLDER)
    runs = recorded_study(folder)
    found = summary(systems_of(runs, ids=True), alpha)
    curves: dict[str, dict[int, Curve]] = {}
    results = Results(None, folder=folder)
    for number, run in enumerate(runs):
        found_curves = curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT)
        for rule, curve in found_curves.items():
            curves.setdefault(rule, {})[number] = curve
    head = found.headline.iloc[0]
    print(
        f"{len(runs)} runs at alpha {found.alphas[0]:.3g}: difference to k-fold "
        f"{head['difference_percent']:.2f} % (paper "
        f"{PAPER_DIFFERENCE_PERCENT}), {head['mean_stop']:.2f} folds (paper {PAPER_STOP}), "
        f"{head['energy_percent']:.1f} % of the energy (paper {PAPER_COST_PERCENT}; "
        f"{head['folds_percent']:.1f} % by fold count, {head['joules_percent']:.1f} % of total "
        "energy)"
    )
    if out := left_out_words(runs):
        print(out)
    if papers := [number for number, run in enumerate(runs) if of_the_paper(run.spec)]:
        own = found.headline_of(papers).iloc[0]
        print(
            f"the paper's cells, {len(papers)} of 30: {own['difference_percent']:.2f} %, "
            f"{own['mean_stop']:.2f} folds, {own['energy_percent']:.1f} % of the energy"
        )
    early = [run for run in recorded_stopped(folder) if not run.whole]
    for title, frame in (
        ("Runs (figures 2 and 3)", found.cells),
        ("Ranks (figure 4)", found.ranks),
        ("What stays", found.stability),
        (
            "Scores, those with fewer than k folds in no average",
            scores_frame([*runs, *early], ids=True),
        ),
        ("Rules", found.rules(curves)),
    ):
        print(f"\n{title}")
        print(_text(frame.drop(columns="alpha", errors="ignore")))
    return OK


def _text(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(sep="\t", index=False, float_format="%.4g")).rstrip()


ALSO = ("recall@10",)
"""Kept per user besides the score where splits are compared: the other metric of the paper on them.
"""


_STOPS = (
    "for slow models: end each run at the stop of this rule, mostly precision; one of "
    f"{', '.join(stopping.RULES)}. Without it all folds are run. What is there whole is not run "
    "again."
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
    add_setting(parser, "rule", help=_STOPS)
    add_rule_params(parser)
    add_place(parser)
    add_machine_options(parser)
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="also record each run there, as data/recorded has them; with --summary: what is read "
        "(default: the recorded runs)",
    )
    parser.add_argument(
        "--summary", action="store_true", help="run nothing; print what the recorded runs say"
    )
    parser.set_defaults(command=run_study)


def run_study(options: argparse.Namespace) -> int:
    """Run what is missing, one after the other; with --summary, print what is there instead."""
    settings = _stopping(options)
    if options.summary:
        return print_summary(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease; or give --summary"
        )
    if options.space:
        return study_spaces(options)
    if options.json:
        raise InputError("--json belongs to --space; --folder has runs of a study as JSON")
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
                on_fold=on_fold,
                on_end=on_end,
                trouble=gives_up(),
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
    return " ".join(words if spec.split == spec.task.usual_split else [*words, spec.split])
