"""Ratings of a fold: those a model learns from, and who asks about what in the held-out part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.interactions import Interactions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Who asks about what, and when; every array has shape (pairs,)."""

    users: NDArray[np.int32]
    """Codes, as in the interactions; a user may be unknown to training, as may an item."""
    items: NDArray[np.int32]
    timestamps: NDArray[np.int64] | None = None
    """Unix seconds."""

    def __len__(self) -> int:
        return len(self.users)

    @classmethod
    def of(cls, interactions: Interactions, chosen: NDArray[np.bool_]) -> Self:
        """These interactions without their ratings; `chosen` has shape (interactions,)."""
        times = interactions.timestamps
        return cls(
            users=interactions.users[chosen],
            items=interactions.items[chosen],
            timestamps=None if times is None else times[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """What a model learns from: a rating for each of some pairs, on a scale."""

    pairs: Pairs
    values: NDArray[np.float64]
    """As given; shape (pairs,), at least one."""
    n_users: int
    """Of the whole dataset: codes go from 0 to n_users - 1."""
    n_items: int
    low: float
    """The lowest rating of the scale."""
    high: float

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def users(self) -> NDArray[np.int32]:
        """Whose each rating is; shape (pairs,)."""
        return self.pairs.users

    @property
    def items(self) -> NDArray[np.int32]:
        """What each rating is of; shape (pairs,)."""
        return self.pairs.items

    @property
    def mean(self) -> float:
        """Of all ratings."""
        return float(self.values.mean())

    @classmethod
    def of(
        cls,
        interactions: Interactions,
        chosen: NDArray[np.bool_],
        scale: tuple[float, float],
    ) -> Self:
        """Some of the ratings of a dataset; `chosen` has shape (interactions,)."""
        assert interactions.ratings is not None  # `check_ratings` has looked
        return cls(
            pairs=Pairs.of(interactions, chosen),
            values=interactions.ratings[chosen].astype(np.float64),
            n_users=interactions.n_users,
            n_items=interactions.n_items,
            low=scale[0],
            high=scale[1],
        )

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Those that are kept alone; shape (pairs,)."""
        times = self.pairs.timestamps
        return type(self)(
            pairs=Pairs(
                users=self.users[kept],
                items=self.items[kept],
                timestamps=None if times is None else times[kept],
            ),
            values=self.values[kept],
            n_users=self.n_users,
            n_items=self.n_items,
            low=self.low,
            high=self.high,
        )
