"""What is known of a dataset that was added: read from beside it, without reading the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from ecv_core.records import codec

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
    source_sha256: str
    added_at: str
    """ISO 8601, UTC."""
    rows: int
    """Of the file that it came from."""
    kept: int
    """Interactions before pruning, one per user and item."""
    unused: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that could not be used; with `kept` they add up to `rows`."""
    columns: dict[str, str] = field(default_factory=dict)
    """Role -> name of its column."""
    raw_users: int
    """Before pruning, as are `raw_items`."""
    raw_items: int
    users: int
    """After 5-core pruning, as are `items` and `interactions`; 0 where nothing survives."""
    items: int
    interactions: int

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
