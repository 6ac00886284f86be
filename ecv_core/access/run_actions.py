"""What one person does with runs, studies and selections: every change of a page, checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action, Actor, PersonRole, check, refusal, refuse_if
from ecv_core.access.settings import AccessSettings, Limits
from ecv_core.jobs.cluster.choose import place_asked, places
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.plans import select, study
from ecv_core.jobs.plans.study import Cell
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import cheap_model_ids
from ecv_core.store.imports import RunFile, import_run
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.people import introduce, lost_seconds, starters, used_by
from ecv_core.store.plans import SELECTION, STUDY, forget_plan, stored_plan
from ecv_core.store.store import Store

if TYPE_CHECKING:
    from ecv_core.selection.rounds import Terms


class RunActions:
    """What one person may do here, and the way to do it. As a `RunQueue`, its runs are theirs.

    Each method does what the method of `Queue` or `Store`, or the function of `plans.study`,
    `plans.select` or `store`, does that has its name; what it makes belongs to this person.
    It raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(
        self, store: Store, manager: Callable[[], RunManager], actor: Actor, access: AccessSettings
    ) -> None:
        """Nothing is asked of the manager yet.

        Args:
            store: The database.
            manager: Gives the run manager, which may start it.
            actor: The person.
            access: The mode of the dashboard and its limits.
        """
        self._store = store
        self._manager = manager
        self.actor = actor
        self.limits: Limits | None = None
        """The limits of this person; None without any."""
        self._quota = None
        if actor.role is PersonRole.VISITOR:
            self.limits = access.limits
            self._quota = access.limits.quota

    # -- what may be done ---------------------------------------------------------------------

    def refusal(self, action: Action, *run_ids: str) -> str | None:
        """Why this may not be done to these runs, in one sentence; None where it may."""
        if not run_ids or self.actor.role is PersonRole.OWNER:
            return refusal(action, self.actor)
        # What is not there any more is nobody's: the function that is to change it says so.
        return refusal(action, self.actor, *starters(self._store, run_ids).values())

    def may(self, action: Action, started_by: str) -> bool:
        """Whether this may be done to what that person has started."""
        return refusal(action, self.actor, started_by) is None

    def start_refusal(self, specs: Sequence[RunSpec]) -> str | None:
        """Why these runs may not be started now, in one sentence; None where they may."""
        return refusal(Action.START, self.actor) or self._limits_refusal(specs)

    def go_on_refusal(self, run: RunRecord) -> str | None:
        """Why somebody may not go on with a run now, in one sentence; None where they may."""
        reason = refusal(Action.GO_ON, self.actor, run.started_by)
        if reason is not None or self.limits is None:
            return reason
        seconds_of_cut_off_folds = lost_seconds(self._store, [run.run_id])[run.run_id]
        if run.spent_seconds + seconds_of_cut_off_folds >= self.limits.seconds:
            return f"a run may take {self.limits.seconds} s here, and this run has taken that long"
        return self._limits_refusal([run.spec])

    def _limits_refusal(self, specs: Sequence[RunSpec]) -> str | None:
        """Why so many runs, or one of these, are beyond this person's limits; None without."""
        if self.limits is None:
            return None
        reason = run_refusal(self.limits, specs)
        if reason is not None:
            return reason
        return self.limits.quota.refusal(used_by(self._store, self.actor.id), len(specs))

    def _check(self, action: Action, *run_ids: str) -> None:
        refuse_if(self.refusal(action, *run_ids))

    @property
    def places(self) -> list[str]:
        """Where this person may have folds computed, the usual place first."""
        if self.limits is not None:
            return [place_asked()]
        return places()

    def _check_place(self, place: str) -> None:
        if place and place not in self.places:
            raise RightsError(
                f"folds cannot be computed on '{place}' here; choose from: {', '.join(self.places)}"
            )

    # -- runs ---------------------------------------------------------------------------------

    def start(
        self,
        specs: Sequence[RunSpec],
        *,
        plan_id: str = "",
        anew: bool = False,
        compute_on: str = "",
    ) -> str:
        check(Action.START, self.actor)
        self._check_place(compute_on)
        if self.limits is not None:
            refuse_if(run_refusal(self.limits, specs))
        self._keep_name_of_actor()
        return self._manager().start(
            specs,
            started_by=self.actor.id,
            quota=self._quota,
            plan_id=plan_id,
            anew=anew,
            compute_on=compute_on,
        )

    def resume(self, run_id: str, *, full: bool = False) -> bool:
        if self.actor.role is not PersonRole.OWNER:
            refuse_if(self.go_on_refusal(self._store.run(run_id)))
        return self._manager().resume(
            run_id, full=full, started_by=self.actor.id, quota=self._quota
        )

    def cancel(self, run_id: str) -> None:
        self._check(Action.CANCEL, run_id)
        self._manager().cancel(run_id)

    def remove(self, run_ids: Collection[str]) -> list[str]:
        self._check(Action.DELETE, *run_ids)
        return self._store.remove(run_ids)

    def bring_back(self, run_ids: Collection[str]) -> int:
        self._check(Action.DELETE, *run_ids)
        return self._store.bring_back(run_ids)

    def delete(self, run_id: str) -> None:
        self._check(Action.DELETE, run_id)
        self._store.delete(run_id)

    def delete_fold(self, run_id: str, fold: int) -> None:
        self._check(Action.DELETE, run_id)
        self._store.delete_fold(run_id, fold)

    def label(self, labelled: Mapping[str, Label]) -> None:
        self._check(Action.ANNOTATE, *labelled)
        label_runs(self._store, labelled)

    def import_run(self, file: RunFile) -> tuple[str, bool]:
        check(Action.IMPORT, self.actor)
        self._keep_name_of_actor()
        return import_run(self._store, file, started_by=self.actor.id)

    # -- studies and selections ---------------------------------------------------------------

    def begin_study(self, cells: Sequence[Cell], *, compute_on: str = "") -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(compute_on)

        def may_resume(run: RunRecord) -> bool:
            return self.may(Action.GO_ON, run.started_by)

        return study.begin(
            self._store,
            self,
            cells,
            started_by=self.actor.id,
            may_resume=may_resume,
            compute_on=compute_on,
        )

    def go_on_with_study(self, study_id: str, *, full: bool = False) -> None:
        self._check_plan(Action.START_MANY, STUDY, study_id)
        study.go_on(self._store, self, study_id, full=full)

    def cancel_study(self, cells: Sequence[Cell]) -> None:
        check(Action.CANCEL, self.actor)
        own_cells = []
        for cell in cells:
            if cell.run is not None and self.may(Action.CANCEL, cell.run.started_by):
                own_cells.append(cell)
        study.cancel(self, own_cells)

    def begin_selection(
        self, contenders: Sequence[tuple[str, RunSpec]], terms: Terms, *, compute_on: str = ""
    ) -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(compute_on)
        self._keep_name_of_actor()
        return select.begin(
            self._store,
            contenders,
            terms,
            started_by=self.actor.id,
            compute_on=compute_on,
            with_recorded=True,  # Folds of recorded runs count, and are not computed again.
        )

    def go_on_with_selection(self, selection_id: str) -> None:
        self._check_plan(Action.START_MANY, SELECTION, selection_id)
        # The manager is made before anything is queued, as it computes the queue.
        manager = self._manager()
        select.go_on(self._store, selection_id)
        manager.wake()

    def forget_plan(self, kind: str, plan_id: str) -> None:
        self._check_plan(Action.FORGET, kind, plan_id)
        forget_plan(self._store, plan_id)

    def _check_plan(self, action: Action, kind: str, plan_id: str) -> None:
        check(action, self.actor, stored_plan(self._store, kind, plan_id).started_by)

    def _keep_name_of_actor(self) -> None:
        if self.actor.name:
            introduce(self._store, self.actor.id, self.actor.name)


