"""Which process has which run, and who has asked for which fold; whether they are still there."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import psutil
import sqlalchemy as sa
from filelock import FileLock

from ecv_core.records.run import RunState
from ecv_core.store.rows import ACTIVE
from ecv_core.store.schema import (
    fold_leases,
    folds,
    now,
    owners,
    progress,
    runs,
    under_way,
)
from ecv_core.store.store import Store

_LOCK_NUMBER = 0x65667464
"""Of the lock of `one_at_a_time`; any number that nobody else uses."""
GONE = "the program that computed this run ended before the run was done"


def active_owners(store: Store) -> dict[str, str | None]:
    """Owners of runs that are queued or running, with their last sign of life.

    A sign differs from the one before. It is a time by the clock of who gave it, so it says
    nothing to anybody who has another clock.
    """
    query = (
        sa.select(runs.c.owner, owners.c.beat_at)
        .join(owners, owners.c.owner == runs.c.owner, isouter=True)
        .where(ACTIVE, runs.c.owner.is_not(None))
        .distinct()
    )
    return {row.owner: row.beat_at for row in store.rows(query)}


def owner_of(store: Store, run_id: str) -> str | None:
    """Who has a run, or had it last; None where that is not known."""
    return store.scalar(sa.select(runs.c.owner).filter_by(run_id=run_id))


def beat(store: Store, owner: str, *, is_dashboard: bool) -> None:
    """A sign of life; those of owners without active runs are forgotten.

    Args:
        store: The store of its runs.
        owner: Who gives it.
        is_dashboard: Whether the next dashboard takes its queue over.
    """
    values = {"serves": is_dashboard, "beat_at": now()}
    change = owners.update().filter_by(owner=owner).values(**values)
    with store.transaction("written") as connection:
        if not connection.execute(change).rowcount:
            # No row was changed, so that this is the owner's first sign of life.
            # Others that gave signs of life before, and have no run any more, are forgotten now.
            owners_of_runs = sa.select(runs.c.owner).where(ACTIVE, runs.c.owner.is_not(None))
            connection.execute(owners.delete().where(owners.c.owner.not_in(owners_of_runs)))
            connection.execute(owners.insert().values(owner=owner, **values))


def take_over(store: Store, gone_owners: Collection[str], *, owner: str) -> int:
    """Give what waits in the queues of dashboards that are gone to this owner; how many runs."""
    # Only an owner that serves pages, as a dashboard does, has a queue that others take over.
    is_gone_dashboard = owners.c.owner.in_(gone_owners) & owners.c.serves
    gone_dashboards = sa.select(owners.c.owner).where(is_gone_dashboard)
    queued = runs.update().filter_by(state=RunState.QUEUED)
    return store.write(queued.where(runs.c.owner.in_(gone_dashboards)).values(owner=owner))


def interrupt(store: Store, gone_owners: Collection[str]) -> None:
    """Mark the active runs of owners that are gone as interrupted."""
    left_behind = (ACTIVE, runs.c.owner.in_(gone_owners))
    with store.transaction("written") as connection:
        run_ids = sa.select(runs.c.run_id).where(*left_behind)
        for table in (progress, under_way):
            connection.execute(table.delete().where(table.c.run_id.in_(run_ids)))
        change = runs.update().where(*left_behind)
        connection.execute(change.values(state=RunState.INTERRUPTED, finished_at=now(), error=GONE))


# Processes, by names that stay theirs.


GONE_SECONDS = 10.0
"""After this long without a sign of life a process on another machine is gone."""


def this_process() -> str:
    """Names this process for good: machine, process id and start, for a process id comes back."""
    return f"{_machine()}:{os.getpid()}:{_start_of_process(os.getpid())}"


def _start_of_process(pid: int) -> int:
    """When a process began: in ticks since boot on Linux, which no change of the clock moves.

    Elsewhere in seconds, by the clock. Raises: psutil.Error if there is no such process.
    """
    status = _text(f"/proc/{pid}/stat")
    if not status:
        return round(psutil.Process(pid).create_time())
    # The second field is the program's name in brackets, which may have spaces and brackets itself.
    _, _, after_name = status.rpartition(")")
    fields = after_name.split()
    return int(fields[_START_FIELD])


_START_FIELD = 19
"""Where `starttime` is after the name in /proc/PID/stat: it is field 22 of proc(5), the name 2."""


@lru_cache(maxsize=1)
def _machine() -> str:
    """Where process ids mean the same: this host since it was started, or this container."""
    space = _text("/proc/sys/kernel/random/boot_id") + _text("/proc/self/ns/pid")
    digest = hashlib.sha256(space.encode()).hexdigest()
    return f"{socket.gethostname()}/{digest[:8]}"


def is_gone(owner: str) -> bool:
    """Whether it is certain, without a sign of life, that a process of this machine has ended."""
    return not is_elsewhere(owner) and not is_alive(owner, silent_seconds=0.0)


def is_elsewhere(owner: str) -> bool:
    """Whether a process is on another machine, so that only its signs of life tell of it."""
    names_process = re.fullmatch(_PROCESS, owner) is not None
    return names_process and not owner.startswith(f"{_machine()}:")


_PROCESS = r".+:(?P<pid>\d+):(?P<start>\d+)"
"""What `this_process` gives: machine, process id, start."""


def _text(path: str) -> str:
    """What a file says, or where a link points; empty where there is neither."""
    try:
        if Path(path).is_symlink():
            return os.readlink(path)
        return Path(path).read_text("utf-8", errors="replace")
    except OSError:
        return ""


def is_alive(owner: str, *, silent_seconds: float) -> bool:
    """Whether the process that `this_process` named is still there; of another name who knows.

    Args:
        owner: The name of the process.
        silent_seconds: For how long it has given no sign of life, by one clock; asked only of a
            process that is elsewhere.
    """
    parts = re.fullmatch(_PROCESS, owner)
    if parts is None:
        # The owner is no process, so that nobody can tell whether it has ended.
        return True
    if is_elsewhere(owner):
        return silent_seconds < GONE_SECONDS
    pid = int(parts["pid"])
    try:
        # A start that is given in seconds may be rounded up or down. Another process that has got
        # the id by now began later.
        distance = abs(_start_of_process(pid) - int(parts["start"]))
        return distance < 2 and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


# Folds that other code has asked for and has not told yet: each for one asker, for a while.


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A fold that somebody has asked for."""

    fold: int
    asked_at: datetime
    until: datetime
    """From then on it may be asked for again; what is told of it later is kept all the same, as
    long as it is missing."""


