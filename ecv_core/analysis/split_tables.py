"""A split -> what it does: its parts, and the same on ten people of a toy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.parameters import ParamValue
from ecv_core.splits import FoldParts, Past, Strategy, split, strategy
from ecv_core.splits.parts import day

_PARTS = {
    Part.TRAIN: "training",
    Part.VALIDATION: "validation",
    Part.TEST: "test",
    Part.UNKNOWN: "dropped as unknown",
    Part.UNUSED: "unused",
}
_ALWAYS = (Part.TRAIN, Part.TEST)


def parts_frame(folds: Mapping[int, FoldParts]) -> pd.DataFrame:
    """The counts of some folds as a table.

    Args:
        folds: index -> its counts; at least one.
    Returns: one row per fold and part that occurs: fold, part, users, items, interactions, percent
        (of all interactions); baskets, from and to (days, UTC) where the dataset has them.
    """
    return pd.DataFrame([row for index, found in folds.items() for row in _rows(index, found)])


def _rows(index: int, found: FoldParts) -> Iterator[dict[str, object]]:
    total = sum(counts.interactions for counts in found.counts.values())
    baskets = any(counts.baskets is not None for counts in found.counts.values())
    times = any(counts.first is not None for counts in found.counts.values())
    for part, word in _PARTS.items():
        counts = found.counts[part]
        if not counts.interactions and part not in _ALWAYS:
            continue
        row: dict[str, object] = {
            "fold": index,
            "part": word,
            "users": counts.users,
            "items": counts.items,
            "interactions": counts.interactions,
            "percent": 100 * counts.interactions / total if total else 0.0,
        }
        if baskets:
            row["baskets"] = counts.baskets
        if times:
            row |= {"from": day(counts.first), "to": day(counts.last)}
        yield row


class InteractionRole(IntEnum):
    """What an interaction is for in one fold; `word` is what pages and files call it."""

    TRAIN = 0
    FOLD_IN = 1
    """Learnt from like training: the known part of the profile of a user who is tested."""
    VALIDATION = 2
    TEST = 3
    UNUSED = 4
    UNKNOWN = 5

    @property
    def word(self) -> str:
        """In figures and tables."""
        return _ROLES[self]


_ROLES = {
    InteractionRole.TRAIN: "training",
    InteractionRole.FOLD_IN: "fold-in",
    InteractionRole.VALIDATION: "validation",
    InteractionRole.TEST: "test",
    InteractionRole.UNUSED: "unused",
    InteractionRole.UNKNOWN: "unknown",
}
_OF_PART = np.array([InteractionRole[part.name] for part in Part], dtype=np.int8)


def roles(
    strategy: Strategy, interactions: Interactions, folds: Folds, index: int
) -> NDArray[np.int8]:
    """The Role of each interaction in fold `index`; shape (interactions,).

    Only strategies with a parameter 'fold_in' have a fold-in part.

    Raises: FoldsError if there is no such fold.
    """
    parts = folds.parts(index)
    found: NDArray[np.int8] = _OF_PART[parts]
    if any(parameter.name == "fold_in" for parameter in strategy.parameters):
        held = (parts == Part.TEST) | (parts == Part.VALIDATION)
        tested = np.bincount(interactions.users[held], minlength=interactions.n_users) > 0
        found[(found == InteractionRole.TRAIN) & tested[interactions.users]] = (
            InteractionRole.FOLD_IN
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The points in time of one fold, in Unix seconds."""

    test_from: int
    """The first moment that is held out: training lies before it."""
    test_to: int
    """The last moment that is held out."""


def period(
    interactions: Interactions,
    split_id: str,
    k: int,
    seed: int,
    params: Mapping[str, ParamValue],
    index: int,
) -> Period | None:
    """When fold `index` begins and ends; None for strategies without a common point in time.

    What is dropped as unknown counts too: it moves no point in time.

    Raises: FoldsError if the data cannot be split so.
    """
    if strategy(split_id).past is not Past.EVERYBODY or interactions.timestamps is None:
        return None
    parts = split(interactions, split_id, k, seed, {**params, "unknown": "keep"}).parts(index)
    test = interactions.timestamps[parts == Part.TEST]
    return Period(test_from=int(test.min()), test_to=int(test.max()))


DAY = 86_400
START = 1_704_067_200
"""1 January 2024, UTC: day 0."""
MOST_FOLDS = 10
DAYS = 182

