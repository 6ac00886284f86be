"""`select`: which of several contenders is best, live or on scores that are there."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ecv_core.cli import write_answer
from ecv_core.cli.options import (
    OF_MACHINE,
    add_executor_options,
    add_fold_options,
    add_json,
    add_setting,
    add_settings,
    executor_of,
    named_values,
    settings_of_folds,
    showing_phase,
    values_of,
    warning_of_failed_saves,
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
from ecv_core.records.parameters import percent_text
from ecv_core.records.spec import SETTINGS
from ecv_core.records.tasks import Task
from ecv_core.selection.document import (
    leads_words,
    orders_document,
    selection_document,
    verdict_sentence,
)
from ecv_core.selection.replay import (
    MAX_FOLDS,
    ResultsOverOrders,
    check_contenders,
    check_order_count,
    select_in_order,
    select_in_random_orders,
)
from ecv_core.selection.rounds import Budget, Terms

if TYPE_CHECKING:
    from tqdm import tqdm

    from ecv_core.jobs.plans.select import SelectionState

# What `select` and `tune` have in common: how contenders are compared, on which folds.


def add_selection_options(parser: argparse.ArgumentParser, **seed_options: Any) -> None:  # noqa: ANN401
    """Add the options that `select` and `tune` have in common.

    Args:
        parser: The parser of one of them.
        seed_options: How its --seed differs from that of other commands: arguments of
            `add_argument`, such as its default and its help.
    """
    parser.add_argument(
        "--indifference",
        type=float,
        default=0.0,
        metavar="0.01",
        help=(
            "Stop once no contender can be ahead of the leader by more than this share of its mean."
        ),
    )
    add_setting(parser, "confidence")
    add_setting(parser, "metric")
    parser.add_argument(
        "-n", type=int, default=10, help="Length of the recommendation list. Default: 10."
    )
    add_fold_options(parser, **seed_options)
    add_executor_options(parser)
    add_settings(parser, OF_MACHINE)
    add_json(parser)


def shared_settings(options: argparse.Namespace, dataset: str, task: Task) -> dict[str, Any]:
    """The settings that all contenders share, for `make_spec`."""
    seed = options.seed
    if seed is None:
        seed = 42
    return {
        "split": options.split,
        "split_params": named_values(options.split_param, "--split-param"),
        "seed": seed,
        "metric": options.metric,
        "n": options.n,
        **settings_of_folds(options, dataset, task),
        **values_of(options, OF_MACHINE),
    }


def select_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="DATASET CONTENDER CONTENDER",
        help="A dataset and its contenders, each of them ALGORITHM[:name=value[,name=value]...].",
    )
    parser.add_argument(
        "--scores",
        metavar="FILE",
        help=(
            "Select from fold scores in a CSV, JSON or Parquet file with the columns contender, "
            "fold and score, and user if known."
        ),
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="Replay the recorded study, for each dataset and in total.",
    )
    parser.add_argument(
        "--until",
        choices=("winner", "order"),
        default="winner",
        help="The question: which contender is best, or the whole ranking. Default: winner.",
    )
    parser.add_argument(
        "--expected-loss",
        type=float,
        metavar="0.001",
        help=(
            "Ask which contender to use. The selection stops once using the leader is expected to "
            "lose at most this share of the score."
        ),
    )
    parser.add_argument(
        "--budget",
        metavar="30folds",
        help="Stop when a budget such as '50 Wh', '20 min' or '30 folds' is spent.",
    )
    parser.add_argument(
        "--orders",
        type=int,
        metavar="N",
        help="Replay the selection over this many random orders of the folds.",
    )
    add_direction(parser)
    add_selection_options(parser, default=None, metavar="SEED", help="Seed of every random choice.")


def select_command(options: argparse.Namespace) -> None:
    sources = [bool(options.words), options.scores is not None, options.recorded]
    if sources.count(True) != 1:
        raise InputError(
            "select needs a dataset with contenders, --scores FILE or --recorded; give one of them"
        )
    if options.words:
        document, text = _select_live(options)
    else:
        _check_no_folds(options)
        if options.recorded:
            document, text = _select_recorded(options)
        else:
            document, text = _select_from_file(options)
    write_answer(options, document, text)


def _check_no_folds(options: argparse.Namespace) -> None:
    """Refuse options of folds that are computed, beside scores that are there."""
    fold_options = {
        "--split": options.split,
        "--split-param": options.split_param,
        "-k": options.k,
        "--folds": options.folds,
        "--on": options.on,
        "--nodes": options.nodes,
        "--site": options.site,
        "--meter": options.meter,
    }
    for name in OF_MACHINE:
        fold_options[str(SETTINGS[name].option)] = getattr(options, name)
    for option, value in fold_options.items():
        if value not in (None, [], False):
            raise InputError(
                f"{option} is for folds that have yet to be computed, and these scores exist; "
                "leave it out"
            )


def _select_live(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The folds that it takes, in this very process."""
    from tqdm import tqdm

    from ecv_core.jobs.plan_runs import Callbacks
    from ecv_core.jobs.plans import select as selections
    from ecv_core.store.store import open_store

    if options.orders is not None:
        raise InputError("--orders replays scores that exist; give --scores FILE or --recorded")
    if options.higher_is_better is not None:
        raise InputError(
            f"{LOWER} and {HIGHER} belong to --scores; a metric has its own direction, so leave "
            "them out"
        )
    dataset = options.words[0]
    store = open_store()
    contenders = selections.named_contenders(
        dataset,
        options.words[1:],
        tracked=selections.tracked_names(store, dataset),
        **shared_settings(options, dataset, Task.TOP_N),
    )
    spec = contenders[0].spec
    terms = selections.terms_for(spec, **_terms(options))
    with (
        tqdm(unit="fold", disable=None, leave=False) as bar,
        executor_of(options, no_energy=options.no_energy) as executor,
    ):
        # Trouble is a finished fold that cannot be saved: each attempt is told above the bar.
        callbacks = Callbacks(trouble=warning_of_failed_saves(), progress=showing_phase(bar))
        selection_id, state = selections.compute_selection(
            store,
            contenders,
            terms,
            executor=executor,
            speculate=options.speculate,
            on_fold=_RoundPrinter(bar, terms).show_fold,
            callbacks=callbacks,
        )
    selected = selections.Selected(state, dataset, spec.metric_name)
    return selected.document(), f"{selected.sentence}\nselection {selection_id}"


