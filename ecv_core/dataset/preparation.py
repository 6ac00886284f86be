"""A dataset -> what a task splits into folds: implicit and 5-core, ratings as given, or samples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecv_core.dataset.array_file import cached
from ecv_core.dataset.entries import DatasetEntry, entry
from ecv_core.dataset.folders import cache_dir
from ecv_core.dataset.loading import load_entry
from ecv_core.dataset.sources import source_key
from ecv_core.dataset.tables import read_table
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import SOMETIMES, Interactions
from ecv_core.records.tasks import Task

CORE = 5
"""Users and items with fewer interactions are pruned, as in the paper."""


def prepared(dataset_id: str) -> Interactions:
    """A dataset ready to be ranked: implicit, 5-core; kept on disk and in memory by its content.

    Raises: DatasetError if it is not on disk, damaged, or not what the catalogue promises.
    """
    return for_task(entry(dataset_id), Task.TOP_N)


def for_task(dataset: DatasetEntry, task: Task) -> Interactions:
    """A dataset as the task needs it, kept in memory by its content.

    Raises: DatasetError if it is not on disk, damaged, or cannot serve.
    """
    return _prepared(_Wanted(key=source_key(dataset), task=task, dataset=dataset))


def filtering(dataset: DatasetEntry, task: Task) -> str:
    """In words, what `for_task` makes of the rows of a dataset."""
    if task.of_table:
        return f"{dataset.target} is to be told of every row"
    if task.ranks:
        return (
            "every interaction counts as positive feedback, the earliest of a user and an item "
            f"is kept, users and items with fewer than {CORE} interactions are pruned until none "
            f"is left ({CORE}-core)"
        )
    return "ratings as they are given, the earliest of a user and an item; none is pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A dataset as a task needs it; equal to another of the same content, whatever its entry."""

    key: str
    """Of its content, see `source_key`."""
    task: Task
    dataset: DatasetEntry = field(compare=False)


@lru_cache(maxsize=4)
def _prepared(wanted: _Wanted) -> Interactions:
    dataset = wanted.dataset
    if wanted.task.of_table:
        return read_table(dataset)
    if wanted.task.ranks:
        # Every interaction counts as positive feedback, whatever its rating: ratings, timestamps,
        # baskets and sequence travel along for splits and exports, and no model sees them.
        interactions = _k_core(dataset, f"{wanted.key}-{CORE}core", CORE)
    else:
        interactions = _k_core(dataset, f"{wanted.key}-ratings", 0)
        scale_of(interactions, dataset.scale)
    dataset.check_counts(wanted.task, interactions)
    return interactions


def _k_core(dataset: DatasetEntry, key: str, core: int) -> Interactions:
    """The k-core of a dataset, kept on disk under this key where the data are not in memory."""
    if dataset.held is not None:
        return prepare(dataset.held.interactions, core)

    def make() -> Interactions:
        return prepare(load_entry(dataset), core)

    return cached(key, cache_dir(), make)


def prepare(interactions: Interactions, core: int = CORE) -> Interactions:
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
    rows = kept[order]
    attributes = {}
    for name in SOMETIMES:
        values = getattr(interactions, name)
        if values is not None:
            attributes[name] = values[rows]
    return replace(
        interactions,
        users=users[order],
        items=items[order],
        user_ids=user_ids,
        item_ids=item_ids,
        **attributes,
    )


def core_rows(interactions: Interactions, core: int) -> NDArray[np.intp]:
    """Which interactions are left by pruning to the k-core; their places, ascending."""
    rows = np.arange(len(interactions))
    users = interactions.users
    items = interactions.items
    while True:
        users_have_enough = np.bincount(users, minlength=1) >= core
        items_have_enough = np.bincount(items, minlength=1) >= core
        kept = users_have_enough[users] & items_have_enough[items]
        if kept.all():
            return rows
        # What goes takes interactions from others, who may then have too few.
        rows = rows[kept]
        users = users[kept]
        items = items[kept]


def _recode(
    codes: NDArray[np.int32], ids: NDArray[np.str_]
) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Dense codes in the text order of the ids that occur, and those ids."""
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    by_text = occurring[np.argsort(ids[occurring], kind="stable")]
    new_code = np.full(len(ids), -1, dtype=np.int32)
    new_code[by_text] = np.arange(len(by_text), dtype=np.int32)
    return new_code[codes], ids[by_text]


def scale_of(
    interactions: Interactions, scale: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The lowest and the highest rating that can be given.

    Args:
        interactions: a dataset with every rating that it has.
        scale: where it is known; by default what occurs.
    Raises: DatasetError for no ratings, some outside the scale, or all the same.
    """
    ratings = interactions.ratings
    name = interactions.dataset
    if ratings is None or not len(ratings):
        raise DatasetError(
            f"{name} has no ratings (a column 'rating'), so there is none to predict; choose "
            "another dataset, or an algorithm that ranks items, such as ease"
        )
    low = float(ratings.min())
    high = float(ratings.max())
    if low == high:
        raise DatasetError(
            f"every rating of {name} is {low:g}, so there is nothing to predict; choose another "
            "dataset, or an algorithm that ranks items, such as ease"
        )
    if scale is None:
        return low, high
    if low < scale[0]:
        raise _outside_scale(name, low, scale)
    if high > scale[1]:
        raise _outside_scale(name, high, scale)
    return scale


def _outside_scale(name: str, rating: float, scale: tuple[float, float]) -> DatasetError:
    return DatasetError(
        f"{name} has a rating of {rating:g}, but its scale goes from {scale[0]:g} to "
        f"{scale[1]:g}; correct it, or give the file another name to use it as a dataset of "
        "its own"
    )
