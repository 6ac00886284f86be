"""How many runs there are in which state, and what their folds took, for those who keep watch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from ecv_core.store.schema import folds, runs
from ecv_core.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Of a database at one moment."""

    runs: Mapping[str, int]
    """State -> how many."""
    folds: int
    """That were finished, those deleted since this program began among them."""
    seconds: float
    """That these folds took together."""


class Totals:
    """Looks again and again, and reads each fold once. Safe to use from several threads."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._read: tuple[int, int, float] = (0, 0, 0.0)
        """The last fold, how many, and their seconds."""

    def of(self, store: Store) -> Total:
        """The totals now; a fold that cannot be read counts with no seconds. Raises: StoreError."""
        last, count, seconds = self._read
        by_state = sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state)
        newer = sa.select(folds.c.sequence, folds.c.result).where(folds.c.sequence > last)
        with store.transaction("read") as connection:
            states = {str(state): int(number) for state, number in connection.execute(by_state)}
            for sequence, result in connection.execute(newer.order_by(folds.c.sequence)):
                last, count, seconds = sequence, count + 1, seconds + _seconds(result)
        self._read = last, count, seconds
        return Total(runs=states, folds=count, seconds=seconds)


def _seconds(result: str) -> float:
    try:
        fold = json.loads(result)
        return float((fold.get("shared") or {}).get("alone_seconds", fold["total_seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0.0
