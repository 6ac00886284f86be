"""The queue of runs in the database, under the name of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecv_core import models
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import this_process
from ecv_core.store.people import Quota
from ecv_core.store.store import Store


class Queue:
    """Runs that wait for this process; who computes them is another's business."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.owner = this_process()
        """Whose queue this is."""

    def wake(self) -> None:
        """Tell whoever computes it that something was put here; of a queue alone nobody does."""

    def start(
        self,
        specs: Sequence[RunSpec],
        *,
        started_by: str = "",
        quota: Quota | None = None,
        plan_id: str = "",
        anew: bool = False,
        place: str = "",
    ) -> str:
        """Queue one run per spec; gives the id of their group.

        Args and errors: as of `Store.create`.
        """
        run_ids = self._store.create(
            specs,
            owner=self.owner,
            started_by=started_by,
            quota=quota,
            plan_id=plan_id,
            anew=anew,
            place=place,
        )
        self.wake()
        return plan_id or run_ids[0]

    def resume(
        self, run_id: str, *, full: bool = False, started_by: str = "", quota: Quota | None = None
    ) -> bool:
        """Go on with a run at its next missing fold; `full` runs the folds after the stop too.

        One that is queued or going already, here or elsewhere, is left as it is.
        Args and other errors: as of `Store.requeue`.
        Returns: whether it is queued here now.
        Raises: InputError for one that other code computes.
        """
        run = self._store.run(run_id)
        models.computing(run.spec)
        spec = replace(run.spec, full=True) if full else run.spec
        resumed = self._store.requeue(
            run_id, spec, owner=self.owner, started_by=started_by, quota=quota
        )
        if resumed:
            self.wake()
        return resumed

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop; its finished folds are kept."""
        self._store.request_cancel(run_id)
