"""Per-user scores as the database holds them: a third of their bytes, bit for bit the same.

Users score alike, row by row: whoever has no hit has 0 of everything. LZMA finds that by itself.
Rows of version 0.1, plain bytes, are read as they are.
"""

from __future__ import annotations

import json
import lzma
from functools import lru_cache
from typing import Any

import numpy as np

from ecv_core.records.errors import DamagedRun
from ecv_core.records.run import UserScores

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 2, "pb": 2}]
"""Of numbers of four bytes."""


_NO_JSON = (ValueError, RecursionError)


@lru_cache(maxsize=1)  # a fold is kept in the database and by its book, one after the other
def row_of(scores: UserScores) -> dict[str, object]:
    """Columns of the user_scores table."""
    steps = np.diff(np.ascontiguousarray(scores.users, "<i4"), prepend=np.int32(0))
    return {
        "metrics": json.dumps({"metrics": scores.metrics, "packed": "lzma"}),
        "users": lzma.compress(steps.tobytes(), lzma.FORMAT_RAW, filters=_FILTERS),
        "scores": lzma.compress(
            np.ascontiguousarray(scores.values, "<f4").tobytes(), lzma.FORMAT_RAW, filters=_FILTERS
        ),
    }


def record_of(row: Any) -> UserScores:  # noqa: ANN401  a row
    """What `row_of` or version 0.1 wrote.

    Raises: DamagedRun for a row that is damaged.
    """
    try:
        described = json.loads(row.metrics)
        if isinstance(described, dict):
            return _record(
                described["metrics"],
                np.cumsum(np.frombuffer(_unpacked(row.users), "<i4"), dtype="<i4"),
                _unpacked(row.scores),
            )
        return _record(described, np.frombuffer(row.users, "<i4"), row.scores)
    except (lzma.LZMAError, ArithmeticError, LookupError, TypeError, *_NO_JSON) as error:
        raise DamagedRun(
            f"the per-user scores of fold {row.fold} of run {row.run_id} in the database are "
            f"damaged ({type(error).__name__}); restore the database from a copy, or delete the "
            "run on the page Runs"
        ) from error


def _record(
    metrics: list[str], users: np.ndarray[Any, np.dtype[np.int32]], scores: bytes
) -> UserScores:
    values = np.frombuffer(scores, "<f4").reshape(len(users), len(metrics))
    return UserScores(users=users, metrics=tuple(metrics), values=values)


def _unpacked(data: bytes) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_FILTERS)
