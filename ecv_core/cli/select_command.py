"""`select`: which of several contenders is best, live or on scores that are there."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ecv_core import fold
from ecv_core.analysis.selection import Terms, check_contenders, play, play_orders
from ecv_core.analysis.selection.contenders import recorded_contenders
from ecv_core.analysis.selection.document import (
    orders_document,
    selection_document,
    verdict_sentence,
    winner_mean,
)
from ecv_core.analysis.selection.rounds import Budget
from ecv_core.analysis.selection.score_files import read_contenders
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
from ecv_core.energy.parts import left_in_words
from ecv_core.jobs.plans.select import Standing, compute, named_contenders, terms_for, tracked_names
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.store import open_store

# `select DATASET CONTENDER ...`: the folds that it takes, in this very process.


def select_live(options: argparse.Namespace) -> int:
    """Compute one fold after another until it is decided."""
    dataset, words = options.words[0], options.words[1:]
    if options.orders is not None:
        raise InputError("--orders plays scores that are there; give --scores FILE or --recorded")
    if options.lower_is_better:
        raise InputError("--lower-is-better belongs to --scores; a metric knows its direction")
    sha256, k = None, options.k
    if options.folds:
        sha256, k = fold.known_folds(dataset, options.folds)
    named = named_contenders(
        dataset,
        words,
        tracked=tracked_names(open_store(), dataset),
        split=options.split,
        split_params=named_values(options.split_param, "--split-param"),
        folds_sha256=sha256,
        k=k,
        seed=42 if options.seed is None else options.seed,
        metric=options.metric,
        n=options.n,
        **machine_settings(options),
    )
    spec = named[0][1]
    terms = terms_for(spec, **_asked(options))
    before: Standing | None = None
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def on_fold(now: Standing) -> None:
            nonlocal before
            bar.update(1)
            before = _told(before, now)

        with place_of(options, showing_phase(bar)) as executor:
            selection_id, found = compute(
                open_store(),
                named,
                terms,
                executor=executor,
                speculate=options.speculate,
                on_fold=on_fold,
                trouble=gives_up(),
            )
    assert found.played is not None
    played = replace(found.played, joules_of_all_folds=found.joules_expected)
    document = selection_document(found.contenders, terms, spec.metric_name, played)
    write_json(document, options.json)
    if options.json != "-":
        print(found.sentence([one.name for one in found.contenders], dataset))
        print(f"selection {selection_id}")
    return OK


def _told(before: Standing | None, now: Standing) -> Standing:
    """Say who is out since the last round."""
    seen = len(before.played.rounds) if before and before.played else 0
    for one in now.played.rounds[seen:] if now.played else ():
        names = [contender.name for contender in now.contenders]
        out = f"; out: {', '.join(names[place] for place in one.dropped)}" if one.dropped else ""
        tqdm.write(f"after fold {one.fold}: {names[one.leader]} leads{out}", file=sys.stderr)
    return now


def select_options(parser: argparse.ArgumentParser) -> None:
    """The options of `select`."""
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
        "--indifference",
        type=float,
        default=0.0,
        metavar="0.01",
        help="contenders closer than this share of the leader's mean are as good as each other",
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
    add_setting(parser, "confidence")
    parser.add_argument("--orders", type=int, metavar="N", help="over so many drawn orders")
    parser.add_argument("--lower-is-better", action="store_true", help="of the scores in FILE")
    parser.add_argument("--metric", help="what the score is (default ndcg)")
    parser.add_argument("-n", type=int, default=10, help="length of the recommendation list")
    parser.add_argument("--folds", metavar="N|FILE", help="as -k; or released folds, a file")
    add_split_options(parser, default=None, metavar="SEED", help="fixes every random choice")
    add_place(parser)
    add_machine_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    parser.set_defaults(command=select)


def select(options: argparse.Namespace) -> int:
    """Find out, and say it."""
    check_target(options.json)
    given = [bool(options.words), options.scores is not None, options.recorded]
    if sum(given) != 1:
        raise InputError(
            "select takes a dataset with its contenders, or --scores FILE, or --recorded; "
            "give one of them"
        )
    if options.recorded:
        return _recorded(options)
    if options.scores is not None:
        return _scores(options)

    return select_live(options)


def _scores(options: argparse.Namespace) -> int:
    contenders, _ = read_contenders(Path(options.scores))
    return _answer(options, contenders, options.scores)


def _answer(options: argparse.Namespace, contenders: list[Scores], name: str) -> int:
    check_contenders(contenders)
    terms = _terms(options, contenders[0].k)
    if options.orders is not None:
        over = play_orders(contenders, terms, orders=options.orders, seed=options.seed or 0)
        document: dict[str, Any] = orders_document(over)
        text = (
            f"over {over.orders} orders of the folds of {name}: {100 * over.folds_share:.3g} % of "
            f"the folds, the right winner in {100 * over.right:.4g} % of orders; "
            f"{over.mean_loss_percent:.2g} % lost on average, at most {over.p95_loss_percent:.2g} "
            "% in 95 % of orders"
        )
    else:
        played = play(contenders, terms, range(terms.k))
        document = selection_document(contenders, terms, options.metric, played)
        winner = contenders[played.verdict.winner]
        text = verdict_sentence(
            [one.name for one in contenders],
            terms,
            played.verdict,
            played.rounds,
            played.folds_used,
            mean=winner_mean(winner, played.rounds, played.verdict.winner),
        )
    write_json(document, options.json)
    if options.json != "-":
        print(text)
    return OK


def _recorded(options: argparse.Namespace) -> int:
    """The recorded study, per dataset and in all."""
    found: dict[str, Any] = {}
    spent, whole, right = 0.0, 0.0, 0.0
    for dataset, contenders in recorded_contenders().items():
        terms = _terms(options, contenders[0].k)
        over = play_orders(
            contenders,
            terms,
            orders=1000 if options.orders is None else options.orders,
            seed=options.seed or 0,
        )
        joules = sum(float(one.fold_joules.sum()) for one in contenders)
        found[dataset] = orders_document(over) | {"contenders": len(contenders), "joules": joules}
        if over.joules_share is not None:
            spent += over.joules_share * joules
            whole += joules
        right += over.right
    if not found:
        raise InputError("there are no recorded runs to select from; record a study first")
    share = spent / whole if whole else None
    rate = right / len(found)
    document = {"datasets": found, "joules_share": share, "right": rate}
    write_json(document, options.json)
    if options.json != "-":
        for dataset, one in found.items():
            print(
                f"{dataset}: {one['contenders']} contenders, {100 * one['folds_share']:.3g} % of "
                f"the folds, {100 * one['joules_share']:.3g} % of the energy, the right winner in "
                f"{100 * one['right']:.4g} % of {one['orders']} orders"
            )
        print(
            f"in all: {100 * (share or 0):.3g} % of the energy, the right winner in "
            f"{100 * rate:.4g} % of orders"
        )
        if note := left_in_words(run for run in recorded_runs() if run.spec.dataset in found):
            print(note)
    return OK


def _terms(options: argparse.Namespace, k: int) -> Terms:
    return Terms(k=k, higher_is_better=not options.lower_is_better, **_asked(options))


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "confidence": options.confidence,
        "indifference": options.indifference,
        "until": options.until,
        "expected_loss": options.expected_loss,
        "budget": None if options.budget is None else Budget.parse(options.budget),
    }