class _RoundPrinter:
    """Moves a bar on with every fold, and prints each round above it once it is complete."""

    def __init__(self, bar: tqdm[Any], terms: Terms) -> None:
        self._bar = bar
        self._terms = terms
        self._printed_rounds = 0

    def show_fold(self, state: SelectionState) -> None:
        """A fold was computed, after which the selection is in this state."""
        self._bar.update(1)
        if state.result is None:  # no round is complete
            return
        names = [contender.name for contender in state.contenders]
        rounds = state.result.rounds
        for number in range(self._printed_rounds, len(rounds)):
            new_round = rounds[number]
            # The best of all may have its place from an earlier round on: the leader of this round
            # then leads only those whose places are not known.
            verb = leads_words(self._terms, rounds[:number])
            line = f"after fold {new_round.fold}: {names[new_round.leader]} {verb}"
            if new_round.dropped:  # they are not computed any further
                line += f"; out: {', '.join(names[place] for place in new_round.dropped)}"
            self._bar.write(line, file=sys.stderr)
        self._printed_rounds = len(rounds)


_USUAL_ORDERS = 1000
"""Drawn of the recorded study, where the number is not said."""


def _check_no_metric(options: argparse.Namespace) -> None:
    """Refuse options that choose a metric or its direction, beside the recorded study."""
    if options.metric is not None or options.higher_is_better is not None:
        raise InputError(
            f"the recorded study has its metric, nDCG@10; leave --metric, {LOWER} and {HIGHER} out"
        )


def _share_of(joules: float, joules_of_all: float) -> float | None:
    """None where no energy is known, or where none was spent."""
    if not joules_of_all:
        return None
    return joules / joules_of_all


