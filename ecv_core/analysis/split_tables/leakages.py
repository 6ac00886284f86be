"""Every strategy that a dataset can serve -> how much of its training lies after what is tested."""

from __future__ import annotations

import pandas as pd

from ecv_core.records.errors import FoldsError
from ecv_core.records.frames import with_columns
from ecv_core.records.interactions import Interactions
from ecv_core.splits import SPLITS, Strategy, check_need, leakage, split

COLUMNS = {
    "split": "id of the strategy",
    "helps": "'anyone', 'item' or 'own': whose training interactions count as helping",
    "percent": "pairs of a training and a test interaction in which training lies later",
}
"""The columns of the frame."""
HELPS = ("anyone", "item", "own")


def why_not(strategy: Strategy, interactions: Interactions) -> str | None:
    """What the dataset lacks for the strategy and what would work; None where it lacks nothing."""
    try:
        check_need(strategy, interactions, SPLITS.values())
    except FoldsError as error:
        return str(error)
    return None


@with_columns(COLUMNS)
def leakages(interactions: Interactions, seed: int) -> pd.DataFrame:
    """The leakage of fold 0 under each strategy with its default parameters and k.

    Takes some seconds for a million interactions.

    Returns: one row per strategy that can split the data and notion of helping that can be known,
        in the order of the registry, with COLUMNS.
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
    return pd.DataFrame(rows, columns=list(COLUMNS))
