"""Folds -> what is in each part, as papers should report it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from ecv_core.records.interactions import Part
from ecv_core.splits import FoldParts
from ecv_core.splits.parts import day

_WORDS = {
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
    for part, word in _WORDS.items():
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
