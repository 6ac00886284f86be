"""Folds that other code computes: a run that is begun, asked for its next fold, and told of it.

A run that waits to be told is running, under the owner OUTSIDE, for as long as it takes: who
computes the fold need not give a sign of life. Whoever asks gets a fold of their own for a while,
so that several compute at once; the rule sees the folds in their order, whoever is quicker. A fold
that is told late, after its time, the stop or a cancel, is kept all the same; telling is once only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import ecv_core.untrusted.bounded as bounded
from ecv_core import dataset as datasets
from ecv_core import fold, stopping
from ecv_core.jobs.heartbeat import interrupt_abandoned_runs, interrupt_run_if_abandoned
from ecv_core.jobs.plan import folds_done, next_fold
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import LARGEST_AMOUNT, Energy, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import (
    Lease,
    begin_time_of_leased_fold,
    expire_leases,
    leases,
    one_at_a_time,
    owner_of,
    take_fold,
)
from ecv_core.store.rescue import import_rescued_runs
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import Store
from ecv_core.untrusted.files import DAMAGED

if TYPE_CHECKING:
    import pandas as pd

    from ecv_core.jobs.reported_scores import Measured

LEFT = "the loop was left before its fold was reported"
"""The error of a run whose program has left the loop over its folds too early."""
CANCELLED = "cancelled; finished folds are kept, and the same track goes on there"
"""Why there is no fold to compute for a run that was cancelled."""


def begin_or_go_on(store: Store, spec: RunSpec, *, owner: str, resume: bool = True) -> str:
    """Have a run of this spec running under this owner; gives its id.

    It is the newest one, where that was cut off, ended at its stop and `spec.full` asks for the
    other folds, or where programs that ask and tell have it and the owner is OUTSIDE, as they are;
    else a new one.

    Args:
        store: Where the run is kept.
        spec: What decides its scores and its stop.
        owner: `this_process()`, or OUTSIDE for programs that come and go.
        resume: False for a new one in any case.

    Raises:
        InputError: For data that cannot serve, or where another program goes on with it.
    """
    cheap_models = stopping.cheap_model_ids(spec)
    if cheap_models:
        raise InputError(
            f"a tracked run cannot be adjusted by cheap models ({', '.join(cheap_models)}), for "
            "e-fold computes none of its folds; leave adjust_by (--adjust-by) out"
        )
    fold.folds_of(spec)  # data that cannot be read or split are bad input
    interrupt_abandoned_runs(store)
    newest = None
    if resume:
        newest = _newest_run(store, spec)
    if newest is None:
        return _begin(store, spec, owner)
    if _is_left_behind(store, newest, owner):
        store.finish(newest.run_id, RunState.INTERRUPTED, error=LEFT, owner=owner)
    import_rescued_runs(store)
    if newest is not None:
        newest = store.run(newest.run_id)
    if newest.state.active:
        _check_not_running_elsewhere(newest, owner)
        # It waits still where a program ended between having made it and starting it.
        store.start(newest.run_id, owner=owner)
        return newest.run_id
    if newest.can_go_on(full=spec.full):
        return go_on(store, newest, owner=owner, full=spec.full)
    return _begin(store, spec, owner)


def _begin(store: Store, spec: RunSpec, owner: str) -> str:
    """Have a new run of this spec running; gives its id."""
    run_id = store.create([spec], owner=owner)[0]
    store.start(run_id, owner=owner)
    return run_id


def _newest_run(store: Store, spec: RunSpec) -> RunRecord | None:
    for run in store.runs_like(spec):  # the newest first
        if run.spec.same_run(spec):
            interrupt_run_if_abandoned(store, run.run_id)
            return store.run(run.run_id)
    return None


def _is_left_behind(store: Store, run: RunRecord, owner: str) -> bool:
    """Whether this very program has left its loop over a run, and could not say so.

    The database was away then. A loop that still went on has been closed by now.
    """
    return owner != OUTSIDE and run.state.active and owner_of(store, run.run_id) == owner


def _check_not_running_elsewhere(run: RunRecord, owner: str) -> None:
    """Refuse a run that is going on, but for one that programs ask and tell. Raises: InputError."""
    # Programs that ask and tell share one owner: each may go on with the run of another.
    if owner == OUTSIDE and run.outside:
        return
    where = "another program"
    if run.outside:
        where += " (ask and tell)"
    raise InputError(
        f"run {run.run_id} of '{run.spec.algorithm}' with these settings is running in {where}; "
        "wait for it, cancel it in the dashboard, or start a new one with resume=False (--new)"
    )


def go_on(store: Store, run: RunRecord, *, owner: str, full: bool = False) -> str:
    """Have a run that was cut off go on under this owner; gives its id.

    Args:
        store: Where the run is kept.
        run: The run, as it stands there.
        owner: As of `begin_or_go_on`.
        full: Whether it also gets the folds after its stop, which check the stop.

    Raises:
        InputError: Where somebody was quicker.
    """
    spec = replace(run.spec, full=run.spec.full or full)
    is_ours = store.requeue(run.run_id, spec, owner=owner) and store.start(run.run_id, owner=owner)
    if not is_ours:
        raise InputError(f"run {run.run_id} is already running in another program; wait for it")
    # Who had asked for folds may be gone, so anybody may ask for them again.
    expire_leases(store, run.run_id)
    stop = stopping.stop_of(run.moments, run.k)
    if stop is not None and run.stopped_at is None:
        # Somebody told the fold at which the rule stops when the run was cancelled already. Such a
        # fold is kept, but the stop is not noted. Adding the last fold once more changes none of
        # the folds and only notes the stop.
        store.add_fold(run.run_id, run.folds[-1], stopped_at=stop, owner=owner)
    return run.run_id


PHASE = "asked for, not told yet"
"""What is shown as the progress of a fold that another program computes."""
LEASE_SECONDS = 6 * 3600.0
"""How long a fold is kept for a program that has asked for it, unless that says otherwise."""


@dataclass(frozen=True, kw_only=True)
class AskedFold:
    """A fold for somebody who has asked, as files."""

    fold: int
    until: datetime
    """From then on it may be asked for again; until it is told, telling it is welcome."""
    files: Mapping[str, Path]
    """'train' and 'test', and 'validation' where the split has such a part: CSV with a header,
    `user_id,item_id[,rating,timestamp]`."""


@dataclass(frozen=True, kw_only=True)
class NoFold:
    """Why there is no fold for somebody who asks now."""

    reason: str
    until: datetime | None = None
    """When to ask again, at the latest; None where there will be none any more."""


def ask(
    store: Store,
    run_id: str,
    folder: Path | None = None,
    *,
    fold: int | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> AskedFold | NoFold:
    """A fold of a run that is missing and that nobody else has asked for, or why there is none.

    Args:
        store: Where the run is.
        run_id: A tracked run that `begin_or_go_on` or another `ask` has.
        folder: Where its files go; by default one for the run, beside the datasets.
        fold: This one, though somebody else may have it.
        lease_seconds: Until others get it, if it is not told.

    Raises:
        InputError: For a run that is not tracked, was cut off, or is another program's.
    """
    run = _finish_if_no_fold_is_missing(store, _tracked_run(store, run_id))
    if run.state in (RunState.CANCELLED, RunState.FINISHED):
        return NoFold(reason=_why_ended(run))
    if run.resumable:
        raise InputError(
            f"run {run.run_id} was cut off ({run.state}); the command track with the same name and "
            "settings goes on with it"
        )
    _check_not_in_a_loop(run)
    folds = run.spec.fold_order
    if fold is not None:
        _check_missing(run, fold)
        folds = (fold,)
    index = take_fold(store, run_id, folds, seconds=lease_seconds, even_if_leased=fold is not None)
    if index is None:
        return _reason_and_time_to_wait(store, run_id)
    return _hand_out(store, run, index, folder or folder_of(run_id))


def _finish_if_no_fold_is_missing(store: Store, run: RunRecord) -> RunRecord:
    """The run; finished where the program that told its last fold ended before it could do so."""
    if run.state is RunState.RUNNING and run.outside and next_fold(run) is None:
        store.finish(run.run_id, RunState.FINISHED, owner=OUTSIDE)
        return store.run(run.run_id)
    return run


def _hand_out(store: Store, run: RunRecord, index: int, folder: Path) -> AskedFold:
    """A fold that was taken, as files; its lease begins when they are there.

    Raises:
        RunError: Where they cannot be written.
    """
    try:
        files = TrackedFold(run.spec, index).write(folder)
    except OSError as error:
        expire_leases(store, run.run_id, index)  # it may be asked for again at once
        raise RunError(f"{folder} cannot be written: {error.strerror}; nothing is lost") from error
    with one_at_a_time(store):
        # The files are there now, so the time of the fold begins.
        until = begin_time_of_leased_fold(store, run.run_id, index)
        store.set_progress(run.run_id, index, PHASE, 0, 0, starts_now=True)
    return AskedFold(fold=index, until=until, files=files)


def _why_ended(run: RunRecord) -> str:
    """Why a run that was cancelled or is finished has no more folds."""
    if run.state is RunState.CANCELLED:
        return CANCELLED
    if run.stopped_early and run.at_stop is not None:
        return run.at_stop.decision.reason
    return f"all {run.k} folds are in."


def _reason_and_time_to_wait(store: Store, run_id: str) -> NoFold:
    """When to ask again, where somebody has asked for each fold that is missing."""
    lease_of_fold = leases(store, run_id)
    if not lease_of_fold:
        return NoFold(reason="every fold was told just now", until=datetime.now(UTC))
    until = min(lease.until for lease in lease_of_fold.values())
    missing = ", ".join(map(str, sorted(lease_of_fold)))
    return NoFold(
        reason=f"every fold that is missing ({missing}) was asked for already; the first may be "
        f"asked for again from {until:%Y-%m-%d %H:%M} UTC on, or at once with --fold",
        until=until,
    )


def tell(
    store: Store,
    run_id: str,
    index: int,
    reported: object,
    *,
    seconds: float | None = None,
    joules: float | None = None,
) -> tuple[RunRecord, Measured]:
    """Keep a fold that was asked for, with what the rule makes of it.

    Args:
        reported: As of `tracking.measure`.
        seconds: The seconds that it took; by default since it was asked for.
        joules: The joules that it took; by default its energy is not known.

    Returns:
        The run after it, and the fold's scores.

    Raises:
        InputError: For a fold that was told before or not asked for, or what was reported of it.
    """
    from ecv_core.energy.meter import with_emissions
    from ecv_core.jobs.plan_runs import keep_reported_fold
    from ecv_core.jobs.reported_scores import measure

    _check_amount("seconds", seconds)
    _check_amount("joules", joules)
    run = _finish_if_no_fold_is_missing(store, _tracked_run(store, run_id))
    lease = _lease_of_missing_fold(store, run_id, index)
    if seconds is None:
        # The clock may have been set back since, or that of who asked may be ahead of this one.
        seconds = max((datetime.now(UTC) - lease.asked_at).total_seconds(), 0.0)
    evaluation_began_at = time.perf_counter()
    measured = measure(TrackedFold(run.spec, index), reported)
    evaluate_seconds = time.perf_counter() - evaluation_began_at
    energy = Energy.none()
    if joules is not None:
        energy = replace(energy, joules=joules, source="told")
        energy = with_emissions(energy, run.spec.country)
    # What the other program spent counts as fitting; only the evaluation was done here.
    result = measured.result(
        index,
        fit_seconds=seconds,
        evaluate_seconds=evaluate_seconds,
        total_seconds=seconds + evaluate_seconds,
        energy=energy,
    )
    with one_at_a_time(store):
        # Somebody else may have told another fold meanwhile, or this one, which is refused then.
        run = store.run(run_id)
        _lease_of_missing_fold(store, run_id, index)
        keep_reported_fold(store, run, result, owner=OUTSIDE)
    run = store.run(run_id)
    _forget_files(run, index)
    return run, measured


def _check_amount(unit: str, amount: float | None) -> None:
    """Refuse seconds or joules that no fold can take. Raises: InputError."""
    if amount is not None and not 0 <= amount <= LARGEST_AMOUNT:
        raise InputError(
            f"the {unit} of a fold must be at least 0 and at most {LARGEST_AMOUNT:g}, "
            f"but are {amount:g}"
        )


def folder_of(run_id: str) -> Path:
    """Where the files of the folds of a run are."""
    return datasets.data_dir() / "asked" / run_id


def read_table(path: Path) -> pd.DataFrame:
    """A CSV (or CSV.gz) table of what is told, ids as text.

    Raises:
        InputError: If it cannot be read.
    """
    if path.exists() and not path.is_file():  # a pipe or a device may never end
        raise InputError(f"{path} is not a regular file; give a table")
    return bounded.read(_read_table, path)


def _read_table(path: Path) -> pd.DataFrame:
    from ecv_core.jobs.reported_tables import reported_table

    try:
        return reported_table(path)
    except DAMAGED as error:  # pandas' errors are ValueErrors
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read as a CSV table: {why}") from error


def _tracked_run(store: Store, run_id: str) -> RunRecord:
    """The run of this id. Raises: InputError for one that is not tracked."""
    run = store.run(run_id)
    if not run.spec.tracked:
        raise InputError(
            f"run {run_id} is computed by e-fold itself ({run.spec.algorithm}); only runs that "
            "the command track has begun can be asked and told"
        )
    return run


def _check_not_in_a_loop(run: RunRecord) -> None:
    """Refuse a run whose folds a Python program tells by itself. Raises: InputError."""
    if run.state.active and not run.outside:
        raise InputError(
            f"run {run.run_id} is running in a Python program that tracks it; wait for it to end"
        )


def _lease_of_missing_fold(store: Store, run_id: str, index: int) -> Lease:
    """The lease of a fold that is told now.

    Raises:
        InputError: For a fold that cannot be told.
    """
    # Telling a fold adds it to the run and ends its lease. Where somebody tells it between these
    # two readings, the run has it: it is refused as told already, and not as never asked for.
    lease = leases(store, run_id).get(index)
    run = store.run(run_id)
    _check_missing(run, index)
    _check_not_in_a_loop(run)
    if lease is not None:
        return lease
    if next_fold(run) is None:
        way_out = "track it with --full to check the stop with the others"
        if run.complete:
            way_out = "start another"
        raise InputError(
            f"run {run.run_id} is finished after {len(run.folds)} of {run.k} folds, so no fold is "
            f"asked for; {way_out}"
        )
    raise InputError(
        f"fold {index} of run {run.run_id} was not asked for; ask for it first: "
        f"ask {run.run_id} --fold {index}"
    )


def _check_missing(run: RunRecord, index: int) -> None:
    """Refuse a fold that the run does not have, or that is there. Raises: InputError."""
    if index in folds_done(run):
        raise InputError(f"fold {index} of run {run.run_id} was told already; its scores are kept")
    if index not in run.spec.fold_order:
        folds = ", ".join(map(str, run.spec.fold_order))
        raise InputError(f"run {run.run_id} has no fold {index}; its folds are {folds}")


def _forget_files(run: RunRecord, index: int) -> None:
    """Delete what was handed out of a fold; after the end of the run, its folder too."""
    folder = folder_of(run.run_id)
    with suppress(OSError):
        for path in folder.glob(f"fold-{index}-*.csv"):
            path.unlink(missing_ok=True)
        if not run.state.active:
            folder.rmdir()  # unless there are files of a fold that is told late