VISITS: dict[str, str] = {
    "Ada": "2 AB, 23 C, 44 DE, 72 F, 100 G, 135 H, 163 I",
    "Ben": "9 B, 30 ACF, 58 D, 93 E, 121 GH",
    "Cleo": "5 AD, 37 B, 65 CE, 86 J, 114 F, 142 I, 177 K",
    "Dan": "16 C, 51 AB, 79 G, 107 DH, 149 J, 170 EL",
    "Eve": "12 EF, 40 G, 68 AI, 96 B",
    "Finn": "61 B, 82 AC, 103 D, 124 E, 145 FI, 166 H, 180 L",
    "Gus": "26 H, 47 I, 75 BJ, 110 C, 138 A",
    "Hana": "54 A, 89 CD, 117 BF, 152 G, 173 HK",
    "Ida": "19 D, 33 A, 84 BG, 128 C, 156 EJ, 175 F",
    "Jon": "158 BC, 168 A, 178 DL",
}
"""Who came on which day and took what: a basket per visit. Jon and item L come late, so that the
splits at one point in time have users and items that training does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToySplit:
    """The toy under a strategy."""

    marks: pd.DataFrame
    """One row per fold and interaction: fold, user (row), name, day, level, item, part."""
    periods: tuple[Period | None, ...]
    """Of each fold, in days instead of seconds."""
    leaks: tuple[Leak | None, ...]
    """The widest leak of each fold."""

    @property
    def k(self) -> int:
        """How many folds the toy has."""
        return len(self.periods)

    @property
    def names(self) -> tuple[str, ...]:
        """The users, by row."""
        return tuple(VISITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A training interaction and an earlier test interaction of the same item."""

    item: str
    learner: int
    """Row of the user whose later interaction is learnt from."""
    learnt_day: int
    learnt_level: float
    """Its place in its basket, as in the marks."""
    tested: int
    """Row of the user whose earlier interaction is to be predicted."""
    tested_day: int
    tested_level: float


@cache
def toy() -> Interactions:
    """The interactions, sorted by user and item, with timestamps and baskets."""
    rows = sorted(
        (user, item, day, basket)
        for user, visits in enumerate(VISITS.values())
        for basket, visit in enumerate(visits.split(", "))
        for day, letters in [visit.split()]
        for item in letters
    )
    items = sorted({item for _, item, _, _ in rows})
    return Interactions(
        dataset="the toy",
        users=np.array([user for user, _, _, _ in rows], dtype=np.int32),
        items=np.array([items.index(item) for _, item, _, _ in rows], dtype=np.int32),
        user_ids=np.array(list(VISITS)),
        item_ids=np.array(items),
        timestamps=np.array([START + DAY * int(day) for _, _, day, _ in rows], dtype=np.int64),
        baskets=np.array([basket for _, _, _, basket in rows], dtype=np.int32),
    )


def toy_split(
    split_id: str, k: int, seed: int, params: Mapping[str, ParamValue] | None = None
) -> ToySplit:
    """The toy split as asked, with as many of the k folds as it has room for.

    Args: as `splits.split`.
    Raises: InputError for the id or a parameter; FoldsError if the toy cannot be split so at all.
    """
    settings = dict(strategy(split_id).resolve(params or {}))
    least = max(strategy(split_id).least_k, 1)
    for few in range(min(k, MOST_FOLDS), least - 1, -1):
        try:
            return _split(split_id, few, seed, settings)
        except FoldsError:
            if few == least:
                raise
    return _split(split_id, k, seed, settings)  # a k below the least says why not


def _split(split_id: str, k: int, seed: int, settings: Mapping[str, ParamValue]) -> ToySplit:
    data = toy()
    folds = split(data, split_id, k, seed, settings)
    found = [roles(strategy(split_id), data, folds, index) for index in range(k)]
    return ToySplit(
        marks=pd.concat(
            [_marks(index, part) for index, part in enumerate(found)], ignore_index=True
        ),
        periods=tuple(
            _in_days(period(data, split_id, k, seed, settings, index)) for index in range(k)
        ),
        leaks=tuple(_widest_leak(part) for part in found),
    )


def _marks(index: int, found: NDArray[np.int8]) -> pd.DataFrame:
    data = toy()
    return pd.DataFrame(
        {
            "fold": index,
            "user": data.users,
            "name": data.user_ids[data.users],
            "day": _days(data),
            "level": _levels(),
            "item": data.item_ids[data.items],
            "part": [InteractionRole(role).word for role in found],
        }
    )


@cache
def _levels() -> NDArray[np.float64]:
    """The place of each interaction in its basket, around 0; shape (interactions,)."""
    data = toy()
    grouped = pd.DataFrame({"user": data.users, "basket": data.baskets}).groupby(["user", "basket"])
    place, size = grouped.cumcount(), grouped["user"].transform("size")
    levels: NDArray[np.float64] = (place - (size - 1) / 2).to_numpy()
    return levels


def _days(data: Interactions) -> NDArray[np.int64]:
    return (np.asarray(data.timestamps) - START) // DAY


def _in_days(found: Period | None) -> Period | None:
    if found is None:
        return None
    return Period(
        test_from=(found.test_from - START) // DAY,
        test_to=(found.test_to - START) // DAY,
    )


def _widest_leak(found: NDArray[np.int8]) -> Leak | None:
    """Of all pairs of one item, training later than test, the one with most days between them."""
    data, days = toy(), _days(toy())
    learnt = np.flatnonzero((found == InteractionRole.TRAIN) | (found == InteractionRole.FOLD_IN))
    tested = np.flatnonzero(found == InteractionRole.TEST)
    gap = days[learnt][:, None] - days[tested][None, :]
    gap[data.items[learnt][:, None] != data.items[tested][None, :]] = 0
    if not gap.size or gap.max() <= 0:
        return None
    late, early = np.unravel_index(int(gap.argmax()), gap.shape)
    source, target = learnt[late], tested[early]
    return Leak(
        item=str(data.item_ids[data.items[source]]),
        learner=int(data.users[source]),
        learnt_day=int(days[source]),
        learnt_level=float(_levels()[source]),
        tested=int(data.users[target]),
        tested_day=int(days[target]),
        tested_level=float(_levels()[target]),
    )
