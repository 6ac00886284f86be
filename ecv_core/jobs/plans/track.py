"""Folds that other code computes: a run that is begun, asked for its next fold, and told of it.

A run that waits to be told is running, under the owner OUTSIDE, for as long as it takes: who
computes the fold need not give a sign of life. Whoever asks gets a fold of their own for a while,
so that several compute at once; the rule sees the folds in their order, whoever is quicker. A fold
that is told late, after its time, the stop or a cancel, is kept all the same; telling is once only.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.bounded as bounded
from ecv_core import dataset as datasets
from ecv_core import fold, stopping
from ecv_core.jobs.owner import recover
from ecv_core.jobs.plan import FoldTask, next_fold
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.interactions import Part
from ecv_core.records.run import AMOUNT, Energy, FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import (
    expire,
    leases,
    one_at_a_time,
    owner_of,
    start_clock,
    take_fold,
)
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import Store
from ecv_core.untrusted.files import DAMAGED, replacing

if TYPE_CHECKING:
    import pandas as pd

    from ecv_core.jobs.reported_scores import Measured

LEFT = "the loop was left before its fold was reported"
CANCELLED = "cancelled; finished folds are kept, and the same track goes on there"


def begin(store: Store, spec: RunSpec, *, owner: str, resume: bool = True) -> str:
    """A run of this spec that the owner has now: the newest one that was cut off, or a new one.

    One that ended at its stop goes on where `spec.full` asks for the other folds.

    Args:
        owner: `this_process()`, or OUTSIDE for programs that come and go.
        resume: False for a new one in any case.
    Returns: its id; it is running.
    Raises: InputError for data that cannot serve, or where another program goes on with it.
    """
    if aids := stopping.cheap_models(spec):
        raise InputError(
            f"a tracked run cannot be adjusted by cheap models ({', '.join(aids)}), for e-fold "
            "computes none of its folds; leave adjust_by (--adjust-by) out"
        )
    fold.data_of(spec)
    fold.folds_of(spec)
    recover(store)
    same = (run for run in store.runs_like(spec) if run.spec.same_run(spec))  # the newest first
    if resume and (found := next(same, None)) is not None:
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


def go_on(store: Store, run: RunRecord, *, owner: str, full: bool = False) -> str:
    """Have a run that was cut off go on under this owner; gives its id.

    Raises: InputError where somebody was quicker.
    """
    spec = replace(run.spec, full=run.spec.full or full)
    if not (store.requeue(run.run_id, spec, owner=owner) and store.start(run.run_id, owner=owner)):
        raise InputError(f"run {run.run_id} is going on in another program already; wait for it")
    expire(store, run.run_id)  # who had asked for a fold may be gone
    stop = stopping.stop_of(run.moments, run.k)
    if stop is not None and run.stopped_at is None:  # its last fold was told after it was cancelled
        store.add_fold(run.run_id, run.folds[-1], stopped_at=stop, owner=owner)
    return run.run_id


PHASE = "asked for, not told yet"
LEASE_SECONDS = 6 * 3600.0
"""For so long a fold is for one who has asked, unless they say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A fold for one who has asked, as files."""

    fold: int
    until: datetime
    """From then on it may be asked for again; until it is told, telling it is welcome."""
    files: Mapping[str, Path]
    """'train' and 'test', and 'validation' where the split has such a part: CSV with a header,
    `user_id,item_id[,rating,timestamp]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFold:
    """Why there is no fold for who asks now."""

    reason: str
    until: datetime | None = None
    """When to ask again, at the latest; None where there will be none any more."""


def ask(
    store: Store,
    run_id: str,
    folder: Path | None = None,
    *,
    fold: int | None = None,
    seconds: float = LEASE_SECONDS,
) -> Asked | NoFold:
    """A fold of a run that is missing and that nobody else has asked for, or why there is none.

    Args:
        run_id: a tracked run that `begin` or another `ask` has.
        folder: where its files go; by default one for the run, beside the datasets.
        fold: this one, though somebody else may have it.
        seconds: until others get it, if it is not told.
    Raises: InputError for a run that is not tracked, was cut off, or is another program's.
    """
    run = _tracked(store, run_id)
    if run.state is RunState.CANCELLED:
        return NoFold(reason=CANCELLED)
    if run.state is RunState.FINISHED:
        at = run.at_stop
        early = at if run.stopped_early else None
        return NoFold(reason=early.decision.reason if early else f"all {run.k} folds are in.")
    if run.resumable:
        raise InputError(
            f"run {run.run_id} was cut off ({run.state}); the command track with the same name and "
            "settings goes on with it"
        )
    _check_not_in_a_loop(run)
    if next_fold(run) is None:  # the program ended between the last fold and this
        store.finish(run_id, RunState.FINISHED, owner=OUTSIDE)
        return ask(store, run_id, folder)
    if fold is not None:
        _check_missing(run, fold)
    wanted = run.spec.fold_order if fold is None else (fold,)
    index = take_fold(store, run_id, wanted, seconds=seconds, anew=fold is not None)
    if index is None:
        return _all_asked(store, run_id)
    where = folder or folder_of(run_id)
    handed = TrackedFold(run.spec, index)
    parts = {"train": Part.TRAIN, "test": Part.TEST}
    if (handed.parts == Part.VALIDATION).any():
        parts["validation"] = Part.VALIDATION
    files = {name: where / f"fold-{index}-{name}.csv" for name in parts}
    try:
        for name, part in parts.items():
            columns = handed.columns(part)
            values = (  # csv would give a rating too many digits
                (_texts(one) if one.dtype.kind == "f" else one).tolist() for one in columns.values()
            )
            with replacing(files[name]) as path, path.open("w", encoding="utf-8", newline="") as to:
                rows = csv.writer(to, lineterminator="\n")
                rows.writerow(columns)
                rows.writerows(zip(*values, strict=True))
    except OSError as error:
        expire(store, run_id, index)
        raise RunError(f"{where} cannot be written: {error.strerror}; nothing is lost") from error
    with one_at_a_time(store):
        until = start_clock(store, run_id, index)
        store.set_progress(run_id, index, PHASE, 0, 0, anew=True)
    files = {name: path.absolute() for name, path in files.items()}
    return Asked(fold=index, until=until, files=files)


def _texts(ratings: NDArray[np.floating]) -> NDArray[np.object_]:
    different, which = np.unique(ratings, return_inverse=True)
    return different.astype(str).astype(object)[which]


def _all_asked(store: Store, run_id: str) -> NoFold:
    out = leases(store, run_id)
    if not out:  # told meanwhile
        return NoFold(reason="every fold was told just now", until=datetime.now(UTC))
    until = min(one.until for one in out.values())
    which = ", ".join(map(str, sorted(out)))
    return NoFold(
        reason=f"every fold that is missing ({which}) was asked for already; the first may be "
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
        reported: as of `tracking.measure`.
        seconds: that it took; by default since it was asked for.
        joules: that it took; by default its energy is not known.
    Returns: the run after it, and the fold's scores.
    Raises: InputError for a fold that was told before or not asked for, or what was reported of it.
    """
    from ecv_core.energy.meter import country
    from ecv_core.energy.savings import JOULES_PER_KWH
    from ecv_core.jobs.book import Book, Says, refuse
    from ecv_core.jobs.reported_scores import measure

    for what, given in (("seconds", seconds), ("joules", joules)):
        if given is not None and not 0 <= given <= AMOUNT:
            raise InputError(
                f"the {what} of a fold must be at least 0 and at most {AMOUNT:g}, but are {given:g}"
            )
    run = _tracked(store, run_id)
    since = _asked_at(store, run_id, index)
    begun = datetime.now(UTC)
    found = measure(TrackedFold(run.spec, index), reported)
    spent = (begun - since).total_seconds() if seconds is None else seconds
    evaluated = (datetime.now(UTC) - begun).total_seconds()
    energy = Energy.none()
    if joules is not None:
        grams = joules / JOULES_PER_KWH * country(run.spec.country).grams_co2e_per_kwh
        energy = replace(energy, joules=joules, grams_co2e=grams, source="told")
    result = FoldResult(
        fold=index,
        score=found.score,
        metrics=found.metrics,
        users=found.users,
        fit_seconds=spent,
        evaluate_seconds=evaluated,
        total_seconds=spent + evaluated,
        energy=energy,
        user_scores=found.user_scores,
    )
    with one_at_a_time(store):
        run = store.run(run_id)
        _asked_at(store, run_id, index)  # somebody else may have told it meanwhile
        book = Book(store, runs=[run], owner=OUTSIDE, says=Says(trouble=refuse))
        if book.commit(FoldTask(specs=(run.spec,), fold=index), 0, result):
            book.finish_whole()
    run = store.run(run_id)
    _forget_files(run, index)
    return run, found


def folder_of(run_id: str) -> Path:
    """Where the files of the folds of a run are."""
    return datasets.data_dir() / "asked" / run_id


def read_table(path: Path) -> pd.DataFrame:
    """A CSV (or CSV.gz) table of what is told, ids as text.

    Raises: InputError if it cannot be read.
    """
    if path.exists() and not path.is_file():  # a pipe or a device may never end
        raise InputError(f"{path} is no regular file; give a table")
    return bounded.read(_read_table, path)


def _read_table(path: Path) -> pd.DataFrame:
    from ecv_core.jobs.reported_tables import reported_table

    try:
        return reported_table(path)
    except DAMAGED as error:  # pandas' errors are ValueErrors
        said = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read as a CSV table: {said}") from error


def _tracked(store: Store, run_id: str) -> RunRecord:
    run = store.run(run_id)
    if not run.spec.tracked:
        raise InputError(
            f"run {run_id} is computed by e-fold itself ({run.spec.algorithm}); only runs of the "
            "command track are asked and told"
        )
    return run


def _check_not_in_a_loop(run: RunRecord) -> None:
    if run.state.active and not run.outside:
        raise InputError(
            f"run {run.run_id} is going on in a Python program that tracks it; wait for that one"
        )


def _asked_at(store: Store, run_id: str, index: int) -> datetime:
    """When a fold was asked for that is to be told now. Raises: InputError where it cannot be."""
    lease = leases(store, run_id).get(index)
    run = store.run(run_id)  # after the lease, which goes when somebody tells the fold
    _check_missing(run, index)
    _check_not_in_a_loop(run)
    if lease is not None:
        return lease.asked_at
    if next_fold(run) is None:
        way_out = "track it with --full to check the stop with the others"
        raise InputError(
            f"run {run.run_id} is finished after {len(run.folds)} of {run.k} folds, so no fold is "
            f"asked for; {'start another' if run.complete else way_out}"
        )
    raise InputError(
        f"fold {index} of run {run.run_id} was not asked for; ask for it first: "
        f"ask {run.run_id} --fold {index}"
    )


def _check_missing(run: RunRecord, index: int) -> None:
    """Refuse a fold that the run does not have, or that is there. Raises: InputError."""
    if index in {fold.fold for fold in (*run.folds, *run.ahead)}:
        raise InputError(f"fold {index} of run {run.run_id} was told before; its scores are kept")
    if index not in run.spec.fold_order:
        which = ", ".join(map(str, run.spec.fold_order))
        raise InputError(f"run {run.run_id} has no fold {index}; its folds are {which}")


def _forget_files(run: RunRecord, index: int) -> None:
    """Delete what was handed out of a fold; after the end of the run, its folder too."""
    folder = folder_of(run.run_id)
    with suppress(OSError):
        for path in folder.glob(f"fold-{index}-*.csv"):
            path.unlink(missing_ok=True)
        if not run.state.active:
            folder.rmdir()  # unless there are files of a fold that is told late
