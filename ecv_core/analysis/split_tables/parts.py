"""Counts of the parts of some folds -> a table."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ecv_core.records.interactions import Part
from ecv_core.splits import FoldParts
from ecv_core.splits.parts import day

PART_WORDS = {
    Part.TRAIN: "training",
    Part.VALIDATION: "validation",
    Part.TEST: "test",
    Part.UNKNOWN: "dropped as unknown",
    Part.UNUSED: "unused",
}


def parts_frame(folds: Mapping[int, FoldParts]) -> pd.DataFrame:
    """Put the counts of some folds into a table.

    Args:
        folds: Index -> its counts; at least one.

    Returns:
        One row per fold and part that occurs: fold, part, users, items, interactions, percent (of
        all interactions); baskets, from and to (days, UTC) where the dataset has them.
    """
    rows = []
    for index, fold in folds.items():
        rows += _rows_of_fold(index, fold)
    return pd.DataFrame(rows)


def _rows_of_fold(index: int, fold: FoldParts) -> list[dict[str, object]]:
    """One row for each part that occurs; training and test are always there."""
    every_count = fold.counts.values()
    total = sum(counts.interactions for counts in every_count)
    has_baskets = any(counts.baskets is not None for counts in every_count)
    has_times = any(counts.first_time is not None for counts in every_count)
    rows = []
    for part, words in PART_WORDS.items():
        counts = fold.counts[part]
        if not counts.interactions and part not in (Part.TRAIN, Part.TEST):
            continue
        row = {
            "fold": index,
            "part": words,
            "users": counts.users,
            "items": counts.items,
            "interactions": counts.interactions,
            "percent": 100 * counts.interactions / max(total, 1),
        }
        if has_baskets:
            row["baskets"] = counts.baskets
        if has_times:
            row["from"] = day(counts.first_time)
            row["to"] = day(counts.last_time)
        rows.append(row)
    return rows