def run_refusal(limits: Limits, specs: Sequence[RunSpec]) -> str | None:
    """Why a visitor may not run one of these, whatever else is going on; None where they may."""
    for spec in specs:
        reason = _algorithm_refusal(limits, spec) or _dataset_refusal(limits, spec.dataset)
        if reason is not None:
            return reason
    return None


def _algorithm_refusal(limits: Limits, spec: RunSpec) -> str | None:
    """Why a visitor may not run the algorithm, or a cheap model that it is adjusted by."""
    for name in (spec.algorithm, *cheap_model_ids(spec)):
        if name not in limits.algorithms or spec.tracked:
            return (
                f"visitors can run quick algorithms only, and {_title(name)} is not one of them; "
                f"choose from: {', '.join(map(_title, limits.algorithms))}"
            )
    return None


def _dataset_refusal(limits: Limits, dataset: str) -> str | None:
    """Why a visitor may not use a dataset; None where they may."""
    entry = datasets.catalogue().get(dataset)
    if entry is None or not datasets.available(entry):
        return f"'{dataset}' is not on this machine; choose a dataset that is"
    if limits.datasets and dataset not in limits.datasets:
        return f"visitors can use these datasets only: {', '.join(limits.datasets)}"
    return None


def _title(name: str) -> str:
    """An algorithm's title; of a name that is no algorithm's, the beginning of the name."""
    if name in ALGORITHMS:
        return ALGORITHMS[name].title
    return f"'{name[:40]}'"
