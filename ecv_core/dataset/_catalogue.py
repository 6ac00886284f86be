"""data/catalogue.toml and the files a user put beside the downloads -> dataset entries."""

from __future__ import annotations

import hashlib
import os
import os.path
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ecv_core.dataset import synthetic
from ecv_core.records import codec
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.places import OWN, SHIPPED
from ecv_core.records.tasks import Task
from ecv_core.untrusted.files import replacing

# Environment -> the folders where datasets and caches live.


def data_dir() -> Path:
    """Where downloads and own files live: ECV_DATA_DIR, or downloads/ in `records.places.OWN`."""
    chosen = os.environ.get("ECV_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return OWN / "downloads"


def search_dirs() -> tuple[Path, ...]:
    """Folders searched for a dataset, first match wins.

    `data_dir()` comes first; then those of ECV_DATA_PATH (separated as in PATH), which are only
    read: a class room or a cluster keeps its datasets there. Those that are not there are left out.
    """
    named = os.environ.get("ECV_DATA_PATH", "").split(os.pathsep)
    folders = [Path(name).expanduser().absolute() for name in named if name.strip()]
    more = [folder for folder in folders if os.path.isdir(folder)]  # never raises
    return tuple(dict.fromkeys([data_dir(), *more]))


def cache_dir() -> Path:
    """Where prepared data and content hashes are kept; safe to delete at any time."""
    return data_dir() / "cache"


# What is known of a dataset that was added: read from beside it, without reading the data.


ADDED = "added"
"""Folder of the added datasets below a folder of datasets; each is a folder under its name."""
INTERACTIONS = "interactions.parquet"
ABOUT = "about.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is kept beside the interactions of a dataset that was added."""

    sha256: str
    """Of the file of interactions: the content of the dataset, whatever its name."""
    source: str
    """Name of the file that it came from."""
    added_at: str
    """ISO 8601, UTC."""
    rows: int
    """Of the file that it came from."""
    kept: int
    """Interactions before pruning, one per user and item."""
    unused: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that could not be used; with `kept` they add up to `rows`."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the first of these rows."""
    columns: dict[str, str] = field(default_factory=dict)
    """Role -> name of its column."""
    raw_users: int
    """Before pruning, as are `raw_items`."""
    raw_items: int
    users: int
    """After 5-core pruning, as are `items` and `interactions`; 0 where nothing survives."""
    items: int
    interactions: int
    task: Task | None = None
    """Of a table of `raw_users` samples with `raw_items` features; None for interactions."""
    classes: int = 0

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled after pruning, in [0, 1]."""
        cells = self.users * self.items
        return self.interactions / cells if cells else 0.0

    @property
    def added_on(self) -> str:
        """The day on which it was added."""
        return self.added_at[:10]


def now() -> str:
    """This moment, as `About.added_at` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_about(folder: Path) -> About | None:
    """What lies beside the interactions; None where nothing does, or nothing that can be read."""
    path = folder / ABOUT
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _read(path: Path, _mtime: int, size: int) -> About | None:
    if size > 1 << 20:
        return None
    try:
        return codec.read(About, path.read_bytes())
    except ValueError:
        return None


# The catalogue and files of one's own -> dataset entries.


PLAIN_SUFFIXES = (".csv", ".csv.gz", ".csv.xz", ".parquet")
"""Endings of a plain interaction file, `<id>` before them."""

OWN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_OWN_FILE = re.compile(r"(?P<id>[A-Za-z0-9][A-Za-z0-9_-]*)(?:\.csv(?:\.gz|\.xz)?|\.parquet)")
OWN_DOMAIN = "own"
_PLAIN_ROLES = ("user_id", "item_id", "rating", "timestamp", "basket")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InMemory:
    """Interactions that this process has in memory."""

    interactions: Interactions
    sha256: str
    """Of their content, whatever their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    rated: tuple[int, int, int] | None = None
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
    held: InMemory | None = None
    """Of data that are in memory, which need no file."""

    @property
    def generated(self) -> bool:
        """True for a dataset that is made by code, or comes with it, and needs no file."""
        return not self.files and self.held is None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What can be done with it."""
        return (self.task or Task.TOP_N).together

    def check_serves(self, task: Task, algorithm: str) -> None:
        """Refuse a task that cannot be done with it. Raises: InputError."""
        if task not in self.tasks:
            can = " or ".join(one.of for one in self.tasks)
            raise InputError(
                f"the dataset {self.id} is for {can}, but {algorithm} {task.words}; choose another "
                f"algorithm, or a dataset for {task.of}, such as "
                f"{next(name for name, one in _official().items() if task in one.tasks)}"
            )

    def counts(self, task: Task) -> dict[str, int | None]:
        """How large it is as a task needs it, by what is counted; None where that is not known.

        Of interactions the three are users, items, and the rows that are dealt into folds.
        """
        if task.of_table:
            return {"samples": self.samples, "features": self.features, "classes": self.classes}
        users, items, rows = self.users, self.items, self.interactions
        if not task.ranks:  # ratings are kept as they are given, without pruning
            users, items, rows = self.rated or (None, None, None)
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
            task = self.tasks[0]
        return [f"{count:,} {noun}" for noun, count in self.counts(task).items() if count]

    @property
    def url(self) -> str | None:
        """Where the official file is downloaded from, if from anywhere."""
        return next((file.url for file in self.files if file.url), None)

    @property
    def file_names(self) -> tuple[str, ...]:
        """Every file name under which this dataset is found, best first."""
        return tuple(name for file in self.files for name in file.names)

    def check_counts(self, task: Task, read: Interactions) -> None:
        """Compare a dataset that was read with the counts that the catalogue promises.

        Args:
            task: of interactions, that it was prepared for.
            read: as prepared.
        Raises: DatasetError if they differ: the file is not the dataset whose id it bears.
        """
        promised = tuple(self.counts(task).values())
        counts = (read.n_users, read.n_items, len(read))
        if self.generated or None in promised or counts == promised:
            return
        words = "{:,} users, {:,} items and {:,} " + task.rows
        raise DatasetError(
            f"the file on disk is not {self.id}: as it is used it has {words.format(*counts)} "
            f"where the catalogue says {words.format(*promised)}; give it another name to use it "
            "as a dataset of its own, or replace it by the official file"
        )


def catalogue() -> dict[str, DatasetEntry]:
    """All datasets by id: the catalogue's in its order, then the user's own by name.

    One's own is what was added, and any `<id>.csv`, `.csv.gz`, `.csv.xz` or `.parquet` directly in
    a folder of `search_dirs()`, where the catalogue does not have the id (letters, digits, -, _).
    """
    official = _official()
    taken = {name for known in official.values() for name in known.file_names}
    found: dict[str, DatasetEntry] = {}
    for folder in search_dirs():
        for name in _names_in(folder) - taken:
            if match := _OWN_FILE.fullmatch(name):
                found.setdefault(match["id"], _own_entry(match["id"]))
        for name in _names_in(folder / ADDED):
            known = found.get(name)
            if OWN_NAME.fullmatch(name) and (known is None or known.about is None):
                found[name] = _added_entry(name, read_about(folder / ADDED / name))
    return official | {own: found[own] for own in sorted(found) if own not in official}


_in_memory: dict[str, DatasetEntry] = {}
"""What `hold` was given, by id; gone with this process."""


def hold(interactions: Interactions, sha256: str) -> str:
    """Make data in memory a dataset of this process; its content names it.

    Args:
        interactions: as they were given, at most one per user and item.
        sha256: of their content.
    Returns: its id, the same for the same content.
    """
    dataset_id = f"memory-{sha256[:12]}"
    held = InMemory(interactions=replace(interactions, dataset=dataset_id), sha256=sha256)
    _in_memory[dataset_id] = replace(
        _own_entry(dataset_id), description="Data in memory.", files=(), held=held
    )
    return dataset_id


def _names_in(folder: Path) -> set[str]:
    with suppress(OSError):
        return {path.name for path in folder.iterdir()}
    return set()


def entry(dataset_id: str) -> DatasetEntry:
    """The entry of one dataset, also of data in memory.

    Raises: UnknownName if neither the catalogue nor a folder of `search_dirs()` has it.
    """
    if known := _official().get(dataset_id) or _in_memory.get(dataset_id):
        return known  # without a look into the folders
    if synthetic.size_of(dataset_id):
        return replace(
            _official()["synthetic"],
            id=dataset_id,
            title="Synthetic, large",
            description="A made-up world of about as many interactions as its id says.",
            users=None,
            items=None,
            interactions=None,
            rated=None,
            scale=None,
        )
    entries = catalogue()
    if dataset_id not in entries:
        raise UnknownName("dataset", dataset_id, entries)
    return entries[dataset_id]


@cache
def _official() -> dict[str, DatasetEntry]:
    text = (SHIPPED / "catalogue.toml").read_text(encoding="utf-8")
    return {name: _parse(name, fields) for name, fields in tomllib.loads(text).items()}


def _parse(dataset_id: str, fields: dict[str, Any]) -> DatasetEntry:
    official = tuple(
        SourceFile(
            **file | {"names": tuple(file["names"]), "columns": tuple(file["columns"].items())}
        )
        for file in fields.pop("files", ())
    )
    files = official + _plain_files(dataset_id) if official else ()
    fields["bibtex"] = fields.get("bibtex", "").strip()
    fields |= {name: tuple(fields[name]) for name in ("rated", "scale") if name in fields}
    if "task" in fields:
        options = tuple(fields.get("loader_options", {}).items())
        fields |= {"task": Task(fields["task"]), "loader_options": options}
    return DatasetEntry(id=dataset_id, files=files, **fields)


def _plain_files(dataset_id: str) -> tuple[SourceFile, ...]:
    return tuple(
        _plain_file(f"{dataset_id}{suffix}", "parquet" if suffix == ".parquet" else "delimited")
        for suffix in PLAIN_SUFFIXES
    )


def _plain_file(name: str, form: str) -> SourceFile:
    return SourceFile(
        names=(name,),
        format=form,
        columns=tuple((role, role) for role in _PLAIN_ROLES),
        optional=frozenset(_PLAIN_ROLES[2:]),
    )


def _added_entry(dataset_id: str, about: About | None) -> DatasetEntry:
    added = _plain_file(f"{ADDED}/{dataset_id}/{INTERACTIONS}", "parquet")
    added = replace(
        added,
        columns=(*added.columns, ("cluster", "cluster")),
        optional=added.optional | {"cluster"},
    )
    entry = replace(_own_entry(dataset_id), files=(added, *_plain_files(dataset_id)))
    if about is None:
        return entry
    return replace(
        entry,
        description=f"Your own data, added on {about.added_on} from {about.source}.",
        users=about.users or None,
        items=about.items or None,
        interactions=about.interactions or None,
        rated=(about.raw_users, about.raw_items, about.kept),
        about=about,
        task=about.task,
        samples=about.raw_users if about.task else None,
        features=about.raw_items if about.task else None,
        classes=about.classes or None,
        target=about.columns.get("target", ""),
    )


def _own_entry(dataset_id: str) -> DatasetEntry:
    return DatasetEntry(
        id=dataset_id,
        title=dataset_id,
        description="Your own file.",
        domain=OWN_DOMAIN,
        licence="Your own file: its licence is yours to know.",
        citation="",
        files=_plain_files(dataset_id),
    )


# Dataset entry -> the file on this machine that holds it.


def find(entry: DatasetEntry) -> tuple[Path, SourceFile]:
    """The file to read and how; official forms before plain ones within each folder.

    Raises: DatasetError if there is none, saying how to get one.
    """
    for folder in search_dirs():
        for file in entry.files:
            for name in file.names:
                if os.path.isfile(folder / name):  # unlike Path.is_file, never raises
                    return folder / name, file
    here = "get it on the Run page or with 'python -m ecv_core download " + f"{entry.id}'; or "
    raise DatasetError(
        f"dataset '{entry.id}' is not on this machine; "
        f"{here if entry.url else ''}{how_to_supply(entry)}"
    )


def locate(entry: DatasetEntry) -> Path | None:
    """The file that `load` would read; None if there is none, or none is needed."""
    try:
        return find(entry)[0]
    except DatasetError:
        return None


def available(entry: DatasetEntry) -> bool:
    """True if the dataset can be loaded without a download."""
    return entry.generated or entry.held is not None or locate(entry) is not None


def listing() -> list[dict[str, Any]]:
    """Every dataset as a row: id, title, counts after preparation, whether it is on disk, source.

    Counts are None where they are not known before the file is read.
    """
    return [
        {
            "id": entry.id,
            "title": entry.title,
            "users": entry.users,
            "items": entry.items,
            "interactions": entry.interactions,
            "samples": entry.samples,
            "features": entry.features,
            "on_disk": available(entry),
            "source": entry.homepage,
            "licence": entry.licence,
        }
        for entry in catalogue().values()
    ]


def how_to_supply(entry: DatasetEntry) -> str:
    """The way out when the file is missing or bad: where to get it, under which name to put it."""
    names = [*entry.file_names[:1], f"{entry.id}.csv"] if entry.url else list(entry.file_names)
    own = f"put your own copy into {data_dir()} as {' or '.join(names)}"
    return f"download it from {entry.url}, or {own}" if entry.url else own


# Dataset entry -> a key that changes whenever the dataset's content does.


_LOADER_VERSION = 2
"""Raised when the same file comes out of `load` differently, so that old caches are not used."""


def source_key(dataset: DatasetEntry) -> str:
    """What names the content of a dataset: 64 hex digits, fit for a file name.

    Hashes the file that `load` would read; the hash is remembered by path, size and time of change,
    here and in `cache_dir()`, so that a large file is hashed once.

    Raises: DatasetError if the file is missing or cannot be read.
    """
    content = synthetic.fingerprint() if dataset.generated else _content(dataset)
    return hashlib.sha256(f"{_LOADER_VERSION}:{dataset.id}:{content}".encode()).hexdigest()


def own_sha256(dataset: DatasetEntry) -> str | None:
    """What a dataset of one's own holds, whatever its name; None for one of the catalogue.

    Raises: DatasetError as `source_key`.
    """
    return _content(dataset) if dataset.domain == OWN_DOMAIN else None


def check_content(dataset_id: str, sha256: str | None) -> None:
    """Refuse a dataset of one's own that is not what it was when a run was made.

    Args:
        dataset_id: of the run.
        sha256: what `own_sha256` said then; None where nothing is known.
    Raises: DatasetError if it is gone or holds something else.
    """
    if said := changed(dataset_id, sha256):
        raise DatasetError(said)


def changed(dataset_id: str, sha256: str | None) -> str:
    """In a sentence, why a run's dataset is not what it was; empty where it is."""
    if sha256 is None:
        return ""
    now = None
    with suppress(UnknownName, DatasetError):
        now = _content(entry(dataset_id))
    if now == sha256:
        return ""
    there = "is not here any more" if now is None else "has changed since"
    return (
        f"the data of this run, '{dataset_id}' (SHA-256 {sha256[:12]}...), {there}; add the same "
        "file again under this name to go on, or start a new run"
    )


def _content(dataset: DatasetEntry) -> str:
    if dataset.held is not None:
        return dataset.held.sha256
    path, _ = find(dataset)
    try:
        return file_sha256(path)
    except OSError as error:
        raise DatasetError(
            f"{path} cannot be read: {error.strerror or error}; "
            f"make it readable, or {how_to_supply(dataset)}"
        ) from error


def file_sha256(path: Path) -> str:
    """Of a file's content, remembered by its path, size and time of change. Raises: OSError."""
    status = path.stat()
    return _hashed(path, f"{path}:{status.st_size}:{status.st_mtime_ns}")


@cache
def _hashed(path: Path, stamp: str) -> str:
    memory = cache_dir() / f"{hashlib.sha256(stamp.encode(errors='replace')).hexdigest()}.sha256"
    with suppress(OSError, UnicodeError):
        if re.fullmatch("[0-9a-f]{64}", known := memory.read_text()):
            return known
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    # A folder that cannot be written to costs a hash per process, nothing else.
    with suppress(OSError), replacing(memory) as part:
        part.write_text(digest)
    return digest
