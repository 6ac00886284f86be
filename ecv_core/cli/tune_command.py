"""`tune`: the best of an algorithm's configurations, in as few folds as it takes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ecv_core.cli.exit_codes import OK
from ecv_core.cli.options import machine_settings, named_values, place_of
from ecv_core.cli.output import check_target, write_json
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    from ecv_core.analysis.tuning.nested import Aside
    from ecv_core.jobs.book import GivesUp
    from ecv_core.jobs.plans.tune import Tuned, Tuning
    from ecv_core.store.store import Store


def tune_options(parser: argparse.ArgumentParser) -> None:
    """The options of `tune`."""
    from ecv_core.cli.options import (
        add_machine_options,
        add_place,
        add_setting,
        add_split_options,
    )

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
        "--until", choices=("winner",), default="winner", help="what is to be found out"
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
    parser.add_argument("--yes", action="store_true", help="start even if it takes over an hour")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    parser.set_defaults(command=tune_command)


def tune_command(options: argparse.Namespace) -> int:
    """Say how long it takes, run it, and say what was found."""
    check_target(options.json)
    from ecv_core import fold, models
    from ecv_core.analysis.tuning.spaces import space_of
    from ecv_core.store.store import open_store

    own = {name: _values(text) for name, text in named_values(options.grid, "--grid").items()}
    space_of(models.algorithm(options.algorithm), options.space, own)  # before data are read
    more: dict[str, Any] = {"k": options.k}
    if options.folds:
        more["folds_sha256"], more["k"] = fold.known_folds(
            options.dataset, options.folds, models.algorithm(options.algorithm).task
        )
    from tqdm import tqdm

    from ecv_core.analysis.tuning.nested import nested_settings
    from ecv_core.jobs.plans.tune import first_fold, make_tuning, meet_aside, tune

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
    known = _announce(plan, store, go_on=options.yes, share=share)
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def show(phase: str, step: int, steps: int, /, **_: object) -> None:
            bar.set_description(f"{phase} {step}/{steps}" if steps else phase)

        with place_of(options, show) as executor:
            how: dict[str, Any] = {"executor": executor, "trouble": _gives_up()}
            if not known:
                first_fold(store, plan, share=share, **how)
                _announce(plan, store, go_on=options.yes, share=share)
            told = {"share": share, "speculate": options.speculate}
            tuned = tune(store, plan, on_fold=lambda: bar.update(1), **told, **how)
            aside = meet_aside(store, tuned, **how) if nested else None
    return _answer(tuned, aside, options.json)


def _announce(plan: Tuning, store: Store, *, go_on: bool, share: bool) -> bool:
    """Say how long it takes; gives whether that is known.

    Raises: InputError for more than an hour that nobody has agreed to.
    """
    from ecv_core.analysis.tuning.estimate import HOUR
    from ecv_core.figures.words import counted, duration
    from ecv_core.jobs.plans.tune import expected_of

    found = expected_of(plan, store, share=share)
    what = counted(plan.budget, "configuration")
    if found is None:
        print(
            f"{what} x {plan.spec.k} folds; how long they take is not known, for "
            f"{plan.spec.algorithm} never ran on {plan.spec.dataset} here: the first fold will "
            "tell",
            file=sys.stderr,
        )
        return False
    all_of = "" if plan.all_folds else "at most "
    print(
        f"{what}, {all_of}{counted(found.folds, 'fold')} to compute: {all_of}about "
        f"{duration(found.seconds)}, by runs of {plan.spec.algorithm} on {plan.spec.dataset} "
        f"({found.same_parameters} of the {plan.budget} with the same parameters)",
        file=sys.stderr,
    )
    if found.seconds > HOUR and not go_on:
        raise InputError(
            f"all folds of this tuning would take about {duration(found.seconds)}; give --yes to "
            "start it, or a smaller space or --budget; what has run is kept"
        )
    return True


def _gives_up() -> GivesUp:
    from tqdm import tqdm

    from ecv_core.jobs.book import GivesUp

    return GivesUp(partial(tqdm.write, file=sys.stderr))


def _answer(tuned: Tuned, aside: Aside | None, target: str | None) -> int:
    from ecv_core.analysis.tuning.nested import aside_document, aside_sentence
    from ecv_core.evaluation import column_title
    from ecv_core.jobs.plans.tune import tuning_document, tuning_sentence

    document = tuning_document(tuned)
    document |= {"aside": None if aside is None else aside_document(aside)}
    write_json(document, target)
    if target != "-":
        print(tuning_sentence(tuned))
        if aside is not None:
            metric = column_title(tuned.tuning.spec.metric_name)
            print(aside_sentence(aside, metric, len(tuned.configurations)))
    return OK


def _values(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
