"""Files and datasets: every change to them that a page makes, checked, and then done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ecv_core.datasets as datasets
from ecv_core.datasets import DatasetEntry, own
from ecv_core.datasets.own import About
from ecv_core.datasets.own.layout import Layout
from ecv_core.datasets.own.plain import Plain, Report
from ecv_core.fold import import_folds
from ecv_core.records import Task
from ecv_core.rights.actor import Action, Actor, check, refusal
from ecv_core.store import Store, introduce


class Handling:
    """What one person may do with files here, and the way to do it.

    Every method raises RightsError, in a sentence, before anything is changed; and whatever the
    function that it is for raises.
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
        """As `own.take_in`."""
        self.check_upload()
        return own.take_in(write, file_name)

    def work_out(self, plain: Plain, layout: Layout, token: str, report: Report) -> About:
        """As `own.work_out`, of a file that was taken in."""
        self.check_upload()
        return own.work_out(plain, layout, own.folder_of(token), report)

    def keep(self, token: str, name: str) -> About:
        """As `own.keep`: the dataset belongs to this person."""
        self.check_upload()
        if self.actor.name:
            introduce(self._store(), self.actor.id, self.actor.name)
        return own.keep(own.folder_of(token), name, added_by=self.actor.id)

    def forget(self, token: str) -> None:
        """As `own.forget`."""
        self.check_upload()
        own.forget(token)

    def rename(self, name: str, new: str) -> None:
        """As `own.rename`."""
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.rename(name, new)

    def remove(self, name: str) -> None:
        """As `own.remove`."""
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.remove(name)

    def download(self, entry: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
        """As `datasets.download`."""
        check(Action.DOWNLOAD, self.actor)
        return datasets.download(entry, progress)

    def import_folds(self, dataset: str, path: Path, task: Task) -> tuple[str, int]:
        """As `fold.import_folds`."""
        self.check_upload()
        return import_folds(dataset, path, task)
