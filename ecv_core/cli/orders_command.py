"""`orders`: what the paper's rule does over every order of some folds, exactly."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ecv_core.cli.exit_codes import OK
from ecv_core.cli.output import check_target, write_json
from ecv_core.cli.setting_options import add_setting
from ecv_core.errors import InputError
from ecv_core.records import SETTINGS


def orders_options(parser: argparse.ArgumentParser) -> None:
    """The options of `orders`."""
    parser.add_argument("file", type=Path, help="CSV with a column 'score', one row per fold")
    add_setting(parser, "alpha", required=True, default=None)
    add_setting(parser, "confidence")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    parser.set_defaults(command=show_orders)


def show_orders(options: argparse.Namespace) -> int:
    """Work it out and show it."""
    check_target(options.json)
    document = orders_document(options.file, options.alpha, options.confidence)
    write_json(document, options.json)
    if options.json != "-":
        print(_summary(document))
    return OK


def orders_document(file: Path, alpha: float, confidence: float) -> dict[str, Any]:
    """The contract's JSON of the scores in this file's column 'score'.

    Raises: InputError for a file, an alpha or a confidence that cannot serve.
    """
    SETTINGS["alpha"].check(alpha)
    from ecv_core.analysis import orders
    from ecv_core.analysis.exploration import explore
    from ecv_core.records import Scores

    systems = orders.read_scores(file)
    if "score" not in systems:
        raise InputError(
            f"{file} must have a column 'score', but has {', '.join(systems)}; rename one"
        )
    outcome = explore(Scores(folds=systems["score"]), confidence=confidence).at(alpha)
    return {
        "k": outcome.k,
        "alpha": alpha,
        "mean_stop": outcome.mean_stop,
        "stop_distribution": {
            str(n): share for n, share in outcome.stop_distribution.items() if share > 0
        },
        "mean_difference_percent": outcome.mean_difference_percent,
        "difference_quantiles": {
            str(quantile): value for quantile, value in outcome.difference_quantiles.items()
        },
        "coverage": outcome.coverage,
    }


def _summary(document: dict[str, Any]) -> str:
    quantiles = document["difference_quantiles"]
    return (
        f"over every order of the {document['k']} folds, at alpha {document['alpha']:g}:\n"
        f"stops after {document['mean_stop']:.2f} folds on average\n"
        f"differs from the {document['k']}-fold mean by "
        f"{document['mean_difference_percent']:.2f} %, in 95 % of orders by at most "
        f"{quantiles['0.95']:.2f} %\n"
        f"the interval at the stop holds the {document['k']}-fold mean in "
        f"{document['coverage']:.1%} of orders"
    )
