"""Released folds travel: a CSV of `user_id,item_id,fold` into folds, and back."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.records import Folds, Interactions
from ecv_core.splits.storage import GZIP_MAGIC, read_bytes, write_bytes
from ecv_core.splits.strategies import MAX_K

if TYPE_CHECKING:
    import pyarrow as pa

IMPORTED = "imported"
"""The strategy of folds that were read from a file."""
COLUMNS = ("user_id", "item_id", "fold")
MAX_BYTES = 2**30
"""A larger fold file, unpacked, is refused: it is a mistake or a decompression bomb."""


def read_folds(source: Path | bytes, interactions: Interactions) -> Folds:
    """Folds from a file that gives every interaction exactly one fold, numbered from 0.

    Args:
        source: a CSV or gzipped CSV, as a path or as its content; rows in any order, further
            columns are ignored.
        interactions: the prepared dataset that the folds are of.
    Returns: strategy 'imported', seed None, k = highest fold + 1.
    Raises: FoldsError if the file cannot be read, lacks a column, misses or repeats an interaction,
        names one that is not there, or has an odd fold number, an empty fold, or only one fold.
    """
    name = f"the fold file {source.name}" if isinstance(source, Path) else "the fold file"
    table = _parse(_content(source, name), name)
    fold = _fold_numbers(table["fold"], name)
    users = _codes(table["user_id"], interactions.user_ids, "user", name, interactions.dataset)
    items = _codes(table["item_id"], interactions.item_ids, "item", name, interactions.dataset)

    given = _Pairs(users, items, interactions)
    wanted = _Pairs(interactions.users, interactions.items, interactions)
    if not np.array_equal(given.sorted, wanted.sorted):
        raise FoldsError(f"{name} {_mismatch(given, wanted, interactions)}")
    assignment = np.empty(len(interactions), dtype=np.int16)
    assignment[wanted.order] = fold[given.order]

    sizes = np.bincount(assignment)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FoldsError(
            f"{name} has folds up to {len(sizes) - 1}, but {len(empty)} of them hold nothing, e.g. "
            f"fold {empty[0]}; number the folds from 0 without gaps"
        )
    if len(sizes) < 2:
        raise FoldsError(f"{name} has only fold 0; at least 2 folds are needed")
    return Folds(strategy=IMPORTED, k=len(sizes), seed=None, assignment=assignment)


def folds_csv(interactions: Interactions, folds: Folds) -> bytes:
    """The folds as CSV text in UTF-8, one row per interaction in the order of the interactions."""
    import pyarrow as pa
    from pyarrow import csv

    if len(folds.assignment) != len(interactions):
        raise FoldsError(
            f"these folds assign {len(folds.assignment)} interactions, but {interactions.dataset} "
            f"has {len(interactions)}; make the folds from this dataset again"
        )
    table = pa.table(
        {
            "user_id": pa.array(interactions.user_ids).take(pa.array(interactions.users)),
            "item_id": pa.array(interactions.item_ids).take(pa.array(interactions.items)),
            "fold": pa.array(folds.assignment),
        }
    )
    text = b""
    for quoting in ("none", "needed"):  # Arrow's "needed" quotes all text, so try without first
        out = io.BytesIO()
        try:
            csv.write_csv(table, out, csv.WriteOptions(include_header=False, quoting_style=quoting))
        except pa.ArrowInvalid:
            continue
        text = out.getvalue()
        break
    return ",".join(COLUMNS).encode() + b"\n" + text


def write_folds(path: Path, interactions: Interactions, folds: Folds) -> None:
    """Write the folds as CSV, gzipped where the name ends in .gz; never leaves half a file.

    The same folds give the same bytes. Raises: FoldsError if the file cannot be written.
    """
    content = folds_csv(interactions, folds)
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write_bytes(path, content)


class _Pairs:
    """(user, item) pairs as one number each, with the order that sorts them."""

    def __init__(
        self, users: NDArray[np.int32], items: NDArray[np.int32], of: Interactions
    ) -> None:
        keys = users.astype(np.int64) * of.n_items + items
        self.order = (
            np.arange(len(keys)) if np.all(keys[1:] >= keys[:-1]) else np.argsort(keys)
        )  # files and prepared data are usually sorted already
        self.sorted = keys[self.order]


def _mismatch(given: _Pairs, wanted: _Pairs, interactions: Interactions) -> str:
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

    codes = compute.index_in(column, value_set=pa.array(ids))
    if codes.null_count:
        unknown = column.filter(codes.is_null())
        raise FoldsError(
            f"{name} names {len(unknown.unique())} {kind}s that {dataset} does not have after "
            f"preparation, e.g. '{unknown[0].as_py()}' ({len(unknown)} rows); "
            "use folds of the prepared dataset"
        )
    return np.asarray(codes, dtype=np.int32)


def _fold_numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.int16]:
    """The fold of each row; shape (rows,)."""
    import pyarrow as pa
    from pyarrow import compute

    whole = compute.match_substring_regex(column, r"^\d{1,9}$")
    bad = column.filter(compute.invert(whole))
    if not len(bad):
        numbers = np.asarray(column.cast(pa.int32()))
        bad = column.filter(pa.array(numbers >= MAX_K))
    if len(bad):
        raise FoldsError(
            f"{name} has {len(bad)} rows whose fold is not a whole number below {MAX_K}, e.g. "
            f"'{bad[0].as_py()}'; number the folds 0, 1, 2, ..."
        )
    return numbers.astype(np.int16)


def _parse(content: bytes, name: str) -> pa.Table:
    """The three columns as text."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        if not content.strip():
            raise FoldsError(f"{name} is empty; its first line must be {','.join(COLUMNS)}")
        if b"\0" in content[:10_000]:
            raise FoldsError(f"{name} is not a CSV file: it has bytes that no text has")
        header = content[:10_000].decode("utf-8-sig", errors="replace").splitlines()[:1]
        found = [column.strip().strip('"') for column in header[0].split(",")] if header else []
        missing = [column for column in COLUMNS if column not in found]
        if missing:
            raise FoldsError(
                f"{name} has no column {' and no column '.join(missing)}; "
                f"its first line must be {','.join(COLUMNS)}"
            )
        return csv.read_csv(
            pa.BufferReader(content),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.string()),
                include_columns=list(COLUMNS),
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise FoldsError(
            f"{name} is not a readable CSV ({str(error).splitlines()[0]}); "
            f"give one line {','.join(COLUMNS)} and then one line per interaction"
        ) from error


def _content(source: Path | bytes, name: str) -> bytes:
    """The file's text, unpacked."""
    content = source if isinstance(source, bytes) else read_bytes(source, name)
    if content.startswith(GZIP_MAGIC):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(MAX_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise FoldsError(
                f"{name} is a damaged or truncated gzip file ({error}); get it again"
            ) from error
    if len(content) > MAX_BYTES:
        raise FoldsError(
            f"{name} is larger than {MAX_BYTES >> 20} MiB unpacked; is it a fold file?"
        )
    return content
