"""A fold -> what each interaction is for, when those of each part were, and where time is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.records.frames import with_columns
from ecv_core.records.interactions import Folds, Interactions, Part
from ecv_core.records.parameters import ParamValue
from ecv_core.splits import Past, Strategy, split, strategy


class InteractionRole(IntEnum):
    """What an interaction is for in one fold; `word` is what pages and files call it."""

    TRAIN = 0
    FOLD_IN = 1
    """Learnt from like training: the known part of the profile of a user who is tested."""
    VALIDATION = 2
    TEST = 3
    UNUSED = 4
    UNKNOWN = 5

    @property
    def word(self) -> str:
        """In figures and tables."""
        return _WORDS[self]


_WORDS = {
    InteractionRole.TRAIN: "training",
    InteractionRole.FOLD_IN: "fold-in",
    InteractionRole.VALIDATION: "validation",
    InteractionRole.TEST: "test",
    InteractionRole.UNUSED: "unused",
    InteractionRole.UNKNOWN: "unknown",
}
_OF_PART = np.array([InteractionRole[part.name] for part in Part], dtype=np.int8)


def roles(
    strategy: Strategy, interactions: Interactions, folds: Folds, index: int
) -> NDArray[np.int8]:
    """The Role of each interaction in fold `index`; shape (interactions,).

    Only strategies with a parameter 'fold_in' have a fold-in part.

    Raises: FoldsError if there is no such fold.
    """
    parts = folds.parts(index)
    found: NDArray[np.int8] = _OF_PART[parts]
    if any(parameter.name == "fold_in" for parameter in strategy.parameters):
        held = (parts == Part.TEST) | (parts == Part.VALIDATION)
        tested = np.bincount(interactions.users[held], minlength=interactions.n_users) > 0
        found[(found == InteractionRole.TRAIN) & tested[interactions.users]] = (
            InteractionRole.FOLD_IN
        )
    return found


TIME_BINS = 48

COLUMNS = {
    "part": "what the interactions are for",
    "low": "where the bin begins, in Unix seconds",
    "high": "where it ends",
    "count": "interactions in it",
}
"""The columns of a spread."""


@with_columns(COLUMNS)
def spread(interactions: Interactions, roles: NDArray[np.int8]) -> pd.DataFrame:
    """How many interactions of each part are when.

    Args:
        interactions: what was split; with timestamps.
        roles: the Role of each; shape (interactions,).
    Returns: one row per part that occurs and bin, with COLUMNS.
    """
    times = np.asarray(interactions.timestamps)
    first, last = int(times.min()), int(times.max())
    bins = min(TIME_BINS, last - first + 1)
    edges = first + np.arange(bins + 1) * ((last - first + 1) / bins)
    at = np.minimum((times - first) * bins // (last - first + 1), bins - 1)
    joint = np.bincount(roles.astype(np.int64) * bins + at, minlength=len(InteractionRole) * bins)
    counts = joint.reshape(len(InteractionRole), bins)
    parts = [
        pd.DataFrame(
            {"part": role.word, "low": edges[:-1], "high": edges[1:], "count": counts[role]}
        )
        for role in InteractionRole
        if counts[role].any()
    ]
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The points in time of one fold, in Unix seconds."""

    validation_from: int | None
    """None without a validation part."""
    test_from: int
    """The first moment that is held out: training lies before it."""
    test_to: int
    """The last moment that is held out."""


def period(
    interactions: Interactions,
    split_id: str,
    k: int,
    seed: int,
    params: Mapping[str, ParamValue],
    index: int,
) -> Period | None:
    """When fold `index` begins and ends; None for strategies without a common point in time.

    What is dropped as unknown counts too: it moves no point in time.

    Raises: FoldsError if the data cannot be split so.
    """
    if strategy(split_id).past is not Past.EVERYBODY or interactions.timestamps is None:
        return None
    parts = split(interactions, split_id, k, seed, {**params, "unknown": "keep"}).parts(index)
    test = interactions.timestamps[parts == Part.TEST]
    validation = interactions.timestamps[parts == Part.VALIDATION]
    return Period(
        validation_from=int(validation.min()) if len(validation) else None,
        test_from=int(test.min()),
        test_to=int(test.max()),
    )
