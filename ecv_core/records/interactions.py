"""Who interacted with what, and what each interaction is for in a fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.parameters import ParamValue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interactions:
    """Who interacted with what: one entry per (user, item), users and items as codes from 0.

    Arrays `users`, `items`, and where there are any `ratings`, `timestamps` (Unix seconds),
    `baskets` and `sequence` all have shape (interactions,). `user_ids[code]` and `item_ids[code]`
    give the dataset's own ids as text.
    """

    dataset: str
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    user_ids: NDArray[np.str_]
    item_ids: NDArray[np.str_]
    ratings: NDArray[np.float32] | None = None
    timestamps: NDArray[np.int64] | None = None
    baskets: NDArray[np.int32] | None = None
    """What was bought together: within one user equal numbers are one basket, larger is later."""
    sequence: NDArray[np.int32] | None = None
    """Where neither times nor baskets are known: the place within the user's history."""

    def __len__(self) -> int:
        return len(self.users)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def history(self) -> NDArray[np.int64] | NDArray[np.int32] | None:
        """What puts one user's interactions in order, larger is later; None where nothing does.

        Only timestamps compare between users too.
        """
        known = (self.timestamps, self.baskets, self.sequence)
        return next((array for array in known if array is not None), None)

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled, in [0, 1]."""
        cells = self.n_users * self.n_items
        return len(self) / cells if cells else 0.0

    def take(self, rows: NDArray[np.intp]) -> Self:
        """These interactions, in this order; users and items keep their codes and ids."""
        arrays: dict[str, Any] = {
            name: None if (array := getattr(self, name)) is None else array[rows]
            for name in ("users", "items", "ratings", "timestamps", "baskets", "sequence")
        }
        return replace(self, **arrays)


class Part(IntEnum):
    """What an interaction is for in one fold."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2
    """Held out: what the model is evaluated on."""
    UNUSED = 3
    """Neither learnt from nor held out, such as what lies after a time window."""
    UNKNOWN = 4
    """Would be held out, but its user or item is unknown to training and such are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """What each interaction is for in each of k folds, worked out one fold at a time.

    Belongs to the Interactions it was made from. Either `assignment` or `draw` is given.
    """

    strategy: str
    k: int
    seed: int | None
    params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the strategy, defaults filled in, sorted by name."""
    assignment: NDArray[np.int16] | None = None
    """The fold, 0 .. k-1, that holds an interaction out; every other fold learns from it. -1 is
    held out in none. Shape (interactions,)."""
    draw: Callable[[int], NDArray[np.int8]] | None = field(default=None, repr=False)
    """Where folds are not of that form: fold index -> Part of each interaction."""

    def parts(self, index: int) -> NDArray[np.int8]:
        """The Part of each interaction in fold `index`; shape (interactions,), the caller's own.

        Raises: FoldsError if there is no such fold.
        """
        if not 0 <= index < self.k:
            raise FoldsError(f"there is no fold {index}; these folds go from 0 to {self.k - 1}")
        if self.draw is not None:
            return self.draw(index)
        if self.assignment is None:
            raise FoldsError(f"these {self.k} folds hold neither an assignment nor a way to draw")
        return np.where(self.assignment == index, Part.TEST, Part.TRAIN).astype(np.int8)
