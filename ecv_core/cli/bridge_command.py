"""`bridge`: a model of RecBole or Cornac, fold by fold, in an environment of its own."""

from __future__ import annotations

import argparse
import math

from ecv_core.cli import say, write_answer
from ecv_core.cli.options import DATASET, add_json
from ecv_core.cli.run_command import spec_of, summary
from ecv_core.cli.track_commands import add_tracking_options
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import score_text


def bridge_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "library", choices=["recbole", "cornac"], help="The library that has the model."
    )
    parser.add_argument(
        "model", metavar="MODEL", help="Name of the model in its library, such as BPR."
    )
    parser.add_argument("dataset", help=DATASET)
    add_tracking_options(
        parser,
        param_help="Set a parameter of the model, by its name in the library; lists are JSON, such "
        "as [64,32].",
        metric_help="The score that the stopping rule uses. The other metrics of lists are "
        "computed too. Default: ndcg.",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="Also score each fold with the library's own evaluator.",
    )
    add_json(parser)


def bridge_command(options: argparse.Namespace) -> None:
    """Compute the folds that the run lacks, until its rule stops, and say what came of it."""
    from ecv_core.bridges import bridge
    from ecv_core.library.track import Tracked
    from ecv_core.store.document import run_document
    from ecv_core.store.results import Results
    from ecv_core.store.store import open_store

    compare_evaluators = options.check
    library = bridge.LIBRARIES[options.library]
    # `spec_of` reads the options, and these two are not of the command line.
    options.algorithm = f"{library.title} {options.model}"
    # The version is a parameter, so that another version makes another run.
    options.param.append(f"{options.library}={library.version}")
    spec = spec_of(options)
    bridge.check_served(spec, check=compare_evaluators)
    # A library gives lists, which are scored by the metric of the spec, whether somebody has named
    # one or it is the usual one.
    cv = Tracked(
        spec,
        rule=None,  # The spec names the rule.
        keep=True,
        resume=not options.new,
        has_named_metric=True,
    )
    python = bridge.python_of_environment(library, say)
    try:
        for fold in cv:
            lists, library_score = bridge.fit(
                options.library, python, options.model, spec, fold, check=compare_evaluators
            )
            cv.report(lists)
            moment = cv.run.record.moments[-1]
            score = f"fold {moment.fold}: {spec.metric_name} {score_text(moment.score)}"
            if not math.isnan(library_score):
                difference = library_score - moment.score
                score += (
                    f", {library.title}'s evaluator {score_text(library_score)} ({difference:+.0e})"
                )
            say(f"{score}. {moment.decision.reason}")
    except InputError:
        cv.forget_if_empty()
        raise
    run = Results(open_store()).with_user_scores(cv.run.record)
    write_answer(options, run_document(run, run.user_scores), summary(run))
