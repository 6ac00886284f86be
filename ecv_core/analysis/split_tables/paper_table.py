"""Table 2 of the paper on splits, for Ta-Feng, and a split of this project's copy beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ecv_core.records import Interactions, Part
from ecv_core.splits import FoldParts

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
