"""`orders`: what a stopping rule does over every order of some folds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecv_core.cli import write_answer
from ecv_core.cli.options import add_json, add_rule_params, add_setting, rule_params_from_options
from ecv_core.cli.score_file import add_direction, direction_words, file_facts, read_score_file
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import percent_text
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES, axis_of, rule, rule_for

if TYPE_CHECKING:
    from ecv_core.analysis.score_files import ScoreFile
    from ecv_core.records.run import Scores


def orders_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        help=(
            "A CSV, JSON or Parquet file with fold scores, as for `select --scores`; one "
            "contender is enough."
        ),
    )
    parser.add_argument("--contender", metavar="NAME", help="Look at this contender only.")
    parser.add_argument(
        "--metric", metavar="NAME", help="Metric to look at, where the file has several."
    )
    add_direction(parser)
    add_setting(
        parser,
        "rule",
        default=PAPERS_RULE,
        help=f"When to stop. One of: {', '.join(RULES)}. Default: {PAPERS_RULE}.",
    )
    # Alpha has the unit of the score, squared. Scores of a file may have any unit, so that there is
    # no default for it.
    add_rule_params(parser, without_default=["alpha"])
    add_setting(parser, "confidence")
    add_setting(parser, "min_folds")
    add_json(parser)


def orders_command(options: argparse.Namespace) -> None:
    from ecv_core.analysis.score_files import with_varying_scores

    stopping_rule = rule(options.rule)
    params = rule_params_from_options(options, stopping_rule.id)
    if stopping_rule.id == PAPERS_RULE and not params:
        raise InputError(
            f"give the setting of the rule, for example {axis_of(stopping_rule.id).flag} 1e-4"
        )
    SETTINGS["confidence"].check(options.confidence)
    min_folds = options.min_folds
    if min_folds is None:
        min_folds = stopping_rule.default_folds
    # No run is made of this spec: only the rule, and what belongs to the rule, counts.
    spec = RunSpec(
        dataset="",
        algorithm="",
        rule=stopping_rule.id,
        rule_params=stopping_rule.resolve(params),
        confidence=options.confidence,
        min_folds=min_folds,
    )
    scores = read_score_file(options.file, options)
    scores = with_varying_scores(scores, f"the file {options.file.name}")
    documents = {}
    for contender in _chosen_contenders(scores, options):
        documents[contender.name] = orders_document(contender, spec)
    # With `alone` the words include the name of the rule.
    rule_words = stopping_rule.words(spec, alone=True)
    facts = file_facts(scores)
    if len(documents) == 1:
        name, document = next(iter(documents.items()))
        document = document | {"contender": name} | facts
        summary = _summary(document, rule_words)
    else:
        document = {"contenders": documents} | facts
        summary = "\n".join(
            f"{name}: {_summary(of_contender, rule_words)}"
            for name, of_contender in documents.items()
        )
    write_answer(options, document, f"{summary}\n{direction_words(scores)}")


def _chosen_contenders(scores: ScoreFile, options: argparse.Namespace) -> Sequence[Scores]:
    """The contender that is asked for, or all of the file. Raises: InputError."""
    if options.contender is None:
        return scores.contenders
    for contender in scores.contenders:
        if contender.name == options.contender:
            return [contender]
    names = ", ".join(contender.name for contender in scores.contenders)[:500]
    raise InputError(
        f"the file {options.file.name} has no contender '{options.contender}'; choose one of: "
        f"{names}"
    )


def orders_document(scores: Scores, settings: RunSpec) -> dict[str, Any]:
    """The contract's JSON of one contender's scores.

    Args:
        scores: The scores of at least two folds.
        settings: The rule, with what belongs to it; whatever else it says does not count.

    Raises:
        InputError: For scores or a setting that cannot serve.
    """
    from ecv_core.analysis.exploration import outcome_over_orders

    spec = replace(settings, k=scores.k, min_folds=min(settings.min_folds, scores.k))
    outcome = outcome_over_orders(scores, rule_for(spec), confidence=spec.confidence)
    params = dict(spec.rule_params)
    document = {"k": outcome.k, "rule": spec.rule}
    # Parameters with an option of their own are keys of their own too.
    for parameter in rule(spec.rule).parameters:
        if parameter.flag:
            document[parameter.name] = params[parameter.name]
    if outcome.orders:
        document["orders"] = outcome.orders
        document["standard_errors"] = dict(outcome.standard_errors)
    stops = {str(n): share for n, share in outcome.stop_distribution.items() if share > 0}
    quantiles = outcome.difference_quantiles.items()
    return document | {
        "rule_params": params,
        "mean_stop": outcome.mean_stop,
        "stop_distribution": stops,
        "mean_difference_percent": outcome.mean_difference_percent,
        "difference_quantiles": {str(quantile): value for quantile, value in quantiles},
        "coverage": outcome.coverage,
    }


def _summary(document: dict[str, Any], rule_words: str) -> str:
    quantiles = document["difference_quantiles"]
    coverage = percent_text(document["coverage"], ".1f")
    mean_difference = percent_text(document["mean_difference_percent"] / 100, ".2f")
    largest_difference = percent_text(quantiles["0.95"] / 100, ".2f")
    interval_words = (
        f"the interval at the stop holds the {document['k']}-fold mean in {coverage} of orders"
    )
    if not document["coverage"] and set(document["stop_distribution"]) == {"1"}:
        interval_words = "there is no interval at the stop, as one score has none"
    orders = "every order"
    if "orders" in document:
        orders = f"{document['orders']:,} random orders"
    return (
        f"over {orders} of the {document['k']} folds, {rule_words}:\n"
        f"stops after {document['mean_stop']:.2f} folds on average\n"
        f"differs from the {document['k']}-fold mean by "
        f"{mean_difference}, in 95 % of orders by at most {largest_difference}\n"
        f"{interval_words}"
    )
