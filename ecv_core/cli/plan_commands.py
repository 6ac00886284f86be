"""`study`, `select`, `tune` and `power`: many runs at once, and which of several is best."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

import ecv_core.dataset as datasets
from ecv_core import models, splits, stopping
from ecv_core.analysis.score_files import read_contenders
from ecv_core.analysis.selection.contenders import check_contenders, recorded_contenders
from ecv_core.analysis.selection.document import (
    orders_document,
    selection_document,
    verdict_sentence,
    winner_mean,
)
from ecv_core.analysis.selection.replay import play, play_orders
from ecv_core.analysis.selection.rounds import Budget, Terms
from ecv_core.analysis.tuning.metrics_study import (
    dominance_frame,
    find_tuning,
    power_document,
    powers_frame,
    study_metrics,
)
from ecv_core.analysis.tuning.spaces import space_of
from ecv_core.cli import answer
from ecv_core.cli.options import (
    OF_MACHINE,
    add_place,
    add_rule_params,
    add_setting,
    add_settings,
    add_split_options,
    asked_folds,
    asked_rule_params,
    gives_up,
    machine_settings,
    named_values,
    place_of,
    showing_phase,
)
from ecv_core.energy.parts import left_in_words
from ecv_core.figures.words import counted, metric_label
from ecv_core.jobs.book import Says
from ecv_core.jobs.plans import select as selections
from ecv_core.jobs.plans import study as studies
from ecv_core.jobs.plans.select import Selected, Standing
from ecv_core.jobs.plans.study import Cell
from ecv_core.jobs.plans.tune import make_tuning, tune
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec, Task
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan
from ecv_core.store.recorded import recorded_runs
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


# What `select` and `tune` have in common: how contenders are compared, on which folds.


def _add_comparison(parser: argparse.ArgumentParser, **of_seed: Any) -> None:  # noqa: ANN401
    parser.add_argument(
        "--indifference",
        type=float,
        default=0.0,
        metavar="0.01",
        help="those closer than this share of the best mean are as good as each other",
    )
    add_setting(parser, "confidence")
    add_setting(parser, "metric")
    parser.add_argument("-n", type=int, default=10, help="length of the recommendation list")
    parser.add_argument("--folds", metavar="N|FILE", help="as -k; or released folds, a file")
    add_split_options(parser, **of_seed)
    add_place(parser)
    add_settings(parser, OF_MACHINE)
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")


def _compared(options: argparse.Namespace, dataset: str, task: Task) -> dict[str, Any]:
    """The settings that all contenders share, for `make_spec`."""
    return {
        "split": options.split,
        "split_params": named_values(options.split_param, "--split-param"),
        "seed": 42 if options.seed is None else options.seed,
        "metric": options.metric,
        "n": options.n,
        **asked_folds(options, dataset, task),
        **machine_settings(options),
    }


def select_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="DATASET CONTENDER CONTENDER",
        help="a contender is ALGORITHM[:name=value[,name=value]...]",
    )
    parser.add_argument(
        "--scores",
        metavar="FILE",
        help="CSV or Parquet with contender,fold,score, and user if known",
    )
    parser.add_argument(
        "--recorded", action="store_true", help="play the recorded study, per dataset and in all"
    )
    parser.add_argument(
        "--until", choices=("winner", "order"), default="winner", help="what is to be found out"
    )
    parser.add_argument(
        "--expected-loss",
        type=float,
        metavar="0.001",
        help="which one to use: stop once at most this share of the score is expected to be lost",
    )
    parser.add_argument(
        "--budget",
        metavar="30folds",
        help="the best that is found within '50 Wh', '20 min' or '30 folds'",
    )
    parser.add_argument("--orders", type=int, metavar="N", help="over so many drawn orders")
    parser.add_argument("--lower-is-better", action="store_true", help="of the scores in FILE")
    _add_comparison(parser, default=None, metavar="SEED", help="fixes every random choice")


def select_command(options: argparse.Namespace) -> None:
    if [bool(options.words), options.scores is not None, options.recorded].count(True) != 1:
        raise InputError(
            "select takes a dataset with its contenders, or --scores FILE, or --recorded; give one "
            "of them"
        )
    way = _live if options.words else _of_scores if options.scores else _recorded
    answer(options, *way(options))


def _live(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The folds that it takes, in this very process."""
    dataset, words = options.words[0], options.words[1:]
    if options.orders is not None:
        raise InputError("--orders plays scores that are there; give --scores FILE or --recorded")
    if options.lower_is_better:
        raise InputError("--lower-is-better belongs to --scores; a metric knows its direction")
    store = open_store()
    named = selections.named_contenders(
        dataset,
        words,
        tracked=selections.tracked_names(store, dataset),
        **_compared(options, dataset, Task.TOP_N),
    )
    spec, told = named[0][1], 0
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def on_fold(now: Standing) -> None:
            nonlocal told
            bar.update(1)
            rounds = now.played.rounds if now.played else ()
            names = [contender.name for contender in now.contenders]
            for one in rounds[told:]:
                gone = ", ".join(names[place] for place in one.dropped)
                out = f"; out: {gone}" if gone else ""
                leads = f"after fold {one.fold}: {names[one.leader]} leads{out}"
                tqdm.write(leads, file=sys.stderr)
            told = len(rounds)

        with place_of(options, no_energy=options.no_energy) as executor:
            selection_id, found = selections.compute(
                store,
                named,
                selections.terms_for(spec, **_asked(options)),
                executor=executor,
                speculate=options.speculate,
                on_fold=on_fold,
                says=Says(trouble=gives_up(), progress=showing_phase(bar)),
            )
    selected = Selected(found, dataset, spec.metric_name)
    return selected.document(), f"{selected.sentence}\nselection {selection_id}"


