"""A split -> what it does to a toy: ten people, who visit on some days and take some items."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis.split_tables.parts import PART_WORDS
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.parameters import ParamValue
from ecv_core.splits import Past, Strategy, split, strategy

SECONDS_PER_DAY = 86_400
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


@dataclass(frozen=True, kw_only=True)
class ToySplit:
    """The toy, split by a strategy."""

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
def _toy_table() -> pd.DataFrame:
    """One row per interaction, sorted by user and item: user, name, day, basket, level, item.

    `level` is how far above its user's line the interaction is drawn: three of a basket are at -1,
    0 and 1.
    """
    rows = []
    for user, (name, visits) in enumerate(VISITS.items()):
        for basket, visit in enumerate(visits.split(", ")):
            day, letters = visit.split()
            for item in letters:
                rows.append((user, name, int(day), basket, item))
    table = pd.DataFrame(rows, columns=["user", "name", "day", "basket", "item"])
    table = table.sort_values(["user", "item"], ignore_index=True)
    # The items of a basket are drawn one above the other, with their middle on the user's line.
    baskets = table.groupby(["user", "basket"])
    middle = (baskets["item"].transform("size") - 1) / 2
    return table.assign(level=baskets.cumcount() - middle)


@cache
def toy() -> Interactions:
    """The interactions, sorted by user and item, with timestamps and baskets."""
    table = _toy_table()
    item_ids, items = np.unique(table["item"].to_numpy(dtype=np.str_), return_inverse=True)
    return Interactions(
        dataset="the toy",
        users=table["user"].to_numpy(dtype=np.int32),
        items=items.astype(np.int32),
        user_ids=np.array(list(VISITS)),
        item_ids=item_ids,
        timestamps=START + SECONDS_PER_DAY * table["day"].to_numpy(dtype=np.int64),
        baskets=table["basket"].to_numpy(dtype=np.int32),
    )


def toy_split(
    split_id: str, k: int, seed: int, params: Mapping[str, ParamValue] | None = None
) -> ToySplit:
    """Split the toy, into as many of the k folds as it has room for.

    Args:
        split_id: As `splits.split`, like the others.
        k: How many folds are wanted.
        seed: The seed of the draws.
        params: The params of the split.

    Raises:
        InputError: For the id or a parameter.
        FoldsError: If the toy cannot be split so at all.
    """
    chosen = strategy(split_id)
    settings = dict(chosen.resolve(params or {}))
    least = max(chosen.least_k, 1)
    # The toy may be too small for k folds. Then one fewer is tried, until the toy can be split.
    for fold_count in range(min(k, MOST_FOLDS), least, -1):
        with suppress(FoldsError):
            return _toy_split_into(chosen, fold_count, seed, settings)
    # The last attempt may fail: its error says why the toy, or a k below the least, cannot serve.
    return _toy_split_into(chosen, min(k, least), seed, settings)


def _toy_split_into(
    chosen: Strategy, k: int, seed: int, settings: Mapping[str, ParamValue]
) -> ToySplit:
    """Split the toy into exactly k folds. Raises: FoldsError if it has no room for them."""
    folds = split(toy(), chosen.id, k, seed, settings)
    marks_of_folds = []
    for index in range(k):
        part_words = _part_words(chosen, folds, index)
        marks_of_folds.append(_toy_table().assign(fold=index, part=part_words))
    marks = pd.concat(marks_of_folds, ignore_index=True)
    leaks = []
    for _, marks_of_fold in marks.groupby("fold"):
        leaks.append(_widest_leak(marks_of_fold))
    return ToySplit(marks=marks, periods=_periods(chosen, k, seed, settings), leaks=tuple(leaks))


def _part_words(chosen: Strategy, folds: Folds, index: int) -> NDArray[np.str_]:
    """What each interaction of the toy is for in a fold, as figures say it."""
    parts = folds.parts(index)
    users = toy().users
    words_of_parts = PART_WORDS | {Part.UNKNOWN: "unknown"}
    # Parts are numbers from 0 on, so that each interaction's part is the place of its words.
    words = np.array([words_of_parts[part] for part in Part])[parts]
    # Strategies with this parameter also learn from some interactions of the users whom they test.
    if "fold_in" in [parameter.name for parameter in chosen.parameters]:
        held_out = (parts == Part.TEST) | (parts == Part.VALIDATION)
        words[(parts == Part.TRAIN) & np.isin(users, users[held_out])] = "fold-in"
    return words


def _periods(
    chosen: Strategy, k: int, seed: int, settings: Mapping[str, ParamValue]
) -> tuple[tuple[int, int] | None, ...]:
    """The days that each fold holds out: see `ToySplit.periods`."""
    # A fold has a period where the past of everybody is trained on: what all users did before one
    # point in time. Other splits hold out interactions of any day.
    if chosen.past is not Past.EVERYBODY:
        return (None,) * k
    # Users and items that training does not know are kept: to drop them would shorten a period.
    folds = split(toy(), chosen.id, k, seed, {**settings, "unknown": "keep"})
    periods = []
    for index in range(k):
        test_days = _toy_table()["day"][folds.parts(index) == Part.TEST]
        periods.append((int(test_days.min()), int(test_days.max())))
    return tuple(periods)


def _widest_leak(marks: pd.DataFrame) -> pd.DataFrame | None:
    """Find the training mark that lies most days after a test mark of the same item.

    Args:
        marks: The marks of one fold.

    Returns:
        The training mark and the test mark; None where no training lies after such a test.
    """
    # Each mark keeps its number, as a column 'index'.
    learnt = marks[marks["part"].isin(["training", "fold-in"])].reset_index()
    tested = marks[marks["part"] == "test"].reset_index()
    pairs = learnt.merge(tested, on="item", suffixes=("_learnt", "_tested"))
    days_learnt_after_test = pairs["day_learnt"] - pairs["day_tested"]
    if days_learnt_after_test.empty or days_learnt_after_test.max() <= 0:
        return None
    widest = pairs.iloc[int(days_learnt_after_test.argmax())]
    return marks.loc[[widest["index_learnt"], widest["index_tested"]]]
