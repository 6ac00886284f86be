"""Folds -> the table that papers should report: users, items, interactions in each part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits import FoldParts
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


# Table 2 of the paper on splits, for Ta-Feng, and a split of this project's copy beside it.


TA_FENG = "ta-feng"
SOURCE = "Meng, McCreadie, Macdonald, Ounis (2020), Tafeng."

COLUMNS = ("split", "users", "items", "baskets", "training", "validation", "test")
_ROWS = (
    ("paper: leave one item", 9_238, 7_857, None, 444_207, 9_238, 9_238),
    ("paper: leave one basket", 9_238, 7_857, 58_654, 346_378, 58_076, 58_229),
    ("paper: global temporal", 1_997, 2_017, 20_190, 83_374, 26_408, 18_107),
)


def beside_paper(interactions: Interactions, split_id: str, parts: FoldParts) -> pd.DataFrame:
    """The paper's three rows, and the chosen split as a fourth.

    Args:
        interactions: the prepared Ta-Feng.
        split_id: how it was split.
        parts: what one fold holds.
    Returns: columns COLUMNS; users, items and baskets are those of the whole dataset.
    """
    counts = parts.counts
    ours = (
        f"here: {split_id}",
        interactions.n_users,
        interactions.n_items,
        _baskets(interactions),
        *(counts[part].interactions for part in (Part.TRAIN, Part.VALIDATION, Part.TEST)),
    )
    frame = pd.DataFrame([*_ROWS, ours], columns=list(COLUMNS))
    return frame.astype({"baskets": "Int64"})


def _baskets(interactions: Interactions) -> int | None:
    if interactions.baskets is None:
        return None
    pairs = interactions.users.astype(np.int64) << 32 | interactions.baskets.astype(np.int64)
    return len(np.unique(pairs))
