"""`orders`: what a stopping rule does over every order of some folds."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecv_core.cli import answer
from ecv_core.cli.options import add_rule_params, add_setting, asked_rule_params
from ecv_core.records.errors import InputError
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES, axis_of, rule, rule_for


def orders_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="CSV with a column 'score', one row per fold")
    add_setting(parser, "rule", default=PAPERS_RULE, help=f"one of {', '.join(RULES)}")
    add_rule_params(parser)
    add_setting(parser, "confidence")
    add_setting(parser, "min_folds")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")


def orders_command(options: argparse.Namespace) -> None:
    known = rule(options.rule)
    given = asked_rule_params(options, known.id)
    if known.id == PAPERS_RULE and not given:
        raise InputError(f"say the setting: {axis_of(known.id).flag} 1e-4, for example")
    SETTINGS["confidence"].check(options.confidence)
    spec = RunSpec(
        dataset="",
        algorithm="",
        rule=known.id,
        rule_params=known.resolve(given),
        confidence=options.confidence,
        min_folds=known.default_folds if options.min_folds is None else options.min_folds,
    )
    document = orders_document(options.file, spec)
    answer(options, document, _summary(document, known.words(spec, alone=True)))


def orders_document(file: Path, asked: RunSpec) -> dict[str, Any]:
    """The contract's JSON of the scores in this file's column 'score'.

    Args:
        file: a CSV.
        asked: its rule, with its settings; whatever else it says does not count.
    Raises: InputError for a file or a setting that cannot serve.
    """
    from ecv_core.analysis.exploration import outcome
    from ecv_core.analysis.score_files import read_scores
    from ecv_core.records.run import Scores

    systems = read_scores(file)
    if "score" not in systems:
        raise InputError(
            f"{file} must have a column 'score', but has {', '.join(systems)}; rename one"
        )
    scores = systems["score"]
    spec = replace(asked, k=len(scores), min_folds=min(asked.min_folds, len(scores)))
    found = outcome(Scores(folds=scores), rule_for(spec), confidence=spec.confidence)
    params = dict(spec.rule_params)
    document = {"k": found.k, "rule": spec.rule}
    document |= {one.name: params[one.name] for one in rule(spec.rule).parameters if one.flag}
    if drawn := found.orders:
        document |= {"orders": drawn, "standard_errors": dict(found.standard_errors)}
    return document | {
        "rule_params": params,
        "mean_stop": found.mean_stop,
        "stop_distribution": {
            str(n): share for n, share in found.stop_distribution.items() if share > 0
        },
        "mean_difference_percent": found.mean_difference_percent,
        "difference_quantiles": {
            str(quantile): value for quantile, value in found.difference_quantiles.items()
        },
        "coverage": found.coverage,
    }


def _summary(document: dict[str, Any], words: str) -> str:
    quantiles = document["difference_quantiles"]
    return (
        f"over {_how_many(document)} of the {document['k']} folds, {words}:\n"
        f"stops after {document['mean_stop']:.2f} folds on average\n"
        f"differs from the {document['k']}-fold mean by "
        f"{document['mean_difference_percent']:.2f} %, in 95 % of orders by at most "
        f"{quantiles['0.95']:.2f} %\n"
        f"the interval at the stop holds the {document['k']}-fold mean in "
        f"{document['coverage']:.1%} of orders"
    )


def _how_many(document: dict[str, Any]) -> str:
    drawn = document.get("orders")
    return f"{drawn:,} drawn orders" if drawn else "every order"
