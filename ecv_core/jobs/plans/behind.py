"""What a run of the database is computed for: the selection that has queued it, or itself."""

from __future__ import annotations

from ecv_core.jobs.book import Book, Says
from ecv_core.jobs.plan import Plan
from ecv_core.jobs.plans.run import SPECULATE, RunPlan
from ecv_core.jobs.plans.study import StudyPlan
from ecv_core.records.run import Run, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import owner_of
from ecv_core.store.plans import SELECTION, plan_behind
from ecv_core.store.store import Store


def plan_of(
    store: Store, run: Run, says: Says, *, speculate: int = SPECULATE, together: bool = False
) -> tuple[Plan, Book]:
    """The plan that goes on with a queued run, and its book.

    Of a selection, runs that were taken out of the queue since are left out.

    Args:
        speculate: as of `RunPlan`.
        together: whether the runs that wait behind it go on beside it, each as its nodes allow.
    """
    record = plan_behind(store, run.group)
    if record is not None and record.kind == SELECTION:
        from ecv_core.jobs.plans.select import SelectPlan, selection_book

        left = store.left_queue(record.plan_id, run.run_id)
        plan = SelectPlan.of(record, speculate=speculate)
        return plan, selection_book(store, record, says, left=left)
    if together:
        runs = [run, *_alike(store, run)]
        book = Book(store, runs=runs, started_by=run.started_by, anew=run.anew, says=says)
        return StudyPlan([one.spec for one in runs], speculate=speculate), book
    book = Book(store, runs=[run], started_by=run.started_by, anew=run.anew, says=says)
    return RunPlan(run.spec, speculate=speculate), book


def _alike(store: Store, first: Run) -> list[Run]:
    """What waits in the same queue behind a run, started by the same person, none twice."""
    owner, place = owner_of(store, first.run_id), store.place_of(first.group)
    found: dict[RunSpec, Run] = {first.spec: first}
    for run in store.active():
        if (
            run.state is RunState.QUEUED
            and (run.started_by, run.anew) == (first.started_by, first.anew)
            and owner_of(store, run.run_id) == owner
            and store.place_of(run.group) == place
            and ((record := plan_behind(store, run.group)) is None or record.kind != SELECTION)
        ):
            found.setdefault(run.spec, run)
    return list(found.values())[1:]
