"""Bytes of a fold file -> columns of text, and their (user, item) pairs as a dataset has them."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.disarming import armed
from ecv_core.errors import FoldsError
from ecv_core.files import read_at_most
from ecv_core.limits import MAX_FOLDS_BYTES, MEGABYTE
from ecv_core.records import Interactions
from ecv_core.records.codec import shown
from ecv_core.splits.exchange.storage import GZIP_MAGIC, ZIP_MAGIC, read_bytes

if TYPE_CHECKING:
    import pyarrow as pa


class Pairs:
    """(user, item) pairs as one number each, with the order that sorts them."""

    def __init__(
        self, users: NDArray[np.int32], items: NDArray[np.int32], of: Interactions
    ) -> None:
        keys = users.astype(np.int64) * of.n_items + items
        self.order = (
            np.arange(len(keys)) if np.all(keys[1:] >= keys[:-1]) else np.argsort(keys)
        )  # files and prepared data are usually sorted already
        self.sorted = keys[self.order]


def pairs_of(table: pa.Table, name: str, interactions: Interactions) -> tuple[Pairs, Pairs]:
    """The pairs that a file has in its columns user_id and item_id, and those of the dataset.

    Raises: FoldsError if it names a user or an item that the dataset does not have.
    """
    users = _codes(table["user_id"], interactions.user_ids, "user", name, interactions.dataset)
    items = _codes(table["item_id"], interactions.item_ids, "item", name, interactions.dataset)
    given = Pairs(users, items, interactions)
    return given, Pairs(interactions.users, interactions.items, interactions)


def mismatch(given: Pairs, wanted: Pairs, interactions: Interactions) -> str:
    """Why the file's pairs are not those of the interactions, in words."""

    def example(key: np.int64) -> str:
        user, item = divmod(int(key), interactions.n_items)
        return f"user {interactions.user_ids[user]}, item {interactions.item_ids[item]}"

    dataset = interactions.dataset
    strange = given.sorted[~np.isin(given.sorted, wanted.sorted)]
    if len(strange):
        return (
            f"has {len(strange)} rows that are no interaction of {dataset} after preparation, e.g. "
            f"{example(strange[0])}; use folds of the prepared dataset"
        )
    repeats = given.sorted[1:][given.sorted[1:] == given.sorted[:-1]]
    if len(repeats):
        return (
            f"repeats {len(repeats)} interactions, e.g. {example(repeats[0])}; "
            "give each exactly one fold"
        )
    missing = wanted.sorted[~np.isin(wanted.sorted, given.sorted)]
    return (
        f"misses {len(missing)} of the {len(wanted.sorted)} interactions of {dataset}, e.g. "
        f"{example(missing[0])}; give each exactly one fold"
    )


def _codes(
    column: pa.ChunkedArray, ids: NDArray[np.str_], kind: str, name: str, dataset: str
) -> NDArray[np.int32]:
    """The code of each id; shape (rows,)."""
    import pyarrow as pa
    from pyarrow import compute

    known = pa.array(ids)
    codes = compute.index_in(armed(column), value_set=known)
    if codes.null_count:  # another program's file has them as they are
        codes = compute.coalesce(codes, compute.index_in(column, value_set=known))
    if codes.null_count:
        unknown = column.filter(codes.is_null())
        raise FoldsError(
            f"{name} names {len(unknown.unique())} {kind}s that {dataset} does not have after "
            f"preparation, e.g. '{shown(unknown[0])}' ({len(unknown)} rows); "
            "use folds of the prepared dataset"
        )
    return np.asarray(codes, dtype=np.int32)


def parse(content: bytes, name: str, columns: tuple[str, ...], delimiter: str = ",") -> pa.Table:
    """Columns of delimited text, as text.

    Args:
        content: the text in UTF-8; further columns are ignored.
        name: what to call it in an error.
        columns: the names wanted, in this order.
        delimiter: between columns.
    Raises: FoldsError.
    """
    import pyarrow as pa
    from pyarrow import csv

    first_line = repr(delimiter.join(columns)).strip("'")
    try:
        if not content.strip():
            raise FoldsError(f"{name} is empty; its first line must be {first_line}")
        if b"\0" in content[:10_000]:
            raise FoldsError(f"{name} is not a CSV file: it has bytes that no text has")
        header = content[:10_000].decode("utf-8-sig", errors="replace").splitlines()[:1]
        found = (
            [column.strip().strip('"') for column in header[0].split(delimiter)] if header else []
        )
        missing = [column for column in columns if column not in found]
        if missing:
            raise FoldsError(
                f"{name} has no column {' and no column '.join(missing)}; "
                f"its first line must be {first_line}"
            )
        return csv.read_csv(
            pa.BufferReader(content),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=list(columns),
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise FoldsError(
            f"{name} is not a readable CSV ({str(error).splitlines()[0]}); "
            f"give one line {first_line} and then one line per interaction"
        ) from error


def content_of(source: Path | bytes, name: str) -> bytes:
    """The file's text, unpacked."""
    content = source if isinstance(source, bytes) else read_bytes(source, name)
    if content.startswith(GZIP_MAGIC):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = read_at_most(file.read, MAX_FOLDS_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            raise FoldsError(
                f"{name} is a damaged or truncated gzip file ({error}); get it again"
            ) from error
        if content.startswith((GZIP_MAGIC, ZIP_MAGIC)):
            raise FoldsError(f"{name} is packed twice; unpack it once and give that file")
    if len(content) > MAX_FOLDS_BYTES:
        most = MAX_FOLDS_BYTES // MEGABYTE
        raise FoldsError(f"{name} is larger than {most} MiB unpacked; is it a fold file?")
    return content
