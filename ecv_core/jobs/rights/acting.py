"""Every change that a page makes: asked for by somebody, checked, and then done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ecv_core.dataset as datasets
from ecv_core.dataset import DatasetEntry, own
from ecv_core.dataset.own import About
from ecv_core.dataset.own.layout import Layout
from ecv_core.dataset.own.plain import Plain, Report
from ecv_core.fold import import_folds
from ecv_core.jobs.cluster.choose import places
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.plans import select, study
from ecv_core.jobs.plans.study import Cell
from ecv_core.jobs.rights.actor import Action, Actor, Limits, PersonRole, Settings, check, refusal
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import RightsError
from ecv_core.records.run import Run
from ecv_core.records.spec import RunSpec, Task
from ecv_core.stopping import cheap_models
from ecv_core.store.imports import import_run
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.people import Quota, introduce, lost_seconds, starters, used_by
from ecv_core.store.plans import SELECTION, STUDY, forget_plan, stored_plan
from ecv_core.store.store import Store

if TYPE_CHECKING:
    from ecv_core.analysis.selection.rounds import Terms
    from ecv_core.store.run_file import RunFile


class Acting:
    """What one person may do here, and the way to do it. As a `RunQueue`, its runs are theirs.

    Each method does what the method of `Queue` or `Store`, or the function of `plans.study`,
    `plans.select` or `store`, does that has its name; what it makes belongs to this person.
    It raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(
        self, store: Store, manager: Callable[[], RunManager], actor: Actor, known: Settings
    ) -> None:
        """Nothing is asked of the manager yet.

        Args:
            manager: gives the run manager, which may start it.
            actor: who asks for changes.
            known: the mode and its limits.
        """
        self._store, self._manager, self._known = store, manager, known
        self.actor = actor

    @property
    def _quota(self) -> Quota | None:
        return self.limits.quota if self.limits else None

    @property
    def limits(self) -> Limits | None:
        """Of this person; None without any."""
        return self._known.limits if self.actor.role is PersonRole.VISITOR else None

    # -- what may be done ---------------------------------------------------------------------

    def refusal(self, action: Action, *run_ids: str) -> str | None:
        """Why this may not be done to these runs, in one sentence; None where it may."""
        if not run_ids or self.actor.role is PersonRole.OWNER:
            return refusal(action, self.actor)
        found = starters(self._store, run_ids)
        # What is not there any more is nobody's: the one who does it says so.
        return refusal(action, self.actor, *found.values())

    def may(self, action: Action, started_by: str) -> bool:
        """Whether this may be done to what that person has started."""
        return refusal(action, self.actor, started_by) is None

    def start_refusal(self, specs: Sequence[RunSpec]) -> str | None:
        """Why these runs may not be started now, in one sentence; None where they may."""
        if why := refusal(Action.START, self.actor):
            return why
        if self.limits is None:
            return None
        if why := _beyond(self.limits, specs):
            return why
        return self.limits.quota.refusal(used_by(self._store, self.actor.id), len(specs))

    def go_on_refusal(self, run: Run) -> str | None:
        """Why somebody may not go on with a run now, in one sentence; None where they may."""
        if why := refusal(Action.GO_ON, self.actor, run.started_by):
            return why
        if self.limits is None:
            return None
        lost = lost_seconds(self._store, [run.run_id])[run.run_id]
        if run.spent_seconds + lost >= self.limits.seconds:
            return f"a run has {self.limits.seconds} s here, and this one has had them"
        if why := _beyond(self.limits, [run.spec]):
            return why
        return self.limits.quota.refusal(used_by(self._store, self.actor.id), 1)

    def _check(self, action: Action, *run_ids: str) -> None:
        if why := self.refusal(action, *run_ids):
            raise RightsError(why)

    @property
    def places(self) -> list[str]:
        """Where this person may have folds computed, the usual place first."""
        return places()[:1] if self.limits else places()

    def _check_place(self, place: str) -> None:
        if place and place not in self.places:
            raise RightsError(
                f"folds are not computed on '{place}' here; choose from: {', '.join(self.places)}"
            )

    # -- runs ---------------------------------------------------------------------------------

    def start(
        self, specs: Sequence[RunSpec], *, plan_id: str = "", anew: bool = False, place: str = ""
    ) -> str:
        check(Action.START, self.actor)
        self._check_place(place)
        if self.limits is not None and (why := _beyond(self.limits, specs)):
            raise RightsError(why)
        self._introduce()
        return self._manager().start(
            specs,
            started_by=self.actor.id,
            quota=self._quota,
            plan_id=plan_id,
            anew=anew,
            place=place,
        )

    def resume(self, run_id: str, *, full: bool = False) -> bool:
        if self.actor.role is not PersonRole.OWNER and (
            why := self.go_on_refusal(self._store.run(run_id))
        ):
            raise RightsError(why)
        return self._manager().resume(
            run_id,
            full=full,
            started_by=self.actor.id,
            quota=self._quota,
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
        self._introduce()
        return import_run(self._store, file, started_by=self.actor.id)

    # -- studies and selections ---------------------------------------------------------------

    def begin_study(self, cells: Sequence[Cell], *, place: str = "") -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(place)
        return study.begin(
            self._store,
            self,
            cells,
            started_by=self.actor.id,
            may_go_on=lambda run: self.may(Action.GO_ON, run.started_by),
            place=place,
        )

    def go_on_with_study(self, study_id: str, *, full: bool = False) -> None:
        self._check_plan(Action.START_MANY, STUDY, study_id)
        study.go_on(self._store, self, study_id, full=full)

    def cancel_study(self, cells: Sequence[Cell]) -> None:
        check(Action.CANCEL, self.actor)
        mine = [cell for cell in cells if cell.run and self.may(Action.CANCEL, cell.run.started_by)]
        study.cancel(self, mine)

    def begin_selection(
        self,
        contenders: Sequence[tuple[str, RunSpec]],
        terms: Terms,
        *,
        place: str = "",
    ) -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(place)
        self._introduce()
        return select.begin(
            self._store,
            contenders,
            terms,
            recorded=True,
            started_by=self.actor.id,
            place=place,
        )

    def go_on_with_selection(self, selection_id: str) -> None:
        self._check_plan(Action.START_MANY, SELECTION, selection_id)
        manager = self._manager()
        select.go_on(self._store, selection_id)
        manager.wake()

    def forget_plan(self, kind: str, plan_id: str) -> None:
        self._check_plan(Action.FORGET, kind, plan_id)
        forget_plan(self._store, plan_id)

    def _check_plan(self, action: Action, kind: str, plan_id: str) -> None:
        check(action, self.actor, stored_plan(self._store, kind, plan_id).started_by)

    def _introduce(self) -> None:
        if self.actor.name:
            introduce(self._store, self.actor.id, self.actor.name)


def _beyond(limits: Limits, specs: Sequence[RunSpec]) -> str | None:
    """Why a visitor may not run one of these, whatever else is going on; None where they may."""
    for spec in specs:
        for name in (spec.algorithm, *cheap_models(spec)):
            if name not in limits.algorithms or spec.tracked:
                return (
                    f"visitors run quick algorithms only, and {_title(name)} is none of them; "
                    f"choose from: {', '.join(map(_title, limits.algorithms))}"
                )
        known = datasets.catalogue()
        if spec.dataset not in known or not datasets.available(known[spec.dataset]):
            return f"'{spec.dataset}' is not on this machine; choose a dataset that is"
        if limits.datasets and spec.dataset not in limits.datasets:
            return f"visitors run on these datasets only: {', '.join(limits.datasets)}"
    return None


def _title(name: str) -> str:
    return ALGORITHMS[name].title if name in ALGORITHMS else f"'{name[:40]}'"


# Files and datasets: every change to them that a page makes, checked, and then done.


class Handling:
    """What one person may do with files here, and the way to do it.

    Each method does what the function of its name in `dataset`, `dataset.own` or `fold` does. It
    raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(self, store: Callable[[], Store], actor: Actor) -> None:
        """Nothing is asked of the database yet.

        Args:
            store: gives the database, which keeps how people are called.
            actor: who asks for changes.
        """
        self._store = store
        self.actor = actor

    def refusal(self, action: Action, *datasets_of: str) -> str | None:
        """Why this may not be done, to these added datasets, in a sentence; None where it may."""
        return refusal(action, self.actor, *map(own.added_by, datasets_of))

    def check_upload(self) -> None:
        """For a file that is read, and not kept. Raises: RightsError."""
        check(Action.UPLOAD, self.actor)

    def take_in(self, write: Callable[[Path], object], file_name: str) -> str:
        self.check_upload()
        return own.take_in(write, file_name)

    def work_out(self, plain: Plain, layout: Layout, token: str, report: Report) -> About:
        self.check_upload()
        return own.work_out(plain, layout, own.folder_of(token), report)

    def keep(self, token: str, name: str) -> About:
        self.check_upload()
        if self.actor.name:
            introduce(self._store(), self.actor.id, self.actor.name)
        return own.keep(own.folder_of(token), name, added_by=self.actor.id)

    def forget(self, token: str) -> None:
        self.check_upload()
        own.forget(token)

    def rename(self, name: str, new: str) -> None:
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.rename(name, new)

    def remove(self, name: str) -> None:
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.remove(name)

    def download(self, entry: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
        check(Action.DOWNLOAD, self.actor)
        return datasets.download(entry, progress)

    def import_folds(self, dataset: str, path: Path, task: Task) -> tuple[str, int]:
        self.check_upload()
        return import_folds(dataset, path, task)
