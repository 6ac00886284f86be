"""Folds in the early part of every user's history, the late part put aside for what is chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.records import Interactions, Part
from ecv_core.splits.histories import share_of, timed_histories
from ecv_core.splits.k_fold import by_users
from ecv_core.splits.strategies import Draw, Settings

ID = "nested-k-fold"
CHOOSE, TEST = "choose", "test"


def nested_k_fold(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k folds of what comes first in each history; or, once chosen, its end held out (k = 1).

    Source: Anelli et al. (2019), section 2: temporal hold-out of 20 % of each user's interactions,
    10 folds of the rest, and relevant is what is rated above a threshold.
    """
    of = timed_histories(interactions, seed)
    late = of.from_end < share_of(of.sizes, float(settings["aside"]))[of.users]
    counts = _relevant(interactions, float(settings["above"]))
    if settings["part"] == TEST:
        if k != 1:
            raise FoldsError(
                f"the part put aside is tested once, so k must be 1, but is {k}; "
                f"with part={CHOOSE} the early part has k folds"
            )
        parts = _parts(late, counts, ~late)
        return lambda index: parts.copy()
    rows = np.flatnonzero(~late)
    fold_of = np.full(len(interactions), -1, dtype=np.int16)
    fold_of[rows] = by_users(interactions.take(rows), k, seed, settings)

    def draw(index: int) -> NDArray[np.int8]:
        held = fold_of == index
        return _parts(held, counts, ~late & ~held)

    return draw


def _parts(
    held: NDArray[np.bool_], counts: NDArray[np.bool_], learnt: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """What is held out but does not count is no part; it may be recommended, and is no hit."""
    parts = np.full(len(held), Part.UNUSED, dtype=np.int8)
    parts[learnt] = Part.TRAIN
    parts[held & counts] = Part.TEST
    return parts


def _relevant(interactions: Interactions, above: float) -> NDArray[np.bool_]:
    if not above:
        return np.ones(len(interactions), dtype=np.bool_)
    if interactions.ratings is None:
        raise FoldsError(
            f"{interactions.dataset} has no ratings, so none is above {above:g}; leave the "
            "threshold out: then every interaction counts"
        )
    found: NDArray[np.bool_] = interactions.ratings > above
    if not found.any():
        raise FoldsError(
            f"no rating of {interactions.dataset} is above {above:g} (the highest is "
            f"{interactions.ratings.max():g}); choose a lower threshold"
        )
    return found