def _recorded(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The recorded study: what each dataset and all of them take over many orders of the folds."""
    found: dict[str, dict[str, Any]] = {}
    lines = []
    for dataset, contenders in recorded_contenders().items():
        terms = Terms(k=contenders[0].k, **_asked(options))
        orders = 1000 if options.orders is None else options.orders
        over = play_orders(contenders, terms, orders=orders, seed=options.seed or 0)
        joules = sum(float(one.fold_joules.sum()) for one in contenders)
        found[dataset] = orders_document(over) | {"contenders": len(contenders), "joules": joules}
        lines.append(
            f"{dataset}: {len(contenders)} contenders, {100 * over.folds_share:.3g} % of the "
            f"folds, {100 * (over.joules_share or 0):.3g} % of the energy, the right winner in "
            f"{100 * over.right:.4g} % of {orders} orders"
        )
    if not found:
        raise InputError("there are no recorded runs to select from; record a study first")
    whole = sum(one["joules"] for one in found.values())
    share = sum((one["joules_share"] or 0) * one["joules"] for one in found.values()) / whole
    right = sum(one["right"] for one in found.values()) / len(found)
    lines.append(
        f"in all: {100 * share:.3g} % of the energy, the right winner in {100 * right:.4g} % of "
        "orders"
    )
    if note := left_in_words(run for run in recorded_runs() if run.spec.dataset in found):
        lines.append(note)
    return {"datasets": found, "joules_share": share, "right": right}, "\n".join(lines)


def _of_scores(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Played on a file: once, or over many orders of its folds."""
    contenders, _ = read_contenders(Path(options.scores))
    check_contenders(contenders)
    terms = Terms(
        k=contenders[0].k, higher_is_better=not options.lower_is_better, **_asked(options)
    )
    if options.orders is not None:
        over = play_orders(contenders, terms, orders=options.orders, seed=options.seed or 0)
        return orders_document(over), (
            f"over {over.orders} orders of the folds of {options.scores}: "
            f"{100 * over.folds_share:.3g} % of the folds, the right winner in "
            f"{100 * over.right:.4g} % of orders; {over.mean_loss_percent:.2g} % lost on average, "
            f"at most {over.p95_loss_percent:.2g} % in 95 % of orders"
        )
    played = play(contenders, terms, range(terms.k))
    winner = played.verdict.winner
    return selection_document(contenders, terms, options.metric, played), verdict_sentence(
        [one.name for one in contenders],
        terms,
        played.verdict,
        played.rounds,
        played.folds_used,
        mean=winner_mean(contenders[winner], played.rounds, winner),
    )


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "confidence": options.confidence,
        "indifference": options.indifference,
        "until": options.until,
        "expected_loss": options.expected_loss,
        "budget": None if options.budget is None else Budget.parse(options.budget),
    }


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
    _add_comparison(parser)


def tune_command(options: argparse.Namespace) -> None:
    """Say how much it is, run it, and say what was found."""
    own = {name: _values(text) for name, text in named_values(options.grid, "--grid").items()}
    space_of(models.algorithm(options.algorithm), options.space, own)  # before data are read
    settings = _compared(options, options.dataset, models.algorithm(options.algorithm).task)
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
