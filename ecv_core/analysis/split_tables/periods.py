"""Where a split at points in time that everybody shares cuts the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecv_core.records.interactions import Interactions, Part
from ecv_core.records.parameters import ParamValue
from ecv_core.splits import Past, split, strategy


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
