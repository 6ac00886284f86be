"""`track`, `ask` and `tell`: folds that programs in any language compute."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from ecv_core.cli import say, write_json
from ecv_core.cli.options import (
    DATASET,
    OF_SPLITS,
    RUN,
    add_fold_options,
    add_setting,
    add_settings,
)
from ecv_core.jobs.plans import track
from ecv_core.jobs.plans.track import NoFold
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import counted, score_text
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import SETTINGS
from ecv_core.store.lookup import full_id
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import open_store


def add_tracking_options(
    parser: argparse.ArgumentParser, *, param_help: str, metric_help: str
) -> None:
    """Add the options of a run whose model is computed elsewhere."""
    add_fold_options(parser)
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help=param_help
    )
    # Here a metric such as ndcg@5 says how long lists are.
    add_setting(parser, "metric", help=metric_help)
    add_setting(
        parser,
        "n",
        help="How many items are recommended to each user (top-n). Default: that of --metric, "
        "such as 5 of ndcg@5; else 10.",
    )
    added_names = (*OF_SPLITS, "metric", "n")
    for name, setting in SETTINGS.items():
        if setting.tracked and name not in added_names:
            add_settings(parser, [name])
    parser.add_argument(
        "--new",
        action="store_true",
        help="Start a new run, even if one with the same settings was interrupted.",
    )
    # Without a length of lists the metric gives the cut-off, as ndcg@5 does.
    parser.set_defaults(tracked=True, n=None)


def track_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("algorithm", metavar="NAME", help="A name for your model.")
    parser.add_argument("dataset", help=DATASET)
    add_tracking_options(
        parser,
        param_help="Note a setting of your model with the run, such as factors=50.",
        metric_help="The metric that `tell` reports, such as ndcg@10; needed, unless --own-metric "
        "names a score of your own.",
    )
    parser.add_argument(
        "--own-metric",
        dest="own_name",
        metavar="NAME",
        help="A name for scores of your own, if they are none of the metrics of --metric.",
    )
    parser.add_argument(
        "--lower-is-better", action="store_true", help="A lower score of --own-metric is better."
    )
    parser.add_argument("--unit", default="", help="Unit of --own-metric, such as EUR.")


def ask_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help=RUN)
    parser.add_argument("--folder", type=Path, help="Folder for the files of the fold.")
    parser.add_argument(
        "--lease",
        default="6h",
        metavar="6h",
        help="How long this fold is reserved for you, in s, min, h or d. Default: 6h.",
    )
    parser.add_argument(
        "--fold",
        type=int,
        metavar="N",
        help="Take this fold, even if it is reserved for somebody else.",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help='Write the answer as JSON, to stdout without a FILE: {"fold", "train", "test", '
        '"until"}, {"wait": true, "until", "reason"} or {"stop": true, "reason"}.',
    )


def tell_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help=RUN)
    parser.add_argument("fold", type=int, metavar="FOLD", help="The fold, as `ask` handed it out.")
    results = parser.add_mutually_exclusive_group(required=True)
    results.add_argument(
        "--scores", type=Path, metavar="FILE", help="A CSV file with the columns user_id and score."
    )
    results.add_argument(
        "--score", type=float, metavar="X", help="The score of the fold, as one number."
    )
    results.add_argument(
        "--recommendations",
        type=Path,
        metavar="FILE",
        help=(
            "A CSV file with the columns user_id, item_id and rank or score, or with the rows in "
            "order of rank; the lists are evaluated here."
        ),
    )
    results.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help=(
            "A CSV file with the columns user_id, item_id and prediction, a row for every "
            "held-out rating."
        ),
    )
    parser.add_argument(
        "--joules", type=float, metavar="J", help="The energy of the fold in joules, if known."
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="Seconds that the fold took. Default: since `ask` handed it out.",
    )


def track_command(options: argparse.Namespace) -> None:
    """Begin a run, or go on with the same one that was cut off; its id goes to stdout."""
    from ecv_core.cli.run_command import spec_of
    from ecv_core.evaluation import Metric

    if (options.metric is None) == (options.own_name is None):
        raise InputError(
            "name the score of the folds: a metric, such as --metric ndcg@10, or a score of "
            "your own, such as --own-metric clicks"
        )
    if options.metric is not None and (options.lower_is_better or options.unit):
        raise InputError(
            f"--lower-is-better and --unit belong to --own-metric; {options.metric} has its own"
        )
    if options.own_name is not None:
        options.metric = Metric(
            options.own_name, higher_is_better=not options.lower_is_better, unit=options.unit
        )
    spec = spec_of(options)
    store = open_store()
    # The folds of this run are asked for and told by commands that come and go, so that no process
    # owns it.
    run_id = track.begin_or_go_on(store, spec, owner=OUTSIDE, resume=not options.new)
    finished_folds = len(store.run(run_id).folds)
    if finished_folds:
        say(f"continuing with {finished_folds} of {spec.max_folds} folds; --new starts a new run")
    print(run_id)


def ask_command(options: argparse.Namespace) -> None:
    """A fold as files, or that there is none, now or any more."""
    store = open_store()
    reply = track.ask(
        store,
        full_id(store, options.run_id),
        options.folder,
        fold=options.fold,
        lease_seconds=_seconds(options.lease),
    )
    document: dict[str, Any]
    if not isinstance(reply, NoFold):
        document = {"fold": reply.fold}
        lines = [f"fold {reply.fold}"]
        for name, path in reply.files.items():
            document[name] = str(path)
            lines.append(f"{name} {path}")
        document["until"] = reply.until.isoformat()
    elif reply.until is None:
        # Without a time to wait until, there will be no fold any more.
        document = {"stop": True, "reason": reply.reason}
        lines = [f"stop: {reply.reason}"]
    else:
        document = {"wait": True, "until": reply.until.isoformat(), "reason": reply.reason}
        lines = [f"wait: {reply.reason}"]
    write_json(document, options.json)
    if options.json is None:
        print("\n".join(lines))


def tell_command(options: argparse.Namespace) -> None:
    """Keep what a fold gave, and say what the rule makes of it."""
    store = open_store()
    run, result = track.tell(
        store,
        full_id(store, options.run_id),
        options.fold,
        _reported_fold(options),
        seconds=options.seconds,
        joules=options.joules,
    )
    if result.note:
        say(result.note)
    if run.doubt:
        say(run.doubt)
    score = f"{run.spec.metric_name} {score_text(result.score)}"
    print(f"fold {options.fold}: {score}. {_words_after_fold(run, options.fold)}")


def _reported_fold(options: argparse.Namespace) -> object:
    """What the fold gave: its score, or a table of scores, recommendations or predictions."""
    if options.score is not None:
        return options.score
    from ecv_core.jobs.reported_tables import check_columns

    path = options.scores or options.recommendations or options.predictions
    columns = ["user_id", "item_id"]
    if options.scores:
        columns = ["user_id", "score"]
    table = track.read_table(path)
    check_columns(table, columns, f"{path.name} must be a CSV file with a header")
    if options.scores:
        # Any further column would make the table pass for lists of items.
        return table[columns]
    return table


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_LONGEST_LEASE = 366 * 86400.0


def _seconds(text: str) -> float:
    """Of '6h', '30 min', '90s' or '2d'. Raises: InputError."""
    match = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})\s*", text)
    seconds = 0.0
    if match:
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0 < seconds <= _LONGEST_LEASE:
        raise InputError(
            f"--lease takes a time of at most a year, such as 90s, 30min, 6h or 2d, not '{text}'"
        )
    return seconds


def _words_after_fold(run: RunRecord, fold: int) -> str:
    if run.state is RunState.CANCELLED:
        return "The fold is saved, but the run was cancelled; the same track command continues it."
    if fold in {result.fold for result in run.ahead}:
        return "The fold is saved; the rule looks at it once the folds before it are reported."
    if run.stopped_early and len(run.folds) > run.folds_used:
        return f"The fold is saved; the run stopped after {counted(run.folds_used, 'fold')}."
    return run.moments[-1].decision.reason
