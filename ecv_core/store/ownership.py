"""Which process has which run, and whether it is still there to go on with it."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import psutil
import sqlalchemy as sa

from ecv_core.records.run import RunState
from ecv_core.store.rows import now
from ecv_core.store.schema import owners, progress, runs, under_way
from ecv_core.store.store import Store

_ACTIVE = runs.c.state.in_([RunState.QUEUED, RunState.RUNNING])
GONE = "the program that ran it ended before it was done"


def active_owners(store: Store) -> dict[str, datetime | None]:
    """Owners of runs that are queued or running, with their last sign of life."""
    query = (
        sa.select(runs.c.owner, owners.c.beat_at)
        .join(owners, owners.c.owner == runs.c.owner, isouter=True)
        .where(_ACTIVE)
        .distinct()
    )
    with store.transaction("read") as connection:
        found = connection.execute(query).all()
    return {owner: _moment(beat_at) for owner, beat_at in found if owner}


def _moment(text: str | None) -> datetime | None:
    with suppress(ValueError):  # what was never written so is no sign of life
        return datetime.fromisoformat(text) if text else None
    return None


def owner_of(store: Store, run_id: str) -> str | None:
    """Who has a run, or had it last; None where that is not known."""
    with store.transaction("read") as connection:
        return connection.scalar(sa.select(runs.c.owner).where(runs.c.run_id == run_id))


def beat(store: Store, owner: str, *, serves: bool) -> None:
    """A sign of life; those of owners without active runs are forgotten.

    Args:
        serves: whether the next dashboard takes its queue over.
    """
    here = {"serves": serves, "beat_at": now()}
    same = owners.update().where(owners.c.owner == owner).values(**here)
    with store.transaction("written") as connection:
        if not connection.execute(same).rowcount:
            active = sa.select(runs.c.owner).where(_ACTIVE, runs.c.owner.is_not(None))
            connection.execute(owners.delete().where(owners.c.owner.not_in(active)))
            connection.execute(owners.insert().values(owner=owner, **here))


def take_over(store: Store, gone: Collection[str], *, owner: str) -> int:
    """Give what waits in the queues of dashboards that are gone to this owner; how many runs."""
    serving = sa.select(owners.c.owner).where(owners.c.owner.in_(gone), owners.c.serves)
    waiting = (runs.c.state == RunState.QUEUED, runs.c.owner.in_(serving))
    with store.transaction("written") as connection:
        return connection.execute(runs.update().where(*waiting).values(owner=owner)).rowcount


def interrupt(store: Store, gone: Collection[str]) -> None:
    """Mark the active runs of owners that are gone as interrupted."""
    theirs = (_ACTIVE, runs.c.owner.in_(gone))
    with store.transaction("written") as connection:
        gone_runs = sa.select(runs.c.run_id).where(*theirs)
        for table in (progress, under_way):
            connection.execute(table.delete().where(table.c.run_id.in_(gone_runs)))
        connection.execute(
            runs.update()
            .where(*theirs)
            .values(state=RunState.INTERRUPTED, finished_at=now(), error=GONE)
        )


# Processes, by names that stay theirs.


GONE_SECONDS = 10.0
"""After this long without a sign of life a process on another machine is gone."""


def this_process() -> str:
    """Names this process for good: machine, process id and start, for a process id comes back."""
    process = psutil.Process()
    return f"{_machine()}:{process.pid}:{process.create_time():.0f}"


@lru_cache(maxsize=1)
def _machine() -> str:
    """Where process ids mean the same: this host since it was started, or this container."""
    space = "".join(map(_text, ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")))
    return f"{socket.gethostname()}/{hashlib.sha256(space.encode()).hexdigest()[:8]}"


def is_gone(owner: str) -> bool:
    """Whether it is certain, without a sign of life, that a process of this machine has ended."""
    return owner.startswith(f"{_machine()}:") and not is_alive(owner, None)


def _text(path: str) -> str:
    try:
        return os.readlink(path) if Path(path).is_symlink() else Path(path).read_text()
    except OSError:
        return ""


def is_alive(owner: str, last: datetime | None) -> bool:
    """Whether the process that `this_process` named is still there; of another name who knows.

    Args:
        last: its last sign of life, by its own clock; None if it never gave one.
    """
    named = re.fullmatch(r"(.+):(\d+):(\d+)", owner)
    if named is None:
        return True
    machine, pid, started = named.groups()
    if machine != _machine():
        return last is not None and (datetime.now(UTC) - last).total_seconds() < GONE_SECONDS
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(started)) < 2
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
