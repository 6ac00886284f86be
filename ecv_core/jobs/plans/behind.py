"""What a run of the database is computed for: the selection that has queued it, or itself."""

from __future__ import annotations

from ecv_core.jobs.book import Book, Says
from ecv_core.jobs.plan import Plan
from ecv_core.jobs.plans.run import SPECULATE, RunPlan
from ecv_core.jobs.plans.select import SelectPlan, selection_book
from ecv_core.records.run import Run
from ecv_core.store.plans import SELECTION, plan_behind
from ecv_core.store.store import Store


def plan_of(store: Store, run: Run, says: Says, *, speculate: int = SPECULATE) -> tuple[Plan, Book]:
    """The plan that goes on with a queued run, and its book.

    Of a selection, runs that were taken out of the queue since are left out.
    """
    record = plan_behind(store, run.group)
    if record is not None and record.kind == SELECTION:
        left = store.left_queue(record.plan_id, run.run_id)
        plan = SelectPlan.of(record, speculate=speculate)
        return plan, selection_book(store, record, says, left=left)
    book = Book(store, runs=[run], started_by=run.started_by, anew=run.anew, says=says)
    return RunPlan(run.spec, speculate=speculate), book
