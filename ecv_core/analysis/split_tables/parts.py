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
        total = sum(counts.interactions for counts in fold.counts.values())
        for part, words in PART_WORDS.items():
            counts = fold.counts[part]
            # Training and test are always there.
            if not counts.interactions and part not in (Part.TRAIN, Part.TEST):
                continue
            row = {
                "fold": index,
                "part": words,
                "users": counts.users,
                "items": counts.items,
                "interactions": counts.interactions,
                "percent": 100 * counts.interactions / max(total, 1),
                "baskets": counts.baskets,
                "from": day(counts.first_time),
                "to": day(counts.last_time),
            }
            rows.append(row)
    frame = pd.DataFrame(rows)
    if frame["baskets"].isna().all():
        del frame["baskets"]
    if (frame["to"] == "").all():
        frame = frame.drop(columns=["from", "to"])
    return frame