def take_fold(
    store: Store,
    run_id: str,
    wanted: Sequence[int],
    *,
    seconds: float,
    even_if_leased: bool = False,
) -> int | None:
    """Take the first of these folds that is missing and that nobody else has asked for.

    Of several who do so at once each gets another one.

    Args:
        store: The store of the run.
        run_id: The run id of the run.
        wanted: Fold indices, the most urgent first.
        seconds: Until it may be asked for again.
        even_if_leased: Take it though somebody else has it.

    Returns:
        Its index; None where there is none.
    """
    with store.transaction("written") as connection:
        # This write changes nothing, but everybody who asks for a fold of the run, or reports one,
        # at the same moment has to wait for it.
        connection.execute(runs.update().filter_by(run_id=run_id).values(run_id=run_id))
        moment = _clock(connection)
        until = moment + timedelta(seconds=seconds)
        taken = set(connection.scalars(sa.select(folds.c.fold).filter_by(run_id=run_id)))
        # A lease is a fold that somebody has asked for, and that is theirs for a while.
        if not even_if_leased:
            for lease in _leases(connection, run_id).values():
                if lease.until > moment:
                    taken.add(lease.fold)
        for fold in wanted:
            if fold not in taken:
                connection.execute(fold_leases.delete().filter_by(run_id=run_id, fold=fold))
                row = {"asked_at": now(), "until": until.isoformat()}
                connection.execute(fold_leases.insert().values(run_id=run_id, fold=fold, **row))
                return fold
    return None


def begin_time_of_leased_fold(store: Store, run_id: str, fold: int) -> datetime:
    """Count the seconds of a fold that was asked for from now on.

    Returns:
        The end of its lease, which stays as it was.
    """
    update = fold_leases.update().filter_by(run_id=run_id, fold=fold)
    query = sa.select(fold_leases.c.until).filter_by(run_id=run_id, fold=fold)
    with store.transaction("written") as connection:
        # The seconds of a fold are counted from `asked_at`. It is set again once the files of the
        # fold are written, as the asker has not begun before.
        connection.execute(update.values(asked_at=now()))
        end_of_lease: str = connection.execute(query).scalar_one()
    return datetime.fromisoformat(end_of_lease)


def leases(store: Store, run_id: str) -> Mapping[int, Lease]:
    """The folds of a run that were asked for and are missing, by index, in the order of asking."""
    with store.transaction("read") as connection:
        return _leases(connection, run_id)


def expire_leases(store: Store, run_id: str, fold: int | None = None) -> None:
    """Let a fold of a run, or every one, be asked for again."""
    change = fold_leases.update().filter_by(run_id=run_id)
    if fold is not None:
        change = change.filter_by(fold=fold)
    with store.transaction("written") as connection:
        connection.execute(change.values(until=_clock(connection).isoformat()))


def _clock(connection: sa.Connection) -> datetime:
    """The clock that all who use a database have in common: the server's, or this machine's."""
    if connection.dialect.name == "sqlite":
        # All programs that have the file open are on one machine, and have its clock.
        return datetime.now(UTC)
    moment: datetime = connection.execute(sa.select(sa.func.now())).scalar_one()
    return moment.astimezone(UTC)


def _leases(connection: sa.Connection, run_id: str) -> dict[int, Lease]:
    finished = sa.select(folds.c.fold).filter_by(run_id=run_id)
    query = fold_leases.select().filter_by(run_id=run_id).where(fold_leases.c.fold.not_in(finished))
    lease_of = {}
    for row in connection.execute(query.order_by(fold_leases.c.asked_at)):
        lease_of[row.fold] = Lease(
            fold=row.fold,
            asked_at=datetime.fromisoformat(row.asked_at),
            until=datetime.fromisoformat(row.until),
        )
    return lease_of


@contextmanager
def one_at_a_time(store: Store) -> Iterator[None]:
    """Whoever tells a fold looks at the others, and so has to be alone with the database.

    On every machine that uses a PostgreSQL server; SQLite is used on one.
    """
    address = sa.make_url(store.url)
    if address.get_backend_name() == "sqlite":
        with FileLock(f"{address.database}-tell.lock"):
            # The lock's file is never deleted, as others may be waiting for it.
            yield
        return
    # PostgreSQL holds this lock until the transaction ends.
    with store.transaction("locked") as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
        yield
