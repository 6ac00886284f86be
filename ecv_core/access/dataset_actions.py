"""What one person does with files and datasets: every change that a page makes to them, checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action, Actor, check, refusal
from ecv_core.dataset import DatasetEntry, own
from ecv_core.dataset.layout import Layout
from ecv_core.dataset.own import About
from ecv_core.dataset.plain import PlainFile, Report
from ecv_core.store.people import introduce
from ecv_core.store.store import Store


class DatasetActions:
    """What one person may do with files here, and the way to do it.

    Each method does what the function of its name in `dataset`, `dataset.own` or `fold` does. It
    raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(self, store: Callable[[], Store], actor: Actor) -> None:
        """Nothing is asked of the database yet.

        Args:
            store: Gives the database, which keeps how people are called.
            actor: The person.
        """
        self._store = store
        self.actor = actor

    def refusal(self, action: Action, *names: str) -> str | None:
        """Why this may not be done to the added datasets of these names; None where it may."""
        return refusal(action, self.actor, *map(own.added_by, names))

    def check_upload(self) -> None:
        """For a file that is read, and not kept. Raises: RightsError."""
        check(Action.UPLOAD, self.actor)

    def take_in(self, write: Callable[[Path], object], file_name: str) -> str:
        self.check_upload()
        return own.take_in(write, file_name)

    def build_dataset(self, plain: PlainFile, layout: Layout, token: str, report: Report) -> About:
        self.check_upload()
        return own.build_dataset(plain, layout, own.folder_of(token), report)

    def keep(self, token: str, name: str) -> About:
        self.check_upload()
        if self.actor.name:
            introduce(self._store(), self.actor.id, self.actor.name)
        return own.keep(own.folder_of(token), name, added_by=self.actor.id)

    def forget(self, token: str) -> None:
        self.check_upload()
        own.forget(token)

    def remove(self, name: str) -> None:
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.remove(name)

    def download(self, entry: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
        check(Action.DOWNLOAD, self.actor)
        return datasets.download(entry, progress)
