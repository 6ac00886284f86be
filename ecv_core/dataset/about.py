"""The folder of an added dataset -> what is known of it, without reading its data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from ecv_core.dataset.bots import most_interactions_of_a_person
from ecv_core.records import codec
from ecv_core.records.parameters import percent_text
from ecv_core.records.tasks import Task

ADDED = "added"
"""Folder of the added datasets below a folder of datasets; each is a folder under its name."""
INTERACTIONS = "interactions.parquet"
ABOUT = "about.json"
_LARGEST_ABOUT = 1 << 20
"""Bytes; a larger file was not written by this program."""


@dataclass(frozen=True, kw_only=True)
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
    left_out: dict[str, str] = field(default_factory=dict)
    """Column of a table that is no feature -> why."""
    remarks: dict[str, str] = field(default_factory=dict)
    """Column -> what was made of values that do not fit the others in it."""
    busiest: int = 0
    """Interactions before pruning of the user who has most of them; 0 where that is not known."""

    @property
    def busiest_words(self) -> str:
        """That one of many users has much of everything, as programs have; else empty."""
        if self.busiest <= most_interactions_of_a_person(self.kept, self.raw_users):
            return ""
        share = self.busiest / self.kept
        return (
            f"One of {self.raw_users:,} users has {self.busiest:,} of {self.kept:,} interactions "
            f"({percent_text(share, '.0f')}): see whether it is a person"
        )

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled after pruning, in [0, 1]."""
        cells = self.users * self.items
        if not cells:
            return 0.0
        return self.interactions / cells

    @property
    def added_on(self) -> str:
        """The day on which it was added."""
        return self.added_at[:10]


def now() -> str:
    """This moment, as `About.added_at` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_about(folder: Path) -> About | None:
    """What is kept beside the interactions; None where nothing is, or it cannot be read."""
    path = folder / ABOUT
    try:
        # A file that was written anew has another time or size, so that it is read anew.
        status = path.stat()
        return _read_version(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _read_version(path: Path, _mtime: int, size: int) -> About | None:
    """The file as it was at this time and size, so that an unchanged file is read once."""
    if size > _LARGEST_ABOUT:
        return None
    try:
        return codec.read(About, path.read_bytes())
    except ValueError:
        return None
