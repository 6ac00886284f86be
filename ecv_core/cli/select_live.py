"""`select DATASET CONTENDER ...`: the folds that it takes, in this very process."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial

from tqdm import tqdm

import ecv_core.datasets as datasets
from ecv_core import fold, models
from ecv_core.cli.exit_codes import OK
from ecv_core.cli.output import write_json
from ecv_core.cli.values import named_values
from ecv_core.errors import InputError, RunError
from ecv_core.evaluation import METRICS
from ecv_core.records import RunState
from ecv_core.runner import GivesUp, InProcess, execute, this_process, work
from ecv_core.selection import Terms
from ecv_core.selection.document import selection_document
from ecv_core.selection.live import Live, advance, begin, look
from ecv_core.selection.names import parse_contender
from ecv_core.spec import make_spec
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
    named = []
    for word in words:
        algorithm, params = parse_contender(word)
        spec = make_spec(
            dataset=dataset,
            algorithm=algorithm,
            params=params,
            split=options.split,
            split_params=named_values(options.split_param, "--split-param"),
            folds_sha256=sha256,
            k=k,
            seed=42 if options.seed is None else options.seed,
            metric=options.metric or "ndcg",
            n=options.n,
            rule="never",
        )
        fold.check_needs(spec)
        named.append((word, spec))
    fold.prepared(datasets.entry(dataset).id)  # a dataset that cannot be read is bad input
    if not named:
        raise InputError(f"name at least two contenders, of: {', '.join(models.ALGORITHMS)}")
    spec = named[0][1]
    terms = Terms(
        k=spec.k,
        confidence=options.confidence,
        indifference=options.indifference,
        until=options.until,
        higher_is_better=METRICS[spec.metric].higher_is_better,
    )
    store = open_store()
    selection_id = begin(store, named, terms, known=store.runs())
    found = look(store, selection_id)
    with tqdm(unit="fold", disable=None, leave=False) as bar:

        def show(phase: str, step: int, steps: int, /, **_: object) -> None:
            bar.set_description(f"{phase} {step}/{steps}" if steps else phase)

        while (run_id := advance(store, selection_id, owner=this_process())) is not None:
            trouble = GivesUp(partial(tqdm.write, file=sys.stderr))
            execute(store, run_id, InProcess(), job=partial(work, also=show), on_trouble=trouble)
            run = store.run(run_id)
            if run.state is not RunState.FINISHED:
                raise RunError(run.error or f"the run was {run.state}; finished folds are kept")
            bar.update(1)
            found = _told(found, look(store, selection_id))
    assert found.played is not None
    played = replace(found.played, joules_of_all_folds=found.joules_expected)
    document = selection_document(found.contenders, terms, spec.metric_name, played)
    write_json(document, options.json)
    if options.json != "-":
        print(found.sentence([one.name for one in found.contenders], dataset))
        print(f"selection {selection_id}")
    return OK


def _told(before: Live, now: Live) -> Live:
    """Say who is out since the last round."""
    seen = len(before.played.rounds) if before.played else 0
    for one in now.played.rounds[seen:] if now.played else ():
        names = [contender.name for contender in now.contenders]
        out = f"; out: {', '.join(names[place] for place in one.dropped)}" if one.dropped else ""
        tqdm.write(f"after fold {one.fold}: {names[one.leader]} leads{out}", file=sys.stderr)
    return now