def _select_recorded(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The recorded study: what each dataset and all of them take over many orders of the folds."""
    from ecv_core.energy.parts import inflated_energy_words
    from ecv_core.selection.contenders import recorded_contenders
    from ecv_core.store.recorded import recorded_runs

    _check_no_metric(options)
    orders = options.orders
    if orders is None:
        orders = _USUAL_ORDERS
    # Wrong options are refused before the study is read, which takes a second or more.
    check_order_count(orders)
    terms = Terms(k=MAX_FOLDS, **_terms(options))
    documents = {}
    lines = []
    right_shares = []
    joules_spent = 0.0
    joules_of_all = 0.0
    for dataset, contenders in recorded_contenders().items():
        terms = replace(terms, k=contenders[0].k)
        outcome = select_in_random_orders(contenders, terms, orders=orders, seed=options.seed or 0)
        joules = float(sum(contender.fold_joules.sum() for contender in contenders))
        counts = {"contenders": len(contenders), "joules": joules}
        documents[dataset] = orders_document(outcome) | counts
        lines.append(
            f"{dataset}: {len(contenders)} contenders, "
            f"{percent_text(outcome.folds_share)} of the folds, "
            f"{_shares_words(outcome.joules_share, outcome.right_share)} of {outcome.orders} orders"
        )
        right_shares.append(outcome.right_share)
        if outcome.joules_share is not None:
            joules_spent += outcome.joules_share * joules
            joules_of_all += joules
    if not documents:
        raise InputError("there are no recorded runs to select from; compute a study first")
    joules_share = _share_of(joules_spent, joules_of_all)
    right_share = fmean(right_shares)
    lines.append(f"in total: {_shares_words(joules_share, right_share)} of orders")
    note = inflated_energy_words(run for run in recorded_runs() if run.spec.dataset in documents)
    if note:
        lines.append(note)
    document = {"datasets": documents, "joules_share": joules_share, "right": right_share}
    return document, "\n".join(lines)


def _shares_words(joules_share: float | None, right_share: float) -> str:
    """What selections over orders of the folds spent, and how often they were right."""
    energy = "energy not known"
    if joules_share is not None:
        energy = f"{percent_text(joules_share)} of the energy"
    return f"{energy}, the right winner in {percent_text(right_share, '.4g')}"


def _select_from_file(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Play the selection on a file: once, or over many orders of its folds."""
    scores = read_score_file(Path(options.scores), options)
    contenders = scores.contenders
    check_contenders(contenders)
    terms = Terms(
        k=len(scores.folds),
        higher_is_better=scores.direction.higher_is_better,
        has_worst_score=scores.direction.has_worst_score,
        **_terms(options),
    )
    if options.orders is None:
        result = select_in_order(contenders, terms, range(terms.k))
        text = verdict_sentence([contender.name for contender in contenders], terms, result)
        document = selection_document(contenders, terms, scores.metric, result)
    else:
        outcome = select_in_random_orders(
            contenders, terms, orders=options.orders, seed=options.seed or 0
        )
        text = _orders_sentence(outcome, options.scores)
        document = orders_document(outcome)
    return document | file_facts(scores), f"{text}\n{direction_words(scores)}"


def _orders_sentence(outcome: ResultsOverOrders, file: str) -> str:
    """What a selection costs and finds over orders of the folds of a file."""
    return (
        f"over {outcome.orders} orders of the folds of {file}: "
        f"{percent_text(outcome.folds_share)} of the folds, the right winner in "
        f"{percent_text(outcome.right_share, '.4g')} of orders; {outcome.mean_loss_percent:.2g} % "
        f"lost on average, at most {outcome.p95_loss_percent:.2g} % in 95 % of orders"
    )


def _terms(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say of `Terms`."""
    budget = None
    if options.budget is not None:
        budget = Budget.parse(options.budget)
    return {
        "confidence": options.confidence,
        "indifference": options.indifference,
        "until": options.until,
        "expected_loss": options.expected_loss,
        "budget": budget,
    }
