"""`study --splits A,B --space ...`: whole search spaces under several splits."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from tqdm import tqdm

from ecv_core.cli.exit_codes import OK
from ecv_core.cli.output import check_target, write_json
from ecv_core.errors import InputError
from ecv_core.jobs import GivesUp
from ecv_core.jobs.plans.tune import run_spaces
from ecv_core.store import open_store
from ecv_core.tuning.under_splits import planned_spaces
from ecv_core.words import counted


def study_spaces(options: argparse.Namespace) -> int:
    """Compute what is missing, and say how alike the splits rank the configurations."""
    check_target(options.json)
    if "," in options.datasets:
        raise InputError("--space takes one dataset at a time; give --datasets one id")
    planned = planned_spaces(
        options.datasets,
        options.algorithms.split(","),
        [name for name in options.splits.split(",") if name],
        options.space,
        seed=options.seed,
    )
    folds = sum(spec.k * len(configurations) for spec, configurations in planned)
    each = sum(len(configurations) for _, configurations in planned)
    print(
        f"{counted(each, 'configuration')} in all splits, at most {counted(folds, 'fold')}",
        file=sys.stderr,
    )
    with tqdm(total=folds, unit="fold", disable=None) as bar:
        found = run_spaces(
            open_store(),
            planned,
            share=True,
            on_fold=lambda: bar.update(1),
            trouble=GivesUp(partial(tqdm.write, file=sys.stderr)),
        )
    write_json(found.document(), options.json)
    if options.json == "-":
        return OK
    for split, scores in found.scores.items():
        best = int(scores.argmax())
        print(f"{split}: best {found.names[best]}, {found.metric} {scores[best]:.4f}")
    for one in found.agreements:
        print(
            f"{one.split} and {one.other}: Kendall's tau {one.tau:.2f} "
            f"({one.low:.2f} to {one.high:.2f}); the best of the first is "
            f"{one.best_loss_percent:.2g} % below the best of the second there"
        )
    return OK
