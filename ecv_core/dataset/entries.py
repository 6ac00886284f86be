"""data/catalogue.toml, files of one's own and data in memory -> dataset entries."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ecv_core.dataset import synthetic
from ecv_core.dataset.about import ADDED, INTERACTIONS, About, read_about
from ecv_core.dataset.folders import search_dirs
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.places import SHIPPED
from ecv_core.records.tasks import Task

PLAIN_FORMATS = {
    ".csv": "delimited",
    ".csv.gz": "delimited",
    ".csv.xz": "delimited",
    ".parquet": "parquet",
}
"""Endings of a plain interaction file, `<id>` before them, and their formats."""
OWN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""The ids under which files of one's own are found."""
OWN_DOMAIN = "own"
_NEEDED_ROLES = ("user_id", "item_id")
_OPTIONAL_ROLES = ("rating", "timestamp", "basket")


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One form in which a dataset may lie on disk, and how to read it."""

    names: tuple[str, ...]
    """File names that are read this way; the first is the official one."""
    format: str
    """'delimited', 'json-lines' or 'parquet'."""
    columns: tuple[tuple[str, str | int], ...]
    """(role, column): by name where the file names its columns, else by position from 0.
    Roles: user_id, item_id, rating, timestamp (Unix seconds), or day, month and year, and basket
    (a number; within a user, a larger one is later)."""
    separator: str = ","
    member: str | None = None
    """Path inside a zip archive; None where the file is the data."""
    sha256: str | None = None
    """Of the member, or of the file's content once decompressed."""
    rows: int | None = None
    """How many rows the file holds, where that is published."""
    url: str | None = None
    optional: frozenset[str] = frozenset()
    """Roles that the file may leave out."""

    @property
    def names_columns(self) -> bool:
        """Whether the file itself names its columns."""
        return any(isinstance(column, str) for _, column in self.columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class InMemory:
    """Interactions that this process has in memory."""

    interactions: Interactions
    sha256: str
    """Of their content, whatever their name."""


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """What is known of a dataset before it is read."""

    id: str
    title: str
    description: str
    domain: str
    licence: str
    citation: str
    bibtex: str = ""
    homepage: str = ""
    users: int | None = None
    """After preparation, as are `items` and `interactions`; None for a user's own file."""
    items: int | None = None
    interactions: int | None = None
    rating_counts: tuple[int, int, int] | None = None
    """Users, items and ratings where ratings are kept as they are given; None where not known."""
    scale: tuple[float, float] | None = None
    """The lowest and the highest rating; None where only the ratings themselves tell."""
    task: Task | None = None
    """Of a table of samples what is to be told of them; None for interactions."""
    samples: int | None = None
    features: int | None = None
    classes: int | None = None
    """As the samples and features known beforehand; None where the target is a number."""
    target: str = ""
    """What is to be told of a sample; of a file the name of its column."""
    loader: str = ""
    """The function of `sklearn.datasets` that gives the table."""
    loader_options: tuple[tuple[str, Any], ...] = ()
    in_order_sha256: str | None = None
    """Content with this checksum lists each user's rows in the order of time, though it says no
    times; other content under the same name need not."""
    download_bytes: int = 0
    """Approximate; 0 where there is nothing to download."""
    files: tuple[SourceFile, ...] = ()
    """Official file first, the plain CSV and Parquet forms last; none for `synthetic`."""
    about: About | None = None
    """Of a dataset that was added: where it came from, and what could not be used."""
    in_memory: InMemory | None = None
    """Of data that are in memory, which need no file."""

    @property
    def needs_file(self) -> bool:
        """False for data in memory, and for what is made by code or comes with it."""
        return bool(self.files)

    @property
    def generated(self) -> bool:
        """True for a dataset that is made by code, or comes with it."""
        return not self.files and self.in_memory is None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What can be done with it."""
        return (self.task or Task.TOP_N).tasks_on_same_data

    @property
    def usual_task(self) -> Task:
        """What is done with it where nobody says: with interactions, items are ranked."""
        return self.tasks[0]

    def check_serves(self, task: Task, algorithm: str) -> None:
        """Refuse a task that cannot be done with it. Raises: InputError."""
        if task in self.tasks:
            return
        possible = " or ".join(own_task.outputs for own_task in self.tasks)
        fitting = [name for name, dataset in _official_entries().items() if task in dataset.tasks]
        raise InputError(
            f"the dataset {self.id} is for {possible}, but {algorithm} {task.words}; choose "
            f"another algorithm, or a dataset for {task.outputs}, such as {fitting[0]}"
        )

    def counts(self, task: Task) -> dict[str, int | None]:
        """How large it is as a task needs it, by what is counted; None where that is not known.

        Of interactions the three are users, items, and the rows that are dealt into folds.
        """
        if task.of_table:
            return {"samples": self.samples, "features": self.features, "classes": self.classes}
        if task.ranks:
            return {"users": self.users, "items": self.items, task.rows: self.interactions}
        # Ratings are kept as they are given, without pruning, so that they have counts of their
        # own. Of a file of one's own these are not known before the file is read.
        users, items, rows = self.rating_counts or (None, None, None)
        return {"users": users, "items": items, task.rows: rows}

    def rows(self, task: Task) -> int | None:
        """How many interactions, ratings or samples are dealt into folds; None if not known."""
        return self.counts(task)[task.rows]

    def density(self, task: Task) -> float | None:
        """The share of all pairs of user and item that the data hold; None where not known."""
        counts = self.counts(task)
        users = counts.get("users")
        items = counts.get("items")
        rows = self.rows(task)
        if not users or not items or not rows:
            return None
        return rows / (users * items)

    def size_words(self, task: Task | None = None) -> list[str]:
        """How large it is as a task needs it, as far as is known: '569 samples', '30 features'."""
        if task not in self.tasks:
            task = self.usual_task
        return [f"{count:,} {noun}" for noun, count in self.counts(task).items() if count]

    @property
    def url(self) -> str | None:
        """Where the official file is downloaded from, if from anywhere."""
        for file in self.files:
            if file.url:
                return file.url
        return None

    @property
    def file_names(self) -> tuple[str, ...]:
        """Every file name under which this dataset is found, best first."""
        names: list[str] = []
        for file in self.files:
            names.extend(file.names)
        return tuple(names)

    def check_counts(self, task: Task, interactions: Interactions) -> None:
        """Compare a dataset that was read with the counts that the catalogue promises.

        Args:
            task: The task of interactions, that it was prepared for.
            interactions: As prepared.

        Raises:
            DatasetError: If they differ: the file is not the dataset whose id it bears.
        """
        promised_counts = tuple(self.counts(task).values())
        counts = (interactions.n_users, interactions.n_items, len(interactions))
        if self.generated or None in promised_counts or counts == promised_counts:
            return
        words = "{:,} users, {:,} items and {:,} " + task.rows
        raise DatasetError(
            f"the file on disk is not {self.id}: as it is used it has {words.format(*counts)} "
            f"where the catalogue says {words.format(*promised_counts)}; give it another name to "
            "use it as a dataset of its own, or replace it with the official file"
        )


def entry(dataset_id: str) -> DatasetEntry:
    """The entry of one dataset, also of data in memory.

    Raises:
        UnknownName: If neither the catalogue nor a folder of `search_dirs()` has it.
    """
    official = _official_entries()
    if dataset_id in official:
        return official[dataset_id]
    if dataset_id in _in_memory:
        return _in_memory[dataset_id]
    if synthetic.size_of(dataset_id):
        return _large_synthetic_entry(dataset_id)
    # The catalogue comes last, as it reads folders.
    entries = catalogue()
    if dataset_id not in entries:
        raise UnknownName("dataset", dataset_id, entries)
    return entries[dataset_id]


def catalogue() -> dict[str, DatasetEntry]:
    """All datasets by id: the catalogue's in its order, then the user's own by name.

    One's own is what was added, and any `<id>.csv`, `.csv.gz`, `.csv.xz` or `.parquet` directly in
    a folder of `search_dirs()`, where the catalogue does not have the id (letters, digits, -, _).
    What was added comes before a plain file of the same name.
    """
    own_entries: dict[str, DatasetEntry] = {}
    for folder in search_dirs():
        for name in _own_file_ids(folder):
            own_entries[name] = _own_entry(name)
    own_entries |= _added_entries()
    entries = dict(_official_entries())
    for name in sorted(own_entries):
        entries.setdefault(name, own_entries[name])
    return entries


def _own_file_ids(folder: Path) -> set[str]:
    """The ids of the plain files of a folder that are none of the catalogue's."""
    official_names: set[str] = set()
    for dataset in _official_entries().values():
        official_names.update(dataset.file_names)
    ids = set()
    for file_name in _names_in(folder) - official_names:
        stem, dot, ending = file_name.partition(".")
        if OWN_NAME.fullmatch(stem) and dot + ending in PLAIN_FORMATS:
            ids.add(stem)
    return ids


def _added_entries() -> dict[str, DatasetEntry]:
    """The datasets that were added, by id; the first folder in which one can be read counts."""
    entries: dict[str, DatasetEntry] = {}
    for folder in search_dirs():
        for name in _names_in(folder / ADDED):
            if not OWN_NAME.fullmatch(name):
                continue
            # A dataset that cannot be read gives way to the one of this name in a later folder.
            if name not in entries or entries[name].about is None:
                entries[name] = _added_entry(name, read_about(folder / ADDED / name))
    return entries


def _names_in(folder: Path) -> set[str]:
    """The names of what is in a folder; none where it cannot be read."""
    with suppress(OSError):
        return {path.name for path in folder.iterdir()}
    return set()


_in_memory: dict[str, DatasetEntry] = {}
"""What `register_in_memory` was given, by id; gone with this process."""


def register_in_memory(interactions: Interactions, sha256: str) -> str:
    """Make data in memory a dataset of this process; its content names it.

    Args:
        interactions: As they were given, at most one per user and item.
        sha256: The SHA-256 of their content.

    Returns:
        Its id, the same for the same content.
    """
    dataset_id = f"memory-{sha256[:12]}"
    in_memory = InMemory(interactions=replace(interactions, dataset=dataset_id), sha256=sha256)
    _in_memory[dataset_id] = replace(
        _own_entry(dataset_id), description="Data in memory.", files=(), in_memory=in_memory
    )
    return dataset_id


@cache
def _official_entries() -> dict[str, DatasetEntry]:
    """The entries of data/catalogue.toml, by id."""
    text = (SHIPPED / "catalogue.toml").read_text(encoding="utf-8")
    return {name: _official_entry(name, fields) for name, fields in tomllib.loads(text).items()}


def _official_entry(dataset_id: str, fields: dict[str, Any]) -> DatasetEntry:
    """A table of data/catalogue.toml as an entry."""
    # The fields are those of the entry, but that lists and tables of TOML become tuples here.
    files = [_official_file(file) for file in fields.pop("files", ())]
    if files:
        files.extend(_plain_files(dataset_id))
    fields["bibtex"] = fields.get("bibtex", "").strip()
    for name in ("rating_counts", "scale"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "task" in fields:
        fields["task"] = Task(fields["task"])
        fields["loader_options"] = tuple(fields.get("loader_options", {}).items())
    return DatasetEntry(id=dataset_id, files=tuple(files), **fields)


def _official_file(fields: dict[str, Any]) -> SourceFile:
    fields["names"] = tuple(fields["names"])
    fields["columns"] = tuple(fields["columns"].items())
    return SourceFile(**fields)


def _large_synthetic_entry(dataset_id: str) -> DatasetEntry:
    return replace(
        _official_entries()["synthetic"],
        id=dataset_id,
        title="Synthetic, large",
        description="A made-up world of about as many interactions as its id says.",
        users=None,
        items=None,
        interactions=None,
        rating_counts=None,
        scale=None,
    )


def _own_entry(dataset_id: str) -> DatasetEntry:
    return DatasetEntry(
        id=dataset_id,
        title=dataset_id,
        description="Your own file.",
        domain=OWN_DOMAIN,
        licence="Your own file: please check its licence yourself.",
        citation="",
        files=_plain_files(dataset_id),
    )


def _added_entry(dataset_id: str, about: About | None) -> DatasetEntry:
    """The entry of a dataset that was added.

    Args:
        dataset_id: Its id.
        about: What was kept of it when it was added; None where that cannot be read.
    """
    file_of_interactions = _plain_file(
        f"{ADDED}/{dataset_id}/{INTERACTIONS}", "parquet", (*_OPTIONAL_ROLES, "cluster")
    )
    entry = replace(
        _own_entry(dataset_id),
        files=(file_of_interactions, *_plain_files(dataset_id)),
        about=about,
    )
    if about is None:
        return entry
    # A count of 0 says that nothing survives pruning. The entry then has no count, like that of a
    # dataset whose counts are not known.
    entry = replace(
        entry,
        description=f"Your own data, added on {about.added_on} from {about.source}.",
        users=about.users or None,
        items=about.items or None,
        interactions=about.interactions or None,
        rating_counts=(about.raw_users, about.raw_items, about.kept),
    )
    if about.task is None:
        return entry
    # Of a table, `raw_users` counts the samples, and `raw_items` the features.
    return replace(
        entry,
        task=about.task,
        samples=about.raw_users,
        features=about.raw_items,
        classes=about.classes or None,
        target=about.columns.get("target", ""),
    )


def _plain_files(dataset_id: str) -> tuple[SourceFile, ...]:
    files = []
    for ending, form in PLAIN_FORMATS.items():
        files.append(_plain_file(f"{dataset_id}{ending}", form, _OPTIONAL_ROLES))
    return tuple(files)


def _plain_file(name: str, form: str, optional: tuple[str, ...]) -> SourceFile:
    """A file whose columns bear the names of their roles."""
    return SourceFile(
        names=(name,),
        format=form,
        columns=tuple((role, role) for role in (*_NEEDED_ROLES, *optional)),
        optional=frozenset(optional),
    )
