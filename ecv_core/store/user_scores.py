"""Per-user scores as the database holds them: a sixth of their bytes, bit for bit the same.

Metrics that follow from a user's hits are written as the hits (`hit_patterns`), and of the novelty
metrics what the hits leave open (`novelty_scores`; rows of before do without). Users are taken in
the order of the columns before, for one column says much of the next: who has no hit has no novelty
either. A column of few values is written as their list and the numbers in it, one of many as it is,
byte planes apart; LZMA packs all of it.

Rows of before are plain bytes: they are read as they are until `packing.pack_some` packs them.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import StoreError
from ecv_core.records import UserScores
from ecv_core.store import hit_patterns, novelty_scores

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0}]
_FEW = 0.25
"""A column of so many values per user, or fewer, is written as a list and numbers."""

_Bits = NDArray[np.uint32]


def row_of(scores: UserScores) -> dict[str, object]:
    """Columns of the user_scores table."""
    bits = np.ascontiguousarray(scores.values, "<f4").view("<u4")
    n, places = hit_patterns.following(scores.metrics)
    found = places and hit_patterns.patterns_of(
        np.ascontiguousarray(bits[:, places]), [scores.metrics[at] for at in places], n
    )
    said = {"metrics": scores.metrics, "users": len(bits), "hits": n if found else 0}
    if found and (novel := novelty_scores.places_of(scores.metrics, n)):
        epc, efd = (bits[:, at] for at in novel)
        said["novelty"] = constants = novelty_scores.constants_of(found[0], n, epc, efd)
        bits = bits.copy()
        bits[:, novel] = np.transpose(novelty_scores.rest_of(found[0], n, epc, efd, constants))
    rest = [at for at in range(bits.shape[1]) if not found or at not in places]
    columns = [*(found or ()), *(bits[:, at] for at in rest)]
    users = np.diff(np.ascontiguousarray(scores.users, "<i4"), prepend=np.int32(0))
    return {
        "metrics": json.dumps(said, separators=(",", ":")),
        "users": _compressed(_planes(users, 4)),
        "scores": _compressed(_together(columns, len(bits))),
    }


def record_of(row: Any) -> UserScores:  # noqa: ANN401  a row
    """What `row_of` wrote, or a version before it.

    Raises: StoreError for a row that is damaged.
    """
    try:
        return _unpacked(row) if is_packed(row) else _plain(row)
    except (lzma.LZMAError, ArithmeticError, ValueError, LookupError, TypeError) as error:
        raise StoreError(
            f"the per-user scores of fold {row.fold} of run {row.run_id} in the database are "
            f"damaged ({type(error).__name__}); restore the database from a copy, or delete the "
            "run on the page Runs"
        ) from error


def is_packed(row: Any) -> bool:  # noqa: ANN401  a row
    """Whether `row_of` wrote it."""
    return "hits" in json.loads(row.metrics)


def _plain(row: Any) -> UserScores:  # noqa: ANN401  a row
    users = np.frombuffer(row.users, "<i4")
    metrics = tuple(json.loads(row.metrics))
    values = np.frombuffer(row.scores, "<f4").reshape(len(users), len(metrics))
    return UserScores(users=users, metrics=metrics, values=values)


def _unpacked(row: Any) -> UserScores:  # noqa: ANN401  a row
    said = json.loads(row.metrics)
    many, metrics, n = int(said["users"]), tuple(said["metrics"]), int(said["hits"])
    places = hit_patterns.following(metrics)[1] if n else []
    rest = [at for at in range(len(metrics)) if at not in places]
    columns = _apart(_decompressed(row.scores), 2 * bool(n) + len(rest), many)
    bits = np.empty((many, len(metrics)), "<u4")
    if n:
        hits, held_out, *columns = columns
        named = [metrics[at] for at in places]
        bits[:, places] = hit_patterns.scores_of(hits, held_out, named, n)
    for at, column in zip(rest, columns, strict=True):
        bits[:, at] = column
    if n and (constants := said.get("novelty")):
        epc, efd = novel = novelty_scores.places_of(metrics, n)
        bits[:, novel] = np.transpose(
            novelty_scores.scores_of(hits, n, bits[:, epc], bits[:, efd], constants)
        )
    users = np.cumsum(_from_planes(_decompressed(row.users), many, 4), dtype="<u4")
    return UserScores(users=users.view("<i4"), metrics=metrics, values=bits.view("<f4"))


def _together(columns: Sequence[_Bits], many: int) -> bytes:
    groups, parts = np.zeros(many, np.int64), []
    for column in columns:
        parts.append(_column(column[np.argsort(groups, kind="stable")]))
        groups = _finer(groups, column)
    return b"".join(parts)


def _apart(data: bytes, columns: int, many: int) -> list[_Bits]:
    """What `_together` wrote."""
    groups, place, found = np.zeros(many, np.int64), 0, list[_Bits]()
    for _ in range(columns):
        groups = _finer(groups, found[-1]) if found else groups
        column = np.empty(many, "<u4")
        column[np.argsort(groups, kind="stable")], place = _read_column(data, place, many)
        found.append(column)
    return found


def _finer(groups: NDArray[np.int64], column: _Bits) -> NDArray[np.int64]:
    """Users who were alike so far, told apart by one more column."""
    both = groups << 32 | column.astype(np.int64)
    finer: NDArray[np.int64] = np.unique(both, return_inverse=True)[1]
    return finer


def _column(column: _Bits) -> bytes:
    """The length of its list, 0 for none; the steps from value to value of it; the numbers."""
    values, numbers = np.unique(column, return_inverse=True)
    if len(values) > _FEW * len(column):
        return bytes(4) + _planes(column, 4)
    steps = np.diff(values, prepend=np.uint32(0))
    width = _width(len(values))
    return len(values).to_bytes(4, "little") + _planes(steps, 4) + _planes(numbers, width)


def _read_column(data: bytes, place: int, many: int) -> tuple[_Bits, int]:
    """What `_column` wrote, and where the next begins."""
    listed, place = int.from_bytes(data[place : place + 4], "little"), place + 4
    steps, place = _from_planes(data[place:], listed, 4), place + 4 * listed
    width = _width(listed) if listed else 4
    numbers = _from_planes(data[place:], many, width)
    column = np.cumsum(steps, dtype="<u4")[numbers] if listed else numbers
    return column, place + width * many


def _width(many: int) -> int:
    """Bytes that tell so many values apart."""
    return 1 if many <= 1 << 8 else 2 if many <= 1 << 16 else 4


def _planes(values: NDArray[Any], width: int) -> bytes:
    """All first bytes, then all second ones, and so on."""
    return values.astype(f"<u{width}").view("u1").reshape(-1, width).T.tobytes()


def _from_planes(data: bytes, many: int, width: int) -> _Bits:
    planes = np.frombuffer(data, "u1", count=width * many).reshape(width, many)
    return np.ascontiguousarray(planes.T).view(f"<u{width}").reshape(many).astype("<u4")


def _compressed(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_RAW, filters=_FILTERS)


def _decompressed(data: bytes) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_FILTERS)
