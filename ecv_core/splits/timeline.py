"""Splits at points in time that everybody shares: one, or one window after the other."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits.part_counts import day, known_to_training
from ecv_core.splits.strategies import Draw, Settings

KEEP, DROP = "keep", "drop"
GROWING, SLIDING = "growing", "sliding"


def temporal_global(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Everything before one point in time is learnt from, everything from then on held out."""
    times = np.asarray(interactions.timestamps)
    ordered = np.sort(times)
    text = str(settings["time_point"]).strip()
    if text:
        cut = _time_point(text, ordered, interactions.dataset)
    else:
        cut = int(ordered[_index(len(ordered), 1 - float(settings["test"]))])
        if cut == ordered[0]:
            raise FoldsError(_all_at_once(interactions, "test", settings["test"]))
    validation = _validation_from(ordered, int(ordered[0]), cut, interactions, settings)

    def draw(index: int) -> NDArray[np.int8]:
        parts = np.full(len(times), Part.TRAIN, dtype=np.int8)
        parts[times >= validation] = Part.VALIDATION
        parts[times >= cut] = Part.TEST
        return _known_only(parts, interactions, settings)

    return draw


def temporal_windows(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k windows with about equally many interactions; each is predicted from what is before it."""
    times = np.asarray(interactions.timestamps)
    ordered = np.sort(times)
    count, first = len(ordered), float(settings["first"])
    at = [_index(count, first + (1 - first) * window / k) for window in range(k)]
    cuts = [int(ordered[place]) for place in at]
    sliding = settings["training"] == SLIDING
    begins = [int(ordered[place - at[0]]) if sliding else int(ordered[0]) for place in at]
    if np.any(np.diff(cuts) <= 0) or any(a >= b for a, b in zip(begins, cuts, strict=True)):
        raise FoldsError(
            f"{interactions.dataset} cannot be cut into {k} windows after its first "
            f"{first:.0%}: too many of its {count:,} interactions have the same time; "
            "choose a smaller k, or another share 'first'"
        )
    ends = [*cuts[1:], int(ordered[-1]) + 1]
    validations = [
        _validation_from(ordered, begin, cut, interactions, settings)
        for begin, cut in zip(begins, cuts, strict=True)
    ]

    def draw(index: int) -> NDArray[np.int8]:
        parts = np.full(len(times), Part.TRAIN, dtype=np.int8)
        parts[times >= validations[index]] = Part.VALIDATION
        parts[times >= cuts[index]] = Part.TEST
        parts[(times < begins[index]) | (times >= ends[index])] = Part.UNUSED
        return _known_only(parts, interactions, settings)

    return draw


def _index(count: int, share: float) -> int:
    """The place, in `count` that are sorted, from which on all but `share` of them lie."""
    return min(max(round(count * share), 0), count - 1)


def _validation_from(
    ordered: NDArray[np.int64], begin: int, cut: int, interactions: Interactions, settings: Settings
) -> int:
    """From when on training is for validation instead: the last share of it; `cut` for none."""
    share = float(settings["validation"])
    if not share:
        return cut
    low, high = np.searchsorted(ordered, [begin, cut])
    found = int(ordered[low + _index(int(high - low), 1 - share)])
    if found <= begin:
        raise FoldsError(_all_at_once(interactions, "validation", share))
    return found


def _known_only(
    parts: NDArray[np.int8], interactions: Interactions, settings: Settings
) -> NDArray[np.int8]:
    """The parts, without what is held out of users or items that training lacks, if so chosen."""
    if settings["unknown"] == KEEP:
        return parts
    users, items = known_to_training(interactions, parts)
    unknown = ~(users[interactions.users] & items[interactions.items])
    parts[unknown & ((parts == Part.TEST) | (parts == Part.VALIDATION))] = Part.UNKNOWN
    return parts


def _time_point(text: str, ordered: NDArray[np.int64], dataset: str) -> int:
    """The time in Unix seconds. Raises: FoldsError if it is none, or outside the data."""
    try:
        moment = float(text) if _is_number(text) else _seconds(text)
    except (ValueError, OverflowError):
        raise FoldsError(
            f"the time point '{text}' is no date; give it as 2003-01-31, as 2003-01-31T12:00 (UTC) "
            "or in Unix seconds"
        ) from None
    first, last = int(ordered[0]), int(ordered[-1])
    if not first < moment <= last:
        raise FoldsError(
            f"the time point {text} is outside {dataset}, which goes from {day(first)} to "
            f"{day(last)}; choose one after the first and up to the last"
        )
    return int(np.ceil(moment))


def _is_number(text: str) -> bool:
    try:
        return len(text) != 4 and bool(np.isfinite(float(text)))  # four digits are a year
    except ValueError:
        return False


def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(f"{text}-01-01" if len(text) == 4 else text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _all_at_once(interactions: Interactions, name: str, share: object) -> str:
    return (
        f"{interactions.dataset} has so many interactions at its first moment that no point in "
        f"time leaves the last {share} of them for '{name}' and something before it; "
        f"choose a smaller '{name}', or the split 'temporal-user'"
    )
