"""A split -> what it does: its parts, and the same on ten people of a toy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


def parts_frame(folds: Mapping[int, FoldParts]) -> pd.DataFrame:
    """The counts of some folds as a table.

    Args: folds: index -> its counts; at least one.
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
        if not counts.interactions and part not in (Part.TRAIN, Part.TEST):
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
    periods: tuple[tuple[int, int] | None, ...]
    """Of each fold the first and the last day that is held out, training lying before the first;
    None without a point in time that everybody shares."""
    leaks: tuple[pd.DataFrame | None, ...]
    """The widest leak of each fold: the marks of a training interaction and of an earlier test
    interaction of the same item."""

    @property
    def k(self) -> int:
        """How many folds the toy has."""
        return len(self.periods)


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
    found = [_roles(strategy(split_id), folds, index) for index in range(k)]
    marks = pd.concat([_marks(index, part) for index, part in enumerate(found)], ignore_index=True)
    return ToySplit(
        marks=marks,
        periods=tuple(_period(split_id, k, seed, settings, index) for index in range(k)),
        leaks=tuple(_widest_leak(marks[marks["fold"] == index]) for index in range(k)),
    )


def _roles(strategy: Strategy, folds: Folds, index: int) -> NDArray[np.str_]:
    """What each interaction of the toy is for in a fold, as figures say it.

    'fold-in' is learnt from like training: the known part of the profile of a user who is tested.
    Only strategies with a parameter of that name have it.
    """
    parts, users = folds.parts(index), toy().users
    words = np.array([(_PARTS | {Part.UNKNOWN: "unknown"})[part] for part in Part])[parts]
    if any(parameter.name == "fold_in" for parameter in strategy.parameters):
        held = (parts == Part.TEST) | (parts == Part.VALIDATION)
        words[(parts == Part.TRAIN) & np.isin(users, users[held])] = "fold-in"
    return words


def _marks(index: int, found: NDArray[np.str_]) -> pd.DataFrame:
    data = toy()
    return pd.DataFrame(
        {
            "fold": index,
            "user": data.users,
            "name": data.user_ids[data.users],
            "day": _days(data),
            "level": _levels(),
            "item": data.item_ids[data.items],
            "part": found,
        }
    )


@cache
def _levels() -> NDArray[np.float64]:
    """The place of each interaction in its basket, around 0; shape (interactions,)."""
    data = toy()
    grouped = pd.DataFrame({"user": data.users, "basket": data.baskets}).groupby(["user", "basket"])
    place, size = grouped.cumcount(), grouped["user"].transform("size")
    return (place - (size - 1) / 2).to_numpy()


def _days(data: Interactions) -> NDArray[np.int64]:
    return (np.asarray(data.timestamps) - START) // DAY


def _period(
    split_id: str, k: int, seed: int, settings: Mapping[str, ParamValue], index: int
) -> tuple[int, int] | None:
    """What is dropped as unknown counts too: it moves no point in time."""
    if strategy(split_id).past is not Past.EVERYBODY:
        return None
    parts = split(toy(), split_id, k, seed, {**settings, "unknown": "keep"}).parts(index)
    test = _days(toy())[parts == Part.TEST]
    return int(test.min()), int(test.max())


def _widest_leak(here: pd.DataFrame) -> pd.DataFrame | None:
    """Of all pairs of one item, training later than test, the one with most days between them."""
    learnt = here[here["part"].isin(["training", "fold-in"])].reset_index()
    pairs = learnt.merge(here[here["part"] == "test"].reset_index(), on="item")
    gaps = pairs["day_x"] - pairs["day_y"]
    if gaps.empty or gaps.max() <= 0:
        return None
    return here.loc[pairs[["index_x", "index_y"]].iloc[int(gaps.argmax())].tolist()]
