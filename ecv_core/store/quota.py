"""How much one person may start, decided in the very transaction that starts it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunState
from ecv_core.store.schema import runs, schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """How much of a quota is used."""

    started: int
    """Runs that this person has started within the last hour."""
    waiting: int
    """Runs in the queue, whoever started them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many runs one person may start within an hour, and how many may wait in all."""

    runs_per_hour: int
    waiting: int

    def refusal(self, used: Used, more: int) -> str | None:
        """Why so many runs more cannot be started now, in one sentence; None where they can."""
        if used.started + more > self.runs_per_hour:
            return (
                f"you have started {used.started} of the {self.runs_per_hour} runs that one "
                f"visitor may start within an hour, and this would be {more} more; wait, or start "
                "fewer"
            )
        return self.queue_refusal(used, more)

    def queue_refusal(self, used: Used, more: int) -> str | None:
        """As `refusal`, of the queue alone."""
        if used.waiting + more > self.waiting:
            return (
                f"{used.waiting} of at most {self.waiting} runs are waiting already, and this "
                f"would be {more} more; wait until some are done"
            )
        return None


def used(connection: sa.Connection, person: str) -> Used:
    """How much this person has started, and how much is waiting."""
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    count = sa.select(sa.func.count()).select_from(runs)
    mine = count.where(runs.c.started_by == person, runs.c.created_at >= since)
    waiting = count.where(runs.c.state == RunState.QUEUED)
    return Used(
        started=connection.scalar(mine) or 0,
        waiting=connection.scalar(waiting) or 0,
    )


def insist(connection: sa.Connection, quota: Quota, person: str, more: int) -> None:
    """Refuse what is beyond the quota; until the transaction ends nobody else can count.

    Raises: RightsError.
    """
    # Writing, though nothing changes, makes whoever starts runs at the same moment wait.
    connection.execute(schema.update().values(version=schema.c.version))
    if why := quota.refusal(used(connection, person), more):
        raise RightsError(why)
