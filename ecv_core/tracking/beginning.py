"""A tracked run that starts, or goes on where the same one stopped."""

from __future__ import annotations

from dataclasses import replace

from ecv_core import fold, stopping
from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.runner import recover, this_process
from ecv_core.store import OUTSIDE, Store, owner_of

LEFT = "the loop was left before its fold was reported"
CANCELLED = "cancelled; finished folds are kept, and the same track goes on there"


def begin(store: Store, spec: RunSpec, *, owner: str, resume: bool = True) -> str:
    """A run of this spec that the owner has now: the newest one that was cut off, or a new one.

    One that ended at its stop goes on where `spec.full` asks for the other folds.

    Args:
        store: where it is kept.
        spec: a tracked one.
        owner: `this_process()`, or OUTSIDE for programs that come and go.
        resume: False for a new one in any case.
    Returns: its id; it is running.
    Raises: InputError for data that cannot serve, or where another program goes on with it.
    """
    fold.data_of(spec)
    fold.folds_of(spec)
    recover(store)
    found = _newest(store, spec) if resume else None
    if found is not None:
        if found.state.active:
            if owner == OUTSIDE == owner_of(store, found.run_id):
                return found.run_id
            raise InputError(
                f"run {found.run_id} of '{spec.algorithm}' with these settings is going on in "
                f"another program{' (ask and tell)' if found.outside else ''}; wait for it, cancel "
                "it in the dashboard, or start one of its own with resume=False (--new)"
            )
        if found.resumable or (spec.full and found.can_be_checked):
            return go_on(store, found, owner=owner, full=spec.full)
    run_id = store.create([spec], owner=owner)[0]
    store.start(run_id, owner=owner)
    return run_id


def go_on(store: Store, run: Run, *, owner: str, full: bool = False) -> str:
    """Have a run that was cut off go on under this owner; gives its id.

    Raises: InputError where somebody was quicker.
    """
    spec = replace(run.spec, full=run.spec.full or full)
    if not (store.requeue(run.run_id, spec, owner=owner) and store.start(run.run_id, owner=owner)):
        raise InputError(f"run {run.run_id} is going on in another program already; wait for it")
    stop = stopping.stop_of(run.moments, run.k)
    if stop is not None and run.stopped_at is None:  # its last fold was told after it was cancelled
        store.add_fold(run.run_id, run.folds[-1], stopped_at=stop, owner=owner)
    return run.run_id


def _newest(store: Store, spec: RunSpec) -> Run | None:
    """The newest run of the same model and settings."""
    mine = (run for run in store.runs() if run.spec.tracked and run.spec.same_run(spec))
    return next(mine, None)


def is_mine(store: Store, run_id: str) -> bool:
    """Whether this very process has a run that is going on."""
    running = store.run(run_id).state is RunState.RUNNING
    return running and owner_of(store, run_id) == this_process()
