"""Folds -> what is in each part, as papers should report it, and how much of training leaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from ecv_core.records.errors import FoldsError
from ecv_core.records.frames import with_columns
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits import SPLITS, FoldParts, leakage, split
from ecv_core.splits.part_counts import day

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


LEAKAGES_COLUMNS = {
    "split": "id of the strategy",
    "helps": "'anyone', 'item' or 'own': whose training interactions count as helping",
    "percent": "pairs of a training and a test interaction in which training lies later",
}
"""The columns of the frame."""
HELPS = ("anyone", "item", "own")


@with_columns(LEAKAGES_COLUMNS)
def leakages(interactions: Interactions, seed: int) -> pd.DataFrame:
    """The leakage of fold 0 under each strategy with its default parameters and k.

    Takes some seconds for a million interactions.

    Returns: one row per strategy that can split the data and notion of helping that can be known,
        in the order of the registry, with LEAKAGES_COLUMNS.
    """
    rows = []
    for known in SPLITS.values():
        try:
            folds = split(interactions, known.id, known.default_k, seed)
            found = leakage(interactions, folds, 0)
        except FoldsError:
            continue  # the page says why beside the strategy
        if found is None:
            continue
        for helps, share in zip(HELPS, (found.anyone, found.item, found.own), strict=True):
            if share is not None:
                rows.append((known.id, helps, 100 * share))
    return pd.DataFrame(rows, columns=list(LEAKAGES_COLUMNS))
