"""`power`: which metric tells configurations apart, and which parameter matters most."""

from __future__ import annotations

import argparse

from ecv_core.cli.exit_codes import OK
from ecv_core.cli.output import check_target, write_json


def power_options(parser: argparse.ArgumentParser) -> None:
    """The options of `power`."""
    parser.add_argument("dataset")
    parser.add_argument("algorithm")
    parser.add_argument(
        "--pairs",
        choices=("all", "25"),
        default="all",
        help="the exact expectation of a draw of 25 pairs over all pairs, or one draw",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--fix", metavar="NAME", help="the dominance of this parameter only")
    parser.add_argument(
        "--metric", metavar="ndcg@10", help="that dominance is worked out by (default ndcg@10)"
    )
    parser.add_argument(
        "--own", action="store_true", help="your own tuning, where there is a recorded one too"
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    parser.set_defaults(command=power)


def power(options: argparse.Namespace) -> int:
    """Read the scores, test every pair, and say what follows."""
    check_target(options.json)
    import ecv_core.dataset as datasets
    from ecv_core import models
    from ecv_core.evaluation import column_title

    datasets.entry(options.dataset)
    models.algorithm(options.algorithm)
    from ecv_core.analysis.tuning.metrics_study import find_tuning, power_document, study_metrics
    from ecv_core.store.store import open_store

    scores = find_tuning(open_store(), options.dataset, options.algorithm, own=options.own)
    found = study_metrics(
        scores, pairs=options.pairs, seed=options.seed, fix=options.fix, metric=options.metric
    )
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
