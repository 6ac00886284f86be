"""Whether a process still has the run that it computes."""

from __future__ import annotations

import sqlalchemy as sa

from ecv_core.records import RunState
from ecv_core.store.schema import runs

OUTSIDE = "outside"
"""Owner of a run whose folds are asked for and told by programs that come and go. It names no
process, so that nobody takes it for dead: a fold may take days to be told."""


def held(connection: sa.Connection, run_id: str, owner: str) -> bool:
    """Whether the owner has this run and goes on with it.

    One that was taken for dead, and whose run nobody has resumed, has it again.
    """
    mine = (runs.c.run_id == run_id, runs.c.owner == owner)
    back = (
        runs.update()
        .where(*mine, runs.c.state == RunState.INTERRUPTED)
        .values(state=RunState.RUNNING, finished_at=None, error=None)
    )
    if connection.execute(back).rowcount:
        return True
    query = sa.select(runs.c.run_id).where(*mine, runs.c.state == RunState.RUNNING)
    return connection.scalar(query) is not None
