"""`study`, `tune` and `power`: many runs at once, and which parameters are best."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from ecv_core import dataset as datasets
from ecv_core import models, splits, stopping
from ecv_core.cli import say, write_answer
from ecv_core.cli.options import (
    ALGORITHM,
    DATASET,
    OF_MACHINE,
    add_executor_options,
    add_json,
    add_rule_params,
    add_setting,
    add_settings,
    executor_of,
    named_values,
    rule_params_from_options,
    showing_phase,
    values_of,
    warning_of_failed_saves,
)
from ecv_core.cli.select_command import add_selection_options, shared_settings
from ecv_core.cli.terminal import discard_stdout
from ecv_core.figures.words import counted, metric_label
from ecv_core.jobs.plan_runs import Callbacks
from ecv_core.jobs.plans import study as studies
from ecv_core.jobs.plans.study import Cell
from ecv_core.jobs.plans.tune import make_tuning, tune
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.parameters import score_text
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
from ecv_core.store.store import Store, open_store

if TYPE_CHECKING:
    import pandas as pd

# `study`: datasets x algorithms x splits as runs, whole or up to a rule's stop. They are in the
# database, and with --folder also recorded there. It goes on where it was cut off.

MORE_METRICS_OF_SPLITS = ("recall@10",)
"""Whose scores of users are kept, too, where splits are compared: the paper on splits has it."""
_STOPS = (
    "For slow models: stop each run by this rule, usually precision. One of: "
    f"{', '.join(stopping.RULES)}. Without it, all folds are run. Complete runs are not run "
    "again."
)


def study_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--datasets", default="", metavar="A,B", help="Ids of datasets, with commas."
    )
    parser.add_argument(
        "--algorithms", default="", metavar="A,B", help="Ids of algorithms, with commas."
    )
    parser.add_argument(
        "--splits",
        default="",
        metavar="A,B",
        help=(
            "Compare splits, those with a single fold too. Ids of splits, with commas, from "
            f"{', '.join(splits.SPLITS)}."
        ),
    )
    add_setting(parser, "seed")
    add_setting(parser, "rule", help=_STOPS)
    add_rule_params(parser)
    add_executor_options(parser)
    add_settings(parser, OF_MACHINE)
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="Also record each run in this folder, in the format of data/recorded.",
    )


def study_command(options: argparse.Namespace) -> None:
    possible_cells = _without_obstacles(_planned_study(options))
    store = open_store()
    cells = possible_cells
    if not options.folder:
        # Runs of the database, and those that come with e-fold, answer for cells. A folder,
        # however, is to hold every run itself, so each run that it lacks is computed.
        cells = studies.cells_with_runs(possible_cells, store)
    to_compute = []
    for cell in cells:
        if cell.recorded:
            # The folder that the options name has the run already.
            continue
        if cell.run is not None and cell.has_every_score:
            print(f"{_result_line(cell.run)}, computed before")
        else:
            to_compute.append(cell)
    say(f"{counted(len(possible_cells), 'run')}, {len(to_compute)} to compute")
    if to_compute:
        # The plan is the whole study, with the runs that need no computing.
        keep_plan(store, STUDY, [PlannedRun(spec=cell.spec) for cell in possible_cells])
    failures = _compute_study(store, to_compute, options)
    if failures:
        raise RunError("; ".join(failures))


def _planned_study(options: argparse.Namespace) -> list[Cell]:
    """A run of each combination that the options name.

    Raises:
        InputError: Where datasets or algorithms are not said, or a setting cannot be.
    """
    settings = _stop_settings(options)
    if not (options.datasets and options.algorithms):
        raise InputError(
            "a study needs --datasets and --algorithms, such as --datasets ml-100k,ml-1m "
            "--algorithms popular,ease"
        )
    folder = None
    if options.folder:
        folder = Path(options.folder)
    return studies.planned_cells(
        options.datasets.split(","),
        options.algorithms.split(","),
        [name for name in options.splits.split(",") if name],
        folder=folder,
        seed=options.seed,
        **settings,
        **values_of(options, OF_MACHINE),
    )


def _compute_study(store: Store, cells: Sequence[Cell], options: argparse.Namespace) -> list[str]:
    """Compute the runs, and say of each what it found; a sentence for each that failed."""
    failures = []
    more_metrics: tuple[str, ...] = ()
    if options.splits:
        more_metrics = MORE_METRICS_OF_SPLITS
    with tqdm(total=sum(cell.spec.k for cell in cells), unit="fold", disable=None) as bar:

        def show_fold(run: RunRecord) -> None:
            bar.set_description(_name(run.spec))
            bar.update(1)

        def show_end(cell: Cell) -> None:
            # A cell that was computed has its run.
            assert cell.run is not None
            if cell.run.state is RunState.FINISHED:
                # A run that was recorded has a file, which is named. Any other run is only in the
                # database, so its result is shown.
                try:
                    tqdm.write(f"{cell.path or _result_line(cell.run)}", file=sys.stdout)
                except BrokenPipeError:
                    # Whoever reads the output has seen enough. The other runs go on.
                    discard_stdout()
            else:
                failures.append(f"{_name(cell.spec)}: {cell.run.error or cell.run.state}")

        with executor_of(options, no_energy=options.no_energy) as executor:
            studies.compute_study(
                store,
                cells,
                executor=executor,
                speculate=options.speculate,
                callbacks=Callbacks(fold=show_fold, trouble=warning_of_failed_saves()),
                on_end=show_end,
                more_metrics=more_metrics,
            )
    return failures


def _result_line(run: RunRecord) -> str:
    """What a run found, as a line."""
    stop = run.at_stop
    # Only finished runs come here, and these have folds.
    assert stop is not None
    return (
        f"{run.run_id} {_name(run.spec)}: {metric_label(run.spec)} {score_text(stop.mean)} over "
        f"{stop.n} of {run.k} folds, {len(run.folds)} run"
    )


def _stop_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of when to stop; without a rule all folds are run.

    Raises:
        InputError: For a setting that would be ignored.
    """
    rule = options.rule or stopping.PAPERS_RULE
    params = rule_params_from_options(options, rule)
    if options.rule is None:
        if params:
            raise InputError(
                "a parameter of a rule needs --rule; give the rule, or leave the parameter out"
            )
        return {"full": True}
    if options.splits:
        raise InputError("--rule and --splits cannot be combined; leave one of them out")
    if not stopping.rule(rule).decides_by_scores and rule != stopping.NEVER_STOPS:
        raise InputError(
            f"--rule {rule} would stop every run after the same fold; choose a rule that looks "
            "at the scores, or run all folds"
        )
    return {"rule": rule, "rule_params": params}


