"""What a fold holds: users, items, interactions and baskets of each part, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.splits.fold_matrices import checked_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCounts:
    """What is in one part of a fold."""

    interactions: int
    users: int
    items: int
    baskets: int | None
    """Distinct (user, basket) pairs; None where the dataset has no baskets."""
    first: int | None
    """Time of the earliest interaction in Unix seconds; None without timestamps or interactions."""
    last: int | None
    """Of the latest, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldParts:
    """What is in every part of a fold: the statistics that Meng et al. ask authors to report."""

    counts: Mapping[Part, PartCounts]
    """By part; a part without interactions has zeros."""
    unknown_users: int
    """Users that something is or would be held out of for testing, and training does not have."""
    unknown_items: int
    """Items that are or would be held out for testing, and training does not have."""
    unknown_interactions: int
    """Test interactions, dropped or not, whose user or item training does not have."""

    @property
    def dropped(self) -> int:
        """How many held-out interactions were dropped as unknown, from test and validation."""
        return self.counts[Part.UNKNOWN].interactions


def fold_parts(interactions: Interactions, folds: Folds, index: int) -> FoldParts:
    """Count fold `index`.

    Where unknown users and items are dropped, those of the validation part count as unknown too.

    Raises: FoldsError if the folds have no such index or belong to other interactions.
    """
    parts = checked_parts(interactions, folds, index)
    counts = {part: _counts(interactions, parts == part) for part in Part}
    users, items = known_to_training(interactions, parts)
    held = (parts == Part.TEST) | (parts == Part.UNKNOWN)
    held_users, held_items = interactions.users[held], interactions.items[held]
    strange_user, strange_item = ~users[held_users], ~items[held_items]
    return FoldParts(
        counts=counts,
        unknown_users=len(np.unique(held_users[strange_user])),
        unknown_items=len(np.unique(held_items[strange_item])),
        unknown_interactions=int(np.sum(strange_user | strange_item)),
    )


def known_to_training(
    interactions: Interactions, parts: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which users and which items occur in training; shapes (users,) and (items,)."""
    learnt = parts == Part.TRAIN
    users = np.bincount(interactions.users[learnt], minlength=interactions.n_users) > 0
    items = np.bincount(interactions.items[learnt], minlength=interactions.n_items) > 0
    return users, items


def _counts(interactions: Interactions, chosen: NDArray[np.bool_]) -> PartCounts:
    users, items = interactions.users[chosen], interactions.items[chosen]
    baskets, times = None, None
    if interactions.baskets is not None:
        joint = users.astype(np.int64) << 32 | interactions.baskets[chosen].astype(np.int64)
        baskets = len(np.unique(joint))
    if interactions.timestamps is not None and len(users):
        times = interactions.timestamps[chosen]
    return PartCounts(
        interactions=len(users),
        users=int(np.count_nonzero(np.bincount(users, minlength=1))),
        items=int(np.count_nonzero(np.bincount(items, minlength=1))),
        baskets=baskets,
        first=None if times is None else int(times.min()),
        last=None if times is None else int(times.max()),
    )


def day(seconds: int | None) -> str:
    """The day in UTC; empty for None, the number itself where it is no date."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return str(seconds)  # own files may have any numbers for times
