"""`tune` and `power`: the best of an algorithm's configurations, and what tells them apart."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

import ecv_core.dataset as datasets
from ecv_core import fold, models
from ecv_core.analysis.tuning.metrics_study import find_tuning, power_document, study_metrics
from ecv_core.analysis.tuning.nested import Aside, aside_document, aside_sentence, nested_settings
from ecv_core.analysis.tuning.spaces import space_of
from ecv_core.cli.options import (
    add_machine_options,
    add_place,
    add_setting,
    add_split_options,
    gives_up,
    machine_settings,
    named_values,
    place_of,
    showing_phase,
)
from ecv_core.cli.output import OK, check_target, write_json
from ecv_core.evaluation import column_title
from ecv_core.figures.words import counted
from ecv_core.jobs.book import Says
from ecv_core.jobs.plans.tune import (
    Tuned,
    make_tuning,
    meet_aside,
    tune,
)
from ecv_core.records.errors import InputError
from ecv_core.store.store import open_store


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
    parser.add_argument(
        "--protocol",
        choices=("plain", "nested"),
        default="plain",
        help="nested: the last fifth of each user is put aside, and only the choice meets it",
    )
    parser.add_argument(
        "--tau",
        type=float,
        metavar="4",
        help="nested: only held-out items rated above it are relevant (default: all)",
    )
    parser.add_argument(
        "--separate",
        action="store_true",
        help="fit every configuration on its own, even where they could share work",
    )
    parser.add_argument(
        "--indifference",
        type=float,
        default=0.0,
        metavar="0.01",
        help="configurations closer than this share of the best mean are as good as each other",
    )
    add_setting(parser, "confidence")
    add_setting(parser, "metric")
    parser.add_argument("-n", type=int, default=10, help="length of the recommendation list")
    parser.add_argument("--folds", metavar="N|FILE", help="as -k; or released folds, a file")
    add_split_options(parser)
    add_place(parser)
    add_machine_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    parser.set_defaults(command=tune_command)


def tune_command(options: argparse.Namespace) -> int:
    """Say how much it is, run it, and say what was found."""
    check_target(options.json)
    own = {name: _values(text) for name, text in named_values(options.grid, "--grid").items()}
    space_of(models.algorithm(options.algorithm), options.space, own)  # before data are read
    more: dict[str, Any] = {"k": options.k}
    if options.folds:
        more["folds_sha256"], more["k"] = fold.known_folds(
            options.dataset, options.folds, models.algorithm(options.algorithm).task
        )
    more |= machine_settings(options) | {
        "split": options.split,
        "split_params": named_values(options.split_param, "--split-param"),
    }
    nested = options.protocol == "nested"
    if nested:
        if options.split or options.folds or options.split_param:
            raise InputError(
                "--protocol nested has folds of its own; leave --split and --folds out"
            )
        more |= nested_settings(options.tau)
    elif options.tau is not None:
        raise InputError("--tau belongs to --protocol nested; give both")

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
        seed=options.seed,
        metric=options.metric,
        n=options.n,
        **more,
    )
    store = open_store()
    share = not options.separate
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
        place_of(options) as executor,
    ):
        says = Says(fold=lambda run: bar.update(1), trouble=gives_up(), progress=showing_phase(bar))
        how: dict[str, Any] = {"executor": executor, "says": says}
        tuned = tune(store, plan, share=share, speculate=options.speculate, **how)
        aside = meet_aside(store, tuned, **how) if nested else None
    return _answer(tuned, aside, options.json)


def _answer(tuned: Tuned, aside: Aside | None, target: str | None) -> int:
    document = tuned.document() | {"aside": None if aside is None else aside_document(aside)}
    write_json(document, target)
    if target != "-":
        print(tuned.sentence)
        if aside is not None:
            metric = column_title(tuned.tuning.spec.metric_name)
            print(aside_sentence(aside, metric, len(tuned.configurations)))
    return OK


def _values(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# `power`: which metric tells configurations apart, and which parameter matters most.


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
    parser.set_defaults(command=power)


def power(options: argparse.Namespace) -> int:
    check_target(options.json)
    datasets.entry(options.dataset)
    models.algorithm(options.algorithm)

    scores = find_tuning(open_store(), options.dataset, options.algorithm, own=options.own)
    found = study_metrics(scores, pairs=options.pairs, seed=options.seed, metric=options.metric)
    write_json(power_document(found), options.json)
    if options.json == "-":
        return OK
    print(found.sentence())
    heads = f"{'metric':14}{'DP':>8}{'DP + sd':>10}{'told apart':>12}"
    print(f"{heads}{'DP, Holm':>10}{'apart, Holm':>13}")
    for name in found.ranked:
        curve = found.curves[name]
        print(
            f"{column_title(name):14}{curve.dp:8.3f}{curve.dp_plus_sd:10.3f}"
            f"{100 * found.told_apart(name):10.1f} %{found.corrected[name].dp:10.3f}"
            f"{100 * found.corrected[name].told_apart:11.1f} %"
        )
    for parameter, values in found.dominant.items():
        best = min(values, key=values.__getitem__)
        shown = ", ".join(f"{value}: {dp:.3f}" for value, dp in values.items())
        print(f"DP with {parameter} fixed: {shown} (least at {best})")
    if found.importances:
        shares = ", ".join(f"{name} {100 * one:.0f} %" for name, one in found.importances.items())
        print(f"share of the variance of {found.metric} (fANOVA): {shares}")
    return OK
