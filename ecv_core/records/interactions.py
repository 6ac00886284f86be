"""Who interacted with what, and what each interaction is for in a fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Floats, Ids, Indices, Mask
from ecv_core.records.errors import FoldsError
from ecv_core.records.parameters import ParamValue

SOMETIMES = ("ratings", "timestamps", "baskets", "sequence", "clusters")
"""What interactions may have beside who and what."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Interactions:
    """Who interacted with what: one entry per (user, item), users and items as codes from 0.

    Arrays `users`, `items`, and where there are any `ratings`, `timestamps` (Unix seconds),
    `baskets`, `sequence` and `clusters` all have shape (interactions,). `user_ids[code]` and
    `item_ids[code]` give the dataset's own ids as text.

    >>> import ecv_core as ecv
    >>> data = ecv.load("synthetic")
    >>> len(data) == len(data.users) == len(data.items)
    True
    """

    dataset: str
    users: Codes
    items: Codes
    user_ids: Ids
    item_ids: Ids
    ratings: NDArray[np.float32] | None = None
    timestamps: NDArray[np.int64] | None = None
    baskets: Codes | None = None
    """What was bought together: within one user equal numbers are one basket, larger is later."""
    sequence: NDArray[np.int32] | None = None
    """The place within the user's history, where neither times nor baskets are known, or where
    times of a user differ within a second: then the rank of each moment among all."""
    clusters: Codes | None = None
    """Who belongs together, such as a household: the code of the user's cluster."""

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        counts = f"{self.n_users:,} users, {self.n_items:,} items, {len(self):,} interactions"
        return f"<{self.dataset}: {counts}>"

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def history(self) -> NDArray[np.int64] | Codes | None:
        """What puts one user's interactions in order, larger is later; None where nothing does.

        Only timestamps, and their ranks, compare between users too.
        """
        for array in (self.sequence, self.timestamps, self.baskets):
            if array is not None:
                return array
        return None

    @property
    def moments(self) -> NDArray[np.int64] | Floats | None:
        """Unix seconds, with fractions that keep the order within a second; None without times.

        Those fractions share a second out evenly among its moments, in their order.
        """
        if self.timestamps is None or self.sequence is None:
            return self.timestamps
        # `sequence` has the rank of each row's moment among all moments, which may be less than a
        # second apart. If the ranks 4, 5 and 6 are of one second, they are put at its start, after
        # 1/3 and after 2/3 of it.
        _, first_row_of_rank, rank_of_row = np.unique(
            self.sequence, return_index=True, return_inverse=True
        )
        _, first_rank_of_second, second_of_rank, rank_counts = np.unique(
            self.timestamps[first_row_of_rank],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        places_in_second = np.arange(len(first_row_of_rank)) - first_rank_of_second[second_of_rank]
        fractions = places_in_second / rank_counts[second_of_rank]
        return self.timestamps + fractions[rank_of_row]

    @property
    def cluster_of(self) -> Codes | None:
        """Of each user; None where no clusters are named, or everybody is one."""
        if self.clusters is None:
            return None
        cluster_of = np.zeros(self.n_users, dtype=np.int32)
        cluster_of[self.users] = self.clusters
        # If each user is a cluster of their own, users are independent as without clusters.
        if len(np.unique(cluster_of)) == self.n_users:
            return None
        return cluster_of

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled, in [0, 1]."""
        cells = self.n_users * self.n_items
        if not cells:
            return 0.0
        return len(self) / cells

    def take(self, rows: Indices) -> Self:
        """These interactions, in this order; users and items keep their codes and ids."""
        taken = {}
        for name in ("users", "items", *SOMETIMES):
            array = getattr(self, name)
            if array is not None:
                taken[name] = array[rows]
        return replace(self, **taken)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Table(Interactions):
    """Samples of which something is to be told: a class, or a number.

    As interactions each sample is a user, and what is to be told of it the only item, so that
    folds, scores of samples and files of folds are as everywhere.
    """

    features: Floats
    """What estimators look at; shape (samples, features); NaN where it is not known."""
    targets: NDArray[np.int64] | Floats
    """Places in `classes`, or numbers; shape (samples,)."""
    classes: Ids | None = None
    """The names of the classes, at least two; None where the targets are numbers."""

    def __repr__(self) -> str:
        targets = "numbers"
        if self.classes is not None:
            targets = f"{len(self.classes)} classes"
        size = f"{len(self):,} samples, {self.features.shape[1]:,} features"
        return f"<{self.dataset}: {size}, {targets}>"

    @classmethod
    def of(
        cls,
        dataset: str,
        features: Floats,
        targets: NDArray[np.int64] | Floats,
        classes: Ids | None,
        target: str,
    ) -> Self:
        """The samples, named by their number from 0; `target` is the name of what is to be told."""
        count = len(targets)
        return cls(
            dataset=dataset,
            users=np.arange(count, dtype=np.int32),
            items=np.zeros(count, np.int32),
            user_ids=np.arange(count).astype(np.str_),
            item_ids=np.array([target]),
            features=features,
            targets=targets,
            classes=classes,
        )


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Folds:
    """What each interaction is for in each of k folds, worked out one fold at a time.

    Belongs to the Interactions it was made from. Either `assignment` or `draw` is given.

    >>> import ecv_core as ecv
    >>> ecv.split("synthetic", k=5).k
    5
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

        Raises:
            FoldsError: If there is no such fold.
        """
        if not 0 <= index < self.k:
            raise FoldsError(f"there is no fold {index}; these folds go from 0 to {self.k - 1}")
        if self.draw is not None:
            return self.draw(index)
        if self.assignment is None:
            raise FoldsError(
                f"these {self.k} folds have neither an assignment of interactions nor a "
                "function that draws them"
            )
        return np.where(self.assignment == index, Part.TEST, Part.TRAIN).astype(np.int8)


# What is known of when the interactions in a training matrix were.


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """A value for each stored entry of a matrix of users and items, in the order of its entries.

    Beside a matrix, so that most models need not know of it.
    """

    order: NDArray[np.int64] | None = None
    """Within one user larger is later; equal where nothing tells which was first."""
    baskets: NDArray[np.int64] | None = None
    """Within one user equal numbers are one basket, larger is later."""

    @classmethod
    def of(cls, interactions: Interactions, is_chosen: Mask) -> Self:
        """What is known of these interactions, in the order of users and then items.

        Args:
            interactions: The interactions of a dataset.
            is_chosen: Which of them; shape (interactions,), no user and item twice among them.
        """
        rows = np.flatnonzero(is_chosen)
        users = interactions.users[rows]
        items = interactions.items[rows]
        # `lexsort` sorts by the last of its keys first: by user, then by item.
        rows = rows[np.lexsort((items, users))]
        # The history says for each interaction how late it was among those of its user.
        order = _values_at(interactions.history, rows)
        return cls(order=order, baskets=_values_at(interactions.baskets, rows))

    def take(self, kept: Mask) -> Self:
        """Of the entries that are kept alone; shape (entries,)."""
        return type(self)(
            order=_values_at(self.order, kept), baskets=_values_at(self.baskets, kept)
        )


def _values_at(
    values: NDArray[np.integer] | None, rows: NDArray[np.integer] | Mask
) -> NDArray[np.int64] | None:
    if values is None:
        return None
    return values[rows].astype(np.int64)


# Ratings of a fold: those a model learns from, and who asks about what in the held-out part.


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """Who asks about what, and when; every array has shape (pairs,)."""

    users: Codes
    """Codes, as in the interactions; a user may be unknown to training, as may an item."""
    items: Codes
    timestamps: NDArray[np.int64] | None = None
    """Unix seconds."""

    def __len__(self) -> int:
        return len(self.users)

    @classmethod
    def of(cls, interactions: Interactions | Pairs, is_chosen: Mask) -> Self:
        """These interactions without their ratings; `is_chosen` has shape (interactions,)."""
        return cls(
            users=interactions.users[is_chosen],
            items=interactions.items[is_chosen],
            timestamps=_values_at(interactions.timestamps, is_chosen),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """What a model learns from: a rating for each of some pairs, on a scale."""

    pairs: Pairs
    values: Floats
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
    def users(self) -> Codes:
        """Whose each rating is; shape (pairs,)."""
        return self.pairs.users

    @property
    def items(self) -> Codes:
        """What each rating is of; shape (pairs,)."""
        return self.pairs.items

    @property
    def mean(self) -> float:
        """Of all ratings."""
        return float(self.values.mean())

    @classmethod
    def of(cls, interactions: Interactions, is_chosen: Mask, scale: tuple[float, float]) -> Self:
        """Some of the ratings of a dataset; `is_chosen` has shape (interactions,)."""
        # `check_ratings` has refused data without ratings.
        assert interactions.ratings is not None
        return cls(
            pairs=Pairs.of(interactions, is_chosen),
            values=interactions.ratings[is_chosen].astype(np.float64),
            n_users=interactions.n_users,
            n_items=interactions.n_items,
            low=scale[0],
            high=scale[1],
        )

    def take(self, kept: Mask) -> Self:
        """Those that are kept alone; shape (pairs,)."""
        return replace(self, pairs=Pairs.of(self.pairs, kept), values=self.values[kept])


# What a split or a model may need of a dataset beside who interacted with what.


class Need(StrEnum):
    """What a dataset must have."""

    NOTHING = "nothing"
    HISTORY = "history"
    """The order of each user's interactions: timestamps, baskets, or rows in order."""
    BASKETS = "baskets"
    TIMESTAMPS = "timestamps"
    """Times that compare between users."""

    def met(self, interactions: Interactions) -> bool:
        """Whether the dataset has it."""
        if self is Need.NOTHING:
            return True
        # Every other need has the name of the attribute that meets it.
        return getattr(interactions, self.value) is not None


LACKS = {
    Need.HISTORY: "no timestamps and no known order of a user's interactions",
    Need.BASKETS: "no baskets (a column 'basket')",
    Need.TIMESTAMPS: "no timestamps",
}
"""What a dataset has that does not meet a need, for messages."""
