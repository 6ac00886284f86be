"""How much one person may start, decided in the very transaction that starts it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunState
from ecv_core.store.schema import now, runs, spent, wait_for_others


@dataclass(frozen=True, kw_only=True)
class QuotaUse:
    """How much of a quota is used."""

    started: int
    """Runs that this person has started or resumed within the last hour."""
    waiting: int
    """Runs in the queue, whoever started them."""


@dataclass(frozen=True, kw_only=True)
class Quota:
    """How many runs one person may start within an hour, and how many may wait in all."""

    runs_per_hour: int
    waiting: int

    def refusal(self, use: QuotaUse, more: int) -> str | None:
        """Why so many runs more cannot be started now, in one sentence; None where they can."""
        if use.started + more > self.runs_per_hour:
            return (
                f"you have started {use.started} of the {self.runs_per_hour} runs that a "
                f"visitor may start or resume within an hour, and this would add {more} more; "
                "wait, or start fewer"
            )
        if use.waiting + more > self.waiting:
            return (
                f"{use.waiting} of at most {self.waiting} runs are already waiting, and this "
                f"would add {more} more; wait until some are done"
            )
        return None


def quota_use(connection: sa.Connection, person: str) -> QuotaUse:
    """How much this person has started, and how much is waiting."""
    starts_of_person = sa.select(sa.func.sum(spent.c.starts)).filter_by(person=person)
    started = connection.scalar(starts_of_person.where(spent.c.at >= _an_hour_ago()))
    # There is one queue, so that the runs of everybody in it count.
    queued_runs = sa.select(sa.func.count()).select_from(runs).filter_by(state=RunState.QUEUED)
    return QuotaUse(started=started or 0, waiting=connection.scalar(queued_runs) or 0)


def count_starts_within_quota(
    connection: sa.Connection, quota: Quota, person: str, run_ids: Collection[str]
) -> None:
    """Count runs that are started or resumed, and refuse what is beyond the quota.

    Until the transaction ends nobody else can count.

    Raises:
        RightsError.
    """
    # Without waiting, two requests at one moment would each be counted without the other.
    wait_for_others(connection)
    refusal = quota.refusal(quota_use(connection, person), len(run_ids))
    if refusal is not None:
        raise RightsError(refusal)
    note_spent(connection, run_ids, person=person, starts=1)


def forget_old_quota_use(connection: sa.Connection) -> None:
    """Delete what counts no more: of runs that are gone, and more than an hour old."""
    gone = spent.c.run_id.not_in(sa.select(runs.c.run_id))
    connection.execute(spent.delete().where(gone, spent.c.at < _an_hour_ago()))


def _an_hour_ago() -> str:
    """As the tables keep times."""
    return (datetime.now(UTC) - timedelta(hours=1)).isoformat()


def note_spent(
    connection: sa.Connection,
    run_ids: Collection[str],
    *,
    person: str | None = None,
    starts: int = 0,
    lost_seconds: float = 0.0,
) -> None:
    """Keep what counts in a quota besides finished folds."""
    row = {"person": person, "at": now(), "starts": starts, "lost_seconds": lost_seconds}
    for run_id in run_ids:
        connection.execute(spent.insert().values(run_id=run_id, **row))
