"""`select`: which of several contenders is best, live or on scores that are there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ecv_core.cli import answer
from ecv_core.cli.options import (
    OF_MACHINE,
    add_place,
    add_setting,
    add_settings,
    add_split_options,
    asked_folds,
    gives_up,
    machine_settings,
    named_values,
    place_of,
    showing_phase,
)
from ecv_core.cli.score_file import (
    HIGHER,
    LOWER,
    add_direction,
    direction_words,
    file_facts,
    read_score_file,
)
from ecv_core.records.errors import InputError
from ecv_core.records.tasks import Task
from ecv_core.selection.document import (
    orders_document,
    selection_document,
    verdict_sentence,
    winner_mean,
)
from ecv_core.selection.replay import check_contenders, play, play_orders
from ecv_core.selection.rounds import Budget, Terms

# What `select` and `tune` have in common: how contenders are compared, on which folds.


def add_comparison(parser: argparse.ArgumentParser, **of_seed: Any) -> None:  # noqa: ANN401
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


def compared(options: argparse.Namespace, dataset: str, task: Task) -> dict[str, Any]:
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
    add_direction(parser)
    add_comparison(parser, default=None, metavar="SEED", help="fixes every random choice")


def select_command(options: argparse.Namespace) -> None:
    if [bool(options.words), options.scores is not None, options.recorded].count(True) != 1:
        raise InputError(
            "select takes a dataset with its contenders, or --scores FILE, or --recorded; give one "
            "of them"
        )
    way = _live if options.words else _of_scores if options.scores else _recorded
    of_folds = {
        "--split": options.split,
        "--split-param": options.split_param,
        "-k": options.k,
        "--folds": options.folds,
        "--on": options.on,
    }
    given = [word for word, value in of_folds.items() if value not in (None, [])]
    if given and not options.words:
        raise InputError(
            f"{given[0]} is of folds that are computed, and these scores are there; leave it out"
        )
    answer(options, *way(options))


def _live(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The folds that it takes, in this very process."""
    from tqdm import tqdm

    from ecv_core.jobs.book import Says
    from ecv_core.jobs.plans import select as selections
    from ecv_core.store.store import open_store

    dataset, words = options.words[0], options.words[1:]
    if options.orders is not None:
        raise InputError("--orders plays scores that are there; give --scores FILE or --recorded")
    if options.higher_is_better is not None:
        raise InputError(
            f"{LOWER} and {HIGHER} belong to --scores; a metric knows its direction, so leave them "
            "out"
        )
    store = open_store()
    named = selections.named_contenders(
        dataset,
        words,
        tracked=selections.tracked_names(store, dataset),
        **compared(options, dataset, Task.TOP_N),
    )
    spec, told = named[0][1], 0
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def on_fold(now: selections.Standing) -> None:
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
    selected = selections.Selected(found, dataset, spec.metric_name)
    return selected.document(), f"{selected.sentence}\nselection {selection_id}"


def _recorded(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The recorded study: what each dataset and all of them take over many orders of the folds."""
    from ecv_core.energy.parts import left_in_words
    from ecv_core.selection.contenders import recorded_contenders
    from ecv_core.store.recorded import recorded_runs

    if options.metric is not None or options.higher_is_better is not None:
        raise InputError(
            f"the recorded study has its metric, nDCG@10; leave --metric, {LOWER} and {HIGHER} out"
        )
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
    scores = read_score_file(Path(options.scores), options)
    contenders = scores.contenders
    check_contenders(contenders)
    facts = file_facts(scores)
    terms = Terms(
        k=len(scores.folds), higher_is_better=scores.direction.higher_is_better, **_asked(options)
    )
    if options.orders is not None:
        over = play_orders(contenders, terms, orders=options.orders, seed=options.seed or 0)
        return orders_document(over) | facts, (
            f"over {over.orders} orders of the folds of {options.scores}: "
            f"{100 * over.folds_share:.3g} % of the folds, the right winner in "
            f"{100 * over.right:.4g} % of orders; {over.mean_loss_percent:.2g} % lost on average, "
            f"at most {over.p95_loss_percent:.2g} % in 95 % of orders\n{direction_words(scores)}"
        )
    played = play(contenders, terms, range(terms.k))
    winner = played.verdict.winner
    verdict = verdict_sentence(
        [contender.name for contender in contenders],
        terms,
        played.verdict,
        played.rounds,
        played.folds_used,
        mean=winner_mean(contenders[winner], played.rounds, winner),
    )
    document = selection_document(contenders, terms, scores.metric, played) | facts
    return document, f"{verdict}\n{direction_words(scores)}"


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "confidence": options.confidence,
        "indifference": options.indifference,
        "until": options.until,
        "expected_loss": options.expected_loss,
        "budget": None if options.budget is None else Budget.parse(options.budget),
    }
