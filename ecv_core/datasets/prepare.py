"""Raw Interactions -> implicit, k-core Interactions; kept on disk so that it happens once.

Every interaction counts as positive feedback, whatever its rating: ratings, timestamps, baskets and
sequence travel along for splits and exports, and no model sees them.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import DatasetError
from ecv_core.files import replacing
from ecv_core.records import Interactions

_FORMAT = 2
"""Raised when `prepare` or the layout of the file changes, so that old files are not read."""

_ALWAYS = ("users", "items", "user_ids", "item_ids")
_SOMETIMES = ("ratings", "timestamps", "baskets", "sequence")


def prepare(interactions: Interactions, core: int = 5) -> Interactions:
    """The k-core: users and items with at least `core` interactions each, pruned until stable.

    Args:
        interactions: at most one per (user, item).
        core: at least 0; 0 and 1 only drop ids without any interaction.
    Returns: codes are dense and follow the text order of the ids, interactions are sorted by user
        and then item, so the result does not depend on the order of rows in the source.
    Raises: DatasetError if nothing is left.
    """
    users, items = interactions.users, interactions.items
    kept = core_rows(interactions, core)
    if not len(kept):
        raise DatasetError(
            f"nothing of dataset '{interactions.dataset}' survives {core}-core pruning: no part of "
            f"its {len(interactions):,} interactions ({interactions.n_users:,} users, "
            f"{interactions.n_items:,} items) gives every user and item {core} of them; "
            "use a denser or larger dataset"
        )
    users, user_ids = _recode(users[kept], interactions.user_ids)
    items, item_ids = _recode(items[kept], interactions.item_ids)
    order = np.argsort(users.astype(np.int64) * len(item_ids) + items, kind="stable")
    return replace(
        interactions.take(kept[order]),
        users=users[order],
        items=items[order],
        user_ids=user_ids,
        item_ids=item_ids,
    )


def core_rows(interactions: Interactions, core: int) -> NDArray[np.intp]:
    """Which interactions are left by pruning to the k-core; their places, ascending."""
    rows = np.arange(len(interactions))
    while True:
        users, items = interactions.users[rows], interactions.items[rows]
        enough = (np.bincount(users, minlength=1) >= core)[users]
        enough &= (np.bincount(items, minlength=1) >= core)[items]
        if enough.all():
            return rows
        rows = rows[enough]


def _recode(
    codes: NDArray[np.int32], ids: NDArray[np.str_]
) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Dense codes in the text order of the ids that occur, and those ids."""
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    by_text = occurring[np.argsort(ids[occurring], kind="stable")]
    new_code = np.full(len(ids), -1, dtype=np.int32)
    new_code[by_text] = np.arange(len(by_text), dtype=np.int32)
    return new_code[codes], ids[by_text]


def cached(key: str, folder: Path, make: Callable[[], Interactions]) -> Interactions:
    """What `make` returns, read from `folder` if it was made under this key before.

    A damaged cache file is made anew, and where nothing can be written (full or read-only disk)
    the result is simply not kept: the cache never fails a run. Safe to use from several processes.

    Args:
        key: names everything that the result depends on; fit for a file name.
        folder: created if need be.
        make: called when there is nothing to read; what it raises passes through.
    """
    path = folder / f"{key}.v{_FORMAT}.npz"
    found = _read(path)
    if found is not None:
        return found
    made = make()
    with suppress(OSError):
        _write(path, made)
    return made


def _read(path: Path) -> Interactions | None:
    # A zip entry carries a checksum, so damage shows as BadZipFile; the rest is wrong structure.
    try:
        # Opened here because numpy leaves a file open that it finds damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            fields: dict[str, Any] = {name: arrays[name] for name in _ALWAYS}
            fields |= {name: arrays[name] for name in _SOMETIMES if name in arrays}
            return Interactions(dataset=str(arrays["dataset"]), **fields)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _write(path: Path, interactions: Interactions) -> None:
    """Write it in one step. Raises: OSError."""
    optional = {name: getattr(interactions, name) for name in _SOMETIMES}
    arrays = {name: getattr(interactions, name) for name in _ALWAYS}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    with replacing(path) as part, part.open("wb") as stream:
        np.savez(stream, dataset=np.array(interactions.dataset), **arrays)
