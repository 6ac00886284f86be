"""Dataset id -> raw Interactions, one per (user, item), from whichever file is on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import ecv_core.limits as limits
from ecv_core.datasets import synthetic
from ecv_core.datasets._catalogue import OWN_DOMAIN, DatasetEntry, SourceFile, entry
from ecv_core.datasets._content import Unreadable, read_content
from ecv_core.datasets._places import find, how_to_supply, locate
from ecv_core.errors import DatasetError
from ecv_core.records import Interactions

if TYPE_CHECKING:
    import pyarrow as pa

_CORRECT_IT = (
    "correct it: a first line user_id,item_id and, if there are any, rating, timestamp (Unix "
    "seconds) and basket (a number), and a value in every row"
)


def load(dataset_id: str) -> Interactions:
    """Read a dataset as it is on disk, not yet prepared.

    Rows keep the file's order and codes the order of first appearance. Of several rows with the
    same user and item one is kept: the earliest by timestamp or basket, or without them the first.

    Raises: UnknownName; DatasetError if there is no file, or it is damaged, fails its checksum,
        lacks columns or holds missing or non-numeric values.
    """
    known = entry(dataset_id)
    if known.generated:
        return synthetic.generate()
    path, file = find(known)
    try:
        return read(known, path, file)
    except Unreadable as error:
        raise _refused(known, path, error) from error


def check_own(known: DatasetEntry) -> None:
    """Look at the first line of a user's own file: whether it has the columns that are needed.

    Nothing is done for a dataset of the catalogue, or without a file. Raises: DatasetError.
    """
    if known.domain != OWN_DOMAIN or (path := locate(known)) is None:
        return
    from ecv_core.datasets._tables import check_columns

    try:
        check_columns(path, find(known)[1])
    except Unreadable as error:
        raise _refused(known, path, error) from error


def _refused(known: DatasetEntry, path: Path, error: Unreadable) -> DatasetError:
    way_out = f"remove it and {how_to_supply(known)}" if known.url else _CORRECT_IT
    return DatasetError(f"{path} cannot be used as {known.id}: {error}; {way_out}")


def read(known: DatasetEntry, path: Path, file: SourceFile) -> Interactions:
    """Read one file as `file` describes it. Raises: Unreadable."""
    from ecv_core.datasets._tables import read_columns  # loads Arrow, which a cached start spares

    columns = read_columns(path, file)
    users, user_ids = _encode(columns["user_id"])
    items, item_ids = _encode(columns["item_id"])
    numbers = {
        role: column.to_numpy().astype(np.float64)
        for role, column in columns.items()
        if role not in ("user_id", "item_id")
    }
    ratings, timestamps = numbers.get("rating"), numbers.get("timestamp")
    baskets = numbers.get("basket")
    if "year" in numbers:
        timestamps = _seconds(numbers["day"], numbers["month"], numbers["year"])
    keep = one_per_pair(users, items, len(item_ids), baskets if timestamps is None else timestamps)
    return Interactions(
        dataset=known.id,
        users=users[keep],
        items=items[keep],
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=None if ratings is None else ratings[keep].astype(np.float32),
        timestamps=None if timestamps is None else timestamps[keep].astype(np.int64),
        baskets=None if baskets is None else numbered(baskets[keep]),
        sequence=_places(users[keep]) if _in_order(known, path, file) else None,
    )


def _encode(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32, copy=False), ids_of(encoded.dictionary)


def ids_of(texts: pa.StringArray) -> NDArray[np.str_]:
    """Ids as numpy has them, all at the width of the longest. Raises: Unreadable."""
    import pyarrow.compute as pc

    longest = pc.max(pc.utf8_length(texts)).as_py() or 1
    if longest > limits.LONGEST_ID:
        raise Unreadable(f"it has an id longer than {limits.LONGEST_ID} characters")
    if limits.id_bytes(len(texts), longest) > limits.MAX_ID_BYTES:
        raise Unreadable(
            f"it has {len(texts):,} ids with up to {longest} characters, which together take more "
            f"than {limits.MAX_ID_BYTES >> 20:,} MB of memory; shorten the longest"
        )
    return np.array(texts.to_pylist(), dtype=np.str_)


def _in_order(known: DatasetEntry, path: Path, file: SourceFile) -> bool:
    """Whether the rows are known to be in the order of time, user by user."""
    if known.in_order_sha256 is None:
        return False
    return hashlib.sha256(read_content(path, file)).hexdigest() == known.in_order_sha256


def numbered(baskets: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int32]:
    """The baskets in the same order, as numbers from 0 that fit 32 bits."""
    return np.unique(baskets, return_inverse=True)[1].astype(np.int32)


def _places(users: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many rows of the same user come before each row; shape (rows,)."""
    order = np.argsort(users, kind="stable")
    sizes = np.bincount(users)
    places = np.empty(len(users), dtype=np.int32)
    places[order] = np.arange(len(users)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def _seconds(
    day: NDArray[np.float64], month: NDArray[np.float64], year: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Unix seconds at the start of each day, UTC."""
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    seconds: NDArray[np.float64] = days.astype("datetime64[s]").astype(np.float64)
    return seconds


def one_per_pair(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    n_items: int,
    times: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int32] | None,
) -> NDArray[np.intp]:
    """Indices of the rows to keep, ascending; shape (distinct pairs,)."""
    few = (int(users.max(initial=0)) + 1) * n_items < 1 << 31  # then half the room will do
    pairs = (users if few else users.astype(np.int64)) * n_items + items
    ascending = np.sort(pairs)
    if (ascending[1:] != ascending[:-1]).all():  # mostly so, and much faster to find out
        return np.arange(len(pairs))
    del ascending
    order = np.argsort(pairs, kind="stable")  # the file's order within a pair
    ascending = pairs[order]
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    if times is None:
        return np.sort(order[starts])
    later = times[order]
    sizes = np.diff(starts, append=len(pairs))
    earliest = later == np.repeat(np.minimum.reduceat(later, starts), sizes)
    places = np.where(earliest, np.arange(len(pairs)), len(pairs))
    return np.sort(order[np.minimum.reduceat(places, starts)])
