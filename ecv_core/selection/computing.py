"""A selection computed to its end in this process, for the command line and for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from ecv_core import fold, models
from ecv_core.errors import InputError, RunError
from ecv_core.evaluation import METRICS
from ecv_core.records import RunSpec, RunState
from ecv_core.runner import (
    InProcess,
    SharedJob,
    execute,
    execute_shared,
    this_process,
    work,
)
from ecv_core.runner.drive import Job
from ecv_core.selection.live import Live, advance, begin, look, queue_fold
from ecv_core.selection.names import parse_contender
from ecv_core.selection.rounds import Terms, Until
from ecv_core.selection.sharing import sharing_places
from ecv_core.spec import make_spec
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store import Store


def named_contenders(
    dataset: str,
    words: Sequence[str],
    *,
    tracked: Container[str] = (),
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[tuple[str, RunSpec]]:
    """Contenders and their specs.

    Args:
        dataset: an id, on disk.
        words: 'ALGORITHM[:name=value[,name=value]...]' each.
        tracked: names of tracked models, which may be contenders too.
        settings: as of `spec.make_spec`, for all of them.
    Raises: InputError for what cannot be run, or no contender.
    """
    if not words:
        raise InputError(f"name at least two contenders, of: {', '.join(models.ALGORITHMS)}")
    named = []
    for word in words:
        algorithm, params = parse_contender(word)
        spec = make_spec(
            dataset=dataset,
            algorithm=algorithm,
            params=params,
            tracked=algorithm in tracked,
            **settings,
            rule=NEVER_STOPS,
        )
        if not spec.tracked:
            fold.check_needs(spec)
        named.append((word, spec))
    fold.data_of(named[0][1])  # a dataset that cannot be read is bad input
    return named


def terms_for(spec: RunSpec, *, confidence: float, indifference: float, until: Until) -> Terms:
    """What is asked of contenders that are run with this spec."""
    return Terms(
        k=spec.k,
        confidence=confidence,
        indifference=indifference,
        until=until,
        higher_is_better=METRICS[spec.metric].higher_is_better,
    )


def compute(
    store: Store,
    named: Sequence[tuple[str, RunSpec]],
    terms: Terms,
    *,
    job: Job = work,
    shared: SharedJob | None = None,
    on_fold: Callable[[Live], None] = lambda live: None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
) -> Live:
    """Compute one fold after another until it is decided; those in the store are used.

    Args:
        store: where it is kept.
        named: the contenders, as of `named_contenders`.
        terms: what is asked.
        job: computes a fold; see `runner.drive.Job`.
        shared: computes a fold of contenders that share work, of all that are still in at once;
            None computes each on its own.
        on_fold: told after every fold that was computed.
        on_trouble: as of `execute`.
    Raises: InputError for contenders that cannot be compared; RunError if a fold fails.
    """
    selection_id = begin(store, named, terms, known=store.runs())
    while (now := look(store, selection_id)).needed is not None:
        places = sharing_places(now) if shared is not None else []
        if shared is not None and len(places) > 1:
            run_ids = queue_fold(store, now, places, now.needed[1], owner=this_process())
            execute_shared(
                *(store, run_ids),
                job=shared,
                on_fold=lambda run: on_fold(look(store, selection_id)),
                on_trouble=on_trouble,
            )
            check_finished(store, run_ids)
            continue
        run_id = advance(store, selection_id, owner=this_process())
        if run_id is None:
            break
        execute(store, run_id, InProcess(), job=job, on_trouble=on_trouble)
        check_finished(store, [run_id])
        on_fold(look(store, selection_id))
    return look(store, selection_id)


def check_finished(store: Store, run_ids: Sequence[str]) -> None:
    """Raises: RunError for the first of these runs that did not finish."""
    for run_id in run_ids:
        run = store.run(run_id)
        if run.state is not RunState.FINISHED:
            raise RunError(run.error or f"the run was {run.state}; finished folds are kept")
