"""`select DATASET CONTENDER ...`: the folds that it takes, in this very process."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial

from tqdm import tqdm

from ecv_core import fold
from ecv_core.cli.exit_codes import OK
from ecv_core.cli.output import write_json
from ecv_core.cli.values import named_values
from ecv_core.errors import InputError
from ecv_core.jobs import GivesUp, Here
from ecv_core.jobs.plans.select import (
    Standing,
    compute,
    named_contenders,
    terms_for,
    tracked_names,
)
from ecv_core.selection.document import selection_document
from ecv_core.store import open_store


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
    )
    spec = named[0][1]
    terms = terms_for(
        spec,
        confidence=options.confidence,
        indifference=options.indifference,
        until=options.until,
    )
    before: Standing | None = None
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def show(phase: str, step: int, steps: int, /, **_: object) -> None:
            bar.set_description(f"{phase} {step}/{steps}" if steps else phase)

        def on_fold(now: Standing) -> None:
            nonlocal before
            bar.update(1)
            before = _told(before, now)

        selection_id, found = compute(
            open_store(),
            named,
            terms,
            executor=Here(also=show),
            on_fold=on_fold,
            trouble=GivesUp(partial(tqdm.write, file=sys.stderr)),
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
