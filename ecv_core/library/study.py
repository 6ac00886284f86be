"""Datasets x algorithms x splits, from one line of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Unpack

from ecv_core.jobs.book import Says, refuse
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.plans import study as plan
from ecv_core.library.evaluate import kept_or_not
from ecv_core.library.in_memory import dataset_id
from ecv_core.library.run import Run, Runs
from ecv_core.library.settings import Settings, settings_of_rule
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.splits import Strategy, register_split
from ecv_core.splits.strategies import Make
from ecv_core.stopping import StoppingRule
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan


@kinds_checked
def study(
    datasets: Sequence[object],
    algorithms: Sequence[str],
    *,
    splits: Sequence[str | Strategy | Make] = (),
    rule: StoppingRule | str | None = None,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[Run], None] = lambda run: None,
    **settings: Unpack[Settings],
) -> Runs:
    """Evaluate every algorithm on every dataset, with the folds that the database has already.

    Args:
        datasets: each as of `evaluate`.
        algorithms: ids of `algorithms()`, every parameter at its default.
        splits: each as of `evaluate`; by default each algorithm's usual one.
        rule: that ends each run, as of `evaluate`, registered; by default all folds run.
        keep: leave it in the database, where the page Studies finds it.
        on: where folds are computed, as of `evaluate`.
        on_fold: told of each run after every fold of it.
        settings: as of `evaluate`, the same for all.
    Returns: the runs that answer, in the order in which they were asked for; one that failed says
        why in `record.error`.
    Raises: InputError for an unknown name, or data that cannot serve.
    """
    asked = {"full": True} if rule is None else settings_of_rule(rule)
    if asked is None:
        raise InputError(
            f"a study names its rule, and {rule!r:.60} has no id: ecv.register_rule it"
        )
    names = [dataset_id(one) for one in datasets]
    ids = [one if isinstance(one, str) else register_split(one).id for one in splits]
    cells = plan.planned(names, algorithms, ids, **asked | dict(settings))
    for _, why in plan.with_obstacles(cells):
        if why is not None:
            raise InputError(why)
    with kept_or_not(keep) as store, closing(executor_on(on)) as executor:
        keep_plan(store, STUDY, [PlannedRun(spec=cell.spec) for cell in cells])
        there = plan.filled(cells, store)
        missing = [
            cell for cell in there if cell.run is None or not plan.answers(cell.run, cell.spec)
        ]
        done = plan.compute(
            store,
            missing,
            executor=executor,
            says=Says(fold=lambda run: on_fold(Run(run)), trouble=refuse),
        )
        runs = {cell.spec: cell.run for cell in [*there, *done]}
        return Runs([Run(run) for cell in cells if (run := runs[cell.spec]) is not None])
