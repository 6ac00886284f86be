"""A dataset as a task needs it, ready to be split: implicit and 5-core, or ratings as given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ecv_core.dataset._catalogue import DatasetEntry, cache_dir, entry, source_key
from ecv_core.dataset._load import read_entry
from ecv_core.dataset.tables import read_table
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import SOMETIMES, Interactions
from ecv_core.records.tasks import Task
from ecv_core.untrusted.files import replacing

# Raw Interactions -> implicit, k-core Interactions; kept on disk so that it happens once.
#
# Every interaction counts as positive feedback, whatever its rating: ratings, timestamps, baskets
# and sequence travel along for splits and exports, and no model sees them.


_FORMAT = 3
"""Raised when `prepare` or the layout of the file changes, so that old files are not read."""

_ALWAYS = ("users", "items", "user_ids", "item_ids")


def prepare(interactions: Interactions, core: int = 5) -> Interactions:
    """The k-core: users and items with at least `core` interactions each, pruned until stable.

    Args:
        interactions: at most one per (user, item).
        core: at least 0; 0 and 1 only drop ids without any interaction.
    Returns: codes are dense and follow the text order of the ids, interactions are sorted by user
        and then item, so the result does not depend on the order of rows in the source.
    Raises: DatasetError if nothing is left.
    """
    kept = core_rows(interactions, core)
    if not len(kept):
        raise DatasetError(
            f"nothing of dataset '{interactions.dataset}' survives {core}-core pruning: no part of "
            f"its {len(interactions):,} interactions ({interactions.n_users:,} users, "
            f"{interactions.n_items:,} items) gives every user and item {core} of them; "
            "use a denser or larger dataset"
        )
    users, user_ids = _recode(interactions.users[kept], interactions.user_ids)
    items, item_ids = _recode(interactions.items[kept], interactions.item_ids)
    order = np.argsort(users.astype(np.int64) * len(item_ids) + items, kind="stable")
    kept = kept[order]
    arrays = {name: getattr(interactions, name) for name in SOMETIMES}
    return replace(
        interactions,
        users=users[order],
        items=items[order],
        user_ids=user_ids,
        item_ids=item_ids,
        **{name: array[kept] for name, array in arrays.items() if array is not None},
    )


def core_rows(interactions: Interactions, core: int) -> NDArray[np.intp]:
    """Which interactions are left by pruning to the k-core; their places, ascending."""
    rows, users, items = np.arange(len(interactions)), interactions.users, interactions.items
    while True:
        enough = (np.bincount(users, minlength=1) >= core)[users]
        enough &= (np.bincount(items, minlength=1) >= core)[items]
        if enough.all():
            return rows
        rows, users, items = rows[enough], users[enough], items[enough]


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
    """What `make` returns, mapped from a file in `folder` that was made under this key before.

    Arrays that are mapped are in memory once, for however many processes, and as they are wanted.
    A damaged cache file is made anew, and where nothing can be written (full or read-only disk)
    the result is simply not kept: the cache never fails a run. Safe to use from several processes.

    Args:
        key: names everything that the result depends on; fit for a file name.
        folder: created if need be.
        make: called when there is nothing to read; what it raises passes through.
    """
    path = folder / f"{key}.v{_FORMAT}.arrays"
    found = _read(path)
    if found is not None:
        return found
    made = make()
    try:
        _write(path, made)
    except OSError:
        return made
    return _read(path) or made


# A file of arrays as numpy saves them, one after the other from multiples of `_ALIGNED` bytes: the
# name of the dataset, the names of the others, those; then the sum of all 8 bytes before, modulo
# 2^64, which any damage to one of them changes, and which is worked out as fast as a file is read.

_ALIGNED = 64


def _write(path: Path, interactions: Interactions) -> None:
    """Write it in one step. Raises: OSError."""
    arrays = {name: getattr(interactions, name) for name in (*_ALWAYS, *SOMETIMES)}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with replacing(path) as part:
        with part.open("wb") as stream:
            for array in (interactions.dataset, list(arrays), *arrays.values()):
                np.save(stream, np.asarray(array), allow_pickle=False)
                stream.write(bytes(-stream.tell() % _ALIGNED))
        total = np.memmap(part, np.uint64, "r").sum()
        with part.open("ab") as stream:
            stream.write(total.tobytes())


def _read(path: Path) -> Interactions | None:
    try:
        with path.open("rb") as stream:
            words = np.asarray(np.memmap(stream, np.uint64, "c"))
            if words[:-1].sum() != words[-1]:
                return None
            stream.seek(0)
            dataset, names = _next(stream, words), _next(stream, words)
            fields: dict[str, Any] = {str(name): _next(stream, words) for name in names}
        return Interactions(dataset=str(dataset), **fields)
    except (OSError, ValueError, TypeError):
        return None


def _next(stream: BinaryIO, words: NDArray[np.uint64]) -> NDArray[Any]:
    """The array that begins here, in the memory of the file. Raises: ValueError."""
    np.lib.format.read_magic(stream)
    shape, _, kind = np.lib.format.read_array_header_1_0(stream)
    start, size = stream.tell(), kind.itemsize * math.prod(shape)
    stream.seek(start + size + -size % _ALIGNED)
    return words.view(np.uint8)[start : start + size].view(kind).reshape(shape)


# Ratings as they are given -> whether they can be learnt from and predicted, and their scale.


def scale_of(rated: Interactions, known: tuple[float, float] | None = None) -> tuple[float, float]:
    """The lowest and the highest rating that can be given.

    Args:
        rated: a dataset with every rating that it has.
        known: the scale, where it is known; by default what occurs.
    Raises: DatasetError for no ratings, some outside the scale, or all the same.
    """
    ratings, name = rated.ratings, rated.dataset
    if ratings is None or not len(ratings):
        raise DatasetError(
            f"{name} has no ratings (a column 'rating'), so there is none to predict; choose "
            "another dataset, or an algorithm that ranks items, such as ease"
        )
    low, high = float(ratings.min()), float(ratings.max())
    if low == high:
        raise DatasetError(
            f"every rating of {name} is {low:g}, so there is nothing to predict; choose another "
            "dataset, or an algorithm that ranks items, such as ease"
        )
    if known is None:
        return low, high
    if low < known[0] or high > known[1]:
        wrong = low if low < known[0] else high
        raise DatasetError(
            f"{name} has a rating of {wrong:g}, but its scale goes from {known[0]:g} to "
            f"{known[1]:g}; correct it, or give the file another name to use it as a dataset of "
            "its own"
        )
    return known


CORE = 5
"""Users and items with fewer interactions are pruned, as in the paper."""


def prepared(dataset: str) -> Interactions:
    """A dataset ready to be ranked: implicit, 5-core; kept on disk and in memory by its content.

    Raises: DatasetError if it is not on disk, damaged, or not what the catalogue promises.
    """
    return for_task(entry(dataset), Task.TOP_N)


def ratings(dataset: str) -> Interactions:
    """A dataset with every rating as it is given, no k-core; kept as `prepared` is.

    Raises: DatasetError as `prepared`; or if it has no ratings that could be predicted.
    """
    return for_task(entry(dataset), Task.RATINGS)


def for_task(known: DatasetEntry, task: Task) -> Interactions:
    """A dataset as the task needs it, kept in memory by its content.

    Raises: DatasetError if it is not on disk, damaged, or cannot serve.
    """
    return _made(_Wanted(key=source_key(known), task=task, known=known))


def filtering(known: DatasetEntry, task: Task) -> str:
    """In words, what `for_task` makes of the rows of a dataset."""
    return _PREPARATIONS[task].words.format(target=known.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A dataset as a task needs it; equal to another of the same content, whatever its entry."""

    key: str
    """Of its content, see `source_key`."""
    task: Task
    known: DatasetEntry = field(compare=False)