def _without_obstacles(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that are recorded or can be run; why the others cannot is said."""
    # A recorded cell is not computed, so nothing can keep it from that.
    cells_to_run = [cell for cell in cells if not cell.recorded]
    obstacle_of_cell = dict(studies.with_obstacles(cells_to_run))
    for obstacle in dict.fromkeys(filter(None, obstacle_of_cell.values())):
        say(f"left out: {obstacle}")
    return [cell for cell in cells if obstacle_of_cell.get(cell) is None]


def _name(spec: RunSpec) -> str:
    """Dataset and algorithm, and the split where it is not the usual one."""
    name = f"{spec.dataset} {spec.algorithm}"
    if spec.split != spec.task.usual_split:
        name += f" {spec.split}"
    return name


def tune_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=DATASET)
    parser.add_argument("algorithm", help=ALGORITHM)
    parser.add_argument(
        "--space",
        help="Search space to use, default or paper. With --grid, there is none by default.",
    )
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2",
        help="Your own values of a parameter, in place of those of the search space.",
    )
    parser.add_argument(
        "--sampler",
        choices=("grid", "random", "tpe"),
        default="grid",
        help="Which configurations to try: all of them, or those that Optuna draws. Default: grid.",
    )
    parser.add_argument(
        "--budget",
        type=int,
        metavar="N",
        help="Number of configurations to try. Default: all of a grid, otherwise 20.",
    )
    parser.add_argument(
        "--all-folds", action="store_true", help="Run every fold of every configuration."
    )
    add_selection_options(parser)


def tune_command(options: argparse.Namespace) -> None:
    """Say how much it is, run it, and say what was found."""
    own_values = {}
    for name, text in named_values(options.grid, "--grid").items():
        own_values[name] = [part.strip() for part in text.split(",") if part.strip()]
    algorithm = models.algorithm(options.algorithm)
    # This is called only for its check. It refuses bad values before data are read.
    space_of(algorithm, options.space, own_values)
    settings = shared_settings(options, options.dataset, algorithm.task)
    plan = make_tuning(
        dataset=options.dataset,
        algorithm=options.algorithm,
        space=options.space,
        own_values=own_values,
        sampler=options.sampler,
        budget=options.budget,
        confidence=options.confidence,
        indifference=options.indifference,
        all_folds=options.all_folds,
        **settings,
    )
    store = open_store()
    for name, values in plan.left_out.items():
        say(f"left out: {name} {', '.join(map(str, values))}, more than {plan.spec.dataset} has")
    folds = plan.budget * plan.spec.k
    how_many = counted(folds, "fold")
    if not plan.all_folds:
        how_many = f"at most {how_many}"
    say(f"{counted(plan.budget, 'configuration')}, {how_many}")
    with (
        tqdm(total=folds, unit="fold", disable=None, leave=False) as bar,
        executor_of(options, no_energy=options.no_energy) as executor,
    ):
        callbacks = Callbacks(
            fold=lambda run: bar.update(1),
            trouble=warning_of_failed_saves(),
            progress=showing_phase(bar),
        )
        tuned = tune(
            store, plan, executor=executor, speculate=options.speculate, callbacks=callbacks
        )
    write_answer(options, tuned.document(), tuned.sentence)


def power_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=DATASET)
    parser.add_argument("algorithm", help=ALGORITHM)
    parser.add_argument(
        "--pairs",
        choices=("all", "25"),
        default="all",
        help="Compute the exact expectation over all pairs, or draw 25 pairs once. Default: all.",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="Seed of the draw of pairs. Default: 0."
    )
    parser.add_argument(
        "--metric",
        metavar="ndcg@10",
        help="Metric by which to find the dominant parameter. Default: ndcg@10.",
    )
    parser.add_argument(
        "--own",
        action="store_true",
        help="Use your own tuning, even where there is a recorded one.",
    )
    add_json(parser)


def power_command(options: argparse.Namespace) -> None:
    # These two calls refuse ids that are not known.
    datasets.entry(options.dataset)
    models.algorithm(options.algorithm)

    tuning = find_tuning(open_store(), options.dataset, options.algorithm, own=options.own)
    study = study_metrics(tuning, pairs=options.pairs, seed=options.seed, metric=options.metric)
    parts = [study.sentence()]
    powers = powers_frame(study)
    if len(powers):
        # DP, discriminative power, is the sum of the p values by which a metric tells pairs of
        # configurations apart; they are means over folds, and "DP + sd" adds to each its standard
        # deviation over folds. In the last two columns p values are corrected by Holm's method.
        heads = ["metric", "DP", "DP + sd", "told apart, %", "DP, Holm", "apart, Holm, %"]
        parts.append(_table(powers, heads))
    # A parameter is dominant if the DP of pairs that share one of its values is the least.
    dominances = dominance_frame(study)
    if len(dominances):
        parts.append(_table(dominances, list(dominances.columns)))
    write_answer(options, power_document(study), "\n\n".join(parts))


def _table(frame: pd.DataFrame, heads: list[str]) -> str:
    return frame.to_string(index=False, header=heads, float_format="{:.3f}".format)