@lru_cache(maxsize=4)
def _made(wanted: _Wanted) -> Interactions:
    return _PREPARATIONS[wanted.task].make(wanted.known, wanted.key)


def _implicit(known: DatasetEntry, key: str) -> Interactions:
    interactions = _pruned(known, f"{key}-{CORE}core", CORE)
    known.check_counts(Task.TOP_N, interactions)
    return interactions


def _rated(known: DatasetEntry, key: str) -> Interactions:
    interactions = _pruned(known, f"{key}-ratings", 0)
    scale_of(interactions, known.scale)
    known.check_counts(Task.RATINGS, interactions)
    return interactions


def _samples(known: DatasetEntry, _key: str) -> Interactions:
    return read_table(known)


def _pruned(known: DatasetEntry, key: str, core: int) -> Interactions:
    """The k-core of a dataset, kept on disk under this key where the data are not in memory."""
    if known.held is not None:
        return prepare(known.held.interactions, core=core)
    return cached(key, cache_dir(), lambda: prepare(read_entry(known), core=core))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preparation:
    """How a dataset becomes what a task splits into folds."""

    make: Callable[[DatasetEntry, str], Interactions]
    """From the entry and the key of its content."""
    words: str
    """What others must know of it; 'target' stands for what is to be told of a sample."""


_OF_SAMPLES = _Preparation(make=_samples, words="{target} is to be told of every row")
_PREPARATIONS = {
    Task.TOP_N: _Preparation(
        make=_implicit,
        words="every interaction counts as positive feedback, the earliest of a user and an item "
        f"is kept, users and items with fewer than {CORE} interactions are pruned until none is "
        f"left ({CORE}-core)",
    ),
    Task.RATINGS: _Preparation(
        make=_rated,
        words="ratings as they are given, the earliest of a user and an item; none is pruned",
    ),
    Task.CLASSES: _OF_SAMPLES,
    Task.NUMBERS: _OF_SAMPLES,
}
