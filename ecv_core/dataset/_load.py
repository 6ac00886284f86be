"""Dataset id -> raw Interactions, one per (user, item), from whichever file is on disk."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset import synthetic, synthetic_large
from ecv_core.dataset._catalogue import (
    OWN_DOMAIN,
    DatasetEntry,
    SourceFile,
    entry,
    find,
    how_to_supply,
    locate,
)
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

if TYPE_CHECKING:
    import pyarrow as pa

# File on disk -> the bytes of its data: out of the archive, decompressed, checksum verified.


_LONGEST_HEADER = 1 << 16


class Unreadable(Exception):
    """Why a file cannot be used, as half a sentence; callers add the file and the way out."""


def read_content(path: Path, file: SourceFile) -> bytes:
    """The data inside `path`: its zip member, or the whole file decompressed.

    What compression it has is seen from the first bytes, not the name: a download may be renamed.
    Raises: Unreadable if it is truncated, not what its name says, or fails its checksum.
    """
    with unreadable_reasons():
        if file.member:
            content = _member(path, file.member)
        else:
            with _unpacked(path) as stream:
                content = stream.read()
    if file.sha256:
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != file.sha256:
            what = file.member or "the content"
            raise Unreadable(f"{what} has SHA-256 {sha256[:12]}..., expected {file.sha256[:12]}...")
    return content


@contextmanager
def unreadable_reasons() -> Iterator[None]:
    """Turn the many ways in which reading a damaged file fails into Unreadable."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise Unreadable(f"the compressed data is truncated or damaged: {error}") from error
    except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: encrypted, or a new method
        raise Unreadable(f"it is not a readable zip archive: {error}") from error
    except OSError as error:
        raise Unreadable(f"reading it failed: {error.strerror or error}") from error


def _member(path: Path, member: str) -> bytes:
    wanted = PurePosixPath(member).name
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        # A repack may lack the official top folder; the checksum decides what it is.
        members = (
            [member] if member in names else [n for n in names if PurePosixPath(n).name == wanted]
        )
        if not members:
            raise Unreadable(f"the archive has no {member}")
        return archive.read(members[0])


def _unpacked(path: Path) -> io.BufferedIOBase:
    with path.open("rb") as raw:
        start = raw.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(path)
    if path.suffix in (".gz", ".xz"):
        raise Unreadable(f"it is not a {path.suffix} file")
    return path.open("rb")


# Bytes of delimited text, JSON lines or Parquet -> Arrow columns by role, types checked.


Columns = dict[str, "pa.ChunkedArray"]
"""Role -> column: ids are strings, everything else is float64; no nulls, all of one length."""

_TEXT_ROLES = ("user_id", "item_id")
_BLOCK_BYTES = 16 << 20  # a JSON line, that is a whole review, must fit into one block


def read_columns(path: Path, file: SourceFile) -> Columns:
    """Read the roles that `file` describes; optional ones only where the file has them.

    Raises: Unreadable if the file is damaged, lacks a column, or holds missing or wrong values.
    """
    from pyarrow import ArrowException

    content = read_content(path, file)
    try:
        if file.format == "delimited":
            table = _delimited(content, file)
        elif file.format == "json-lines":
            table = _json_lines(content, file)
        else:
            table = _parquet(content, file)
    except (ArrowException, OSError) as error:  # Parquet reports damage as OSError
        raise Unreadable(" ".join(str(error).split())[:200]) from error
    if table.num_rows == 0:
        raise Unreadable("it holds no interactions")
    if file.rows is not None and table.num_rows != file.rows:
        raise Unreadable(f"it holds {table.num_rows:,} rows where {file.rows:,} are published")
    return {role: checked(role, table[role]) for role in table.column_names}


def check_columns(path: Path, file: SourceFile) -> None:
    """Look at the first line of a CSV, or the schema of Parquet, alone.

    Raises: Unreadable if a column is missing.
    """
    from pyarrow import ArrowException, parquet

    if file.format != "parquet":
        with unreadable_reasons(), _unpacked(path) as stream:
            start = stream.readline(_LONGEST_HEADER)
        _present(file, _header(start, file.separator))
        return
    try:
        names = parquet.read_schema(path).names
    except (ArrowException, OSError) as error:
        raise Unreadable(" ".join(str(error).split())[:200]) from error
    _present(file, names)


def _header(start: bytes, separator: str) -> list[str]:
    first = start[:_LONGEST_HEADER].decode("utf-8-sig", "replace").splitlines()[:1]
    try:
        return next(csv.reader(first, delimiter=separator), [])
    except csv.Error as error:
        raise Unreadable(f"the first line is no row of delimited text ({error})") from error


def _delimited(content: bytes, file: SourceFile) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    content = content.removeprefix(b"\xef\xbb\xbf")
    separator = file.separator
    if len(separator) > 1:  # the parser takes one character only
        content, separator = content.replace(separator.encode(), b"\x01"), "\x01"
    positional = all(isinstance(column, int) for _, column in file.columns)
    if positional:
        present = {role: f"f{column}" for role, column in file.columns}
    else:
        present = _present(file, _header(content[:_LONGEST_HEADER], separator))
    convert = arrow_csv.ConvertOptions(
        include_columns=list(present.values()),
        column_types={column: type_of(role) for role, column in present.items()},
        # Only an empty field is missing: "NA" and "null" are fine names for an item.
        null_values=[""],
        strings_can_be_null=True,
    )

    def parse(*, threads: bool) -> pa.Table:
        return arrow_csv.read_csv(
            pa.py_buffer(content),
            arrow_csv.ReadOptions(autogenerate_column_names=positional, use_threads=threads),
            arrow_csv.ParseOptions(delimiter=separator),
            convert,
        )

    try:
        table = parse(threads=True)
    except pa.ArrowInvalid:
        table = parse(threads=False)  # fails again, but now it knows the number of the row
    return table.rename_columns(list(present))


def _json_lines(content: bytes, file: SourceFile) -> pa.Table:
    import pyarrow as pa
    from pyarrow import json

    schema = pa.schema([(str(column), type_of(role)) for role, column in file.columns])
    table = json.read_json(
        pa.BufferReader(content),
        read_options=json.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    return table.rename_columns([role for role, _ in file.columns])


def _parquet(content: bytes, file: SourceFile) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    source = parquet.ParquetFile(pa.BufferReader(content))
    present = _present(file, source.schema_arrow.names)
    table = source.read(columns=list(present.values()))
    columns = {}
    for role, column in present.items():
        values = table[column]
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        columns[role] = values.cast(type_of(role))
    return pa.table(columns)


def _present(file: SourceFile, header: list[str]) -> dict[str, str]:
    header = [name.rstrip("\r") for name in header]
    missing = [
        column
        for role, column in file.columns
        if column not in header and role not in file.optional
    ]
    if missing:
        raise Unreadable(
            f"the first line lacks the {_columns(missing)}; it reads {', '.join(header)[:100]!r}"
        )
    return {role: str(column) for role, column in file.columns if column in header}


def _columns(missing: list[str | int]) -> str:
    names = " and ".join(f"'{name}'" for name in missing)
    return f"column {names}" if len(missing) == 1 else f"columns {names}"


def type_of(role: str) -> pa.DataType:
    """Of the column that has this role."""
    import pyarrow as pa

    return pa.string() if role in _TEXT_ROLES else pa.float64()


def checked(role: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose every value is one of its role. Raises: Unreadable, with the row."""
    import pyarrow.compute as pc

    bad = pc.is_null(values, nan_is_null=True)
    if role in _TEXT_ROLES:
        bad = pc.or_(bad, pc.equal(pc.fill_null(values, ""), ""))
    else:
        bad = pc.or_(bad, pc.invert(pc.is_finite(pc.fill_null(values, 0.0))))
    row = pc.index(bad, True).as_py()
    if row >= 0:
        raise Unreadable(f"row {row + 1:,} of the data has no valid {role}")
    if role == "timestamp":
        early, late = pc.less(values, limits.EARLIEST), pc.greater_equal(values, limits.LATEST)
        row = pc.index(pc.or_(early, late), True).as_py()
        if row >= 0:
            raise Unreadable(
                f"row {row + 1:,} of the data has the timestamp {values[row].as_py():g}, and "
                "those from the years 1700 to 2199 are taken, in seconds"
            )
    return values


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
    if known.task is not None:
        raise DatasetError(
            f"{dataset_id} is a table of samples, and holds no interactions; choose another "
            "dataset, or an algorithm of tables, such as random-forest"
        )
    if known.generated:
        size = synthetic_large.size_of(dataset_id)
        return synthetic.generate() if size is None else synthetic_large.generate(size)
    if known.held is not None:
        return known.held.interactions
    path, file = find(known)
    try:
        return read(known, path, file)
    except Unreadable as error:
        raise _refused(known, path, error) from error


def check_own(known: DatasetEntry) -> None:
    """Look at the first line of a user's own file: whether it has the columns that are needed.

    Nothing is done for a dataset of the catalogue, or without a file. Raises: DatasetError.
    """
    if known.domain != OWN_DOMAIN or known.task or (path := locate(known)) is None:
        return

    try:
        check_columns(path, find(known)[1])
    except Unreadable as error:
        raise _refused(known, path, error) from error


def _refused(known: DatasetEntry, path: Path, error: Unreadable) -> DatasetError:
    way_out = f"remove it and {how_to_supply(known)}" if known.url else _CORRECT_IT
    return DatasetError(f"{path} cannot be used as {known.id}: {error}; {way_out}")


def read(known: DatasetEntry, path: Path, file: SourceFile) -> Interactions:
    """Read one file as `file` describes it. Raises: Unreadable."""
    found = interactions_of(known.id, read_columns(path, file))
    if _in_order(known, path, file):
        return replace(found, sequence=_places(found.users))
    return found


def interactions_of(dataset_id: str, columns: Columns) -> Interactions:
    """Checked columns -> one interaction per user and item. Raises: Unreadable for the ids."""
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
        dataset=dataset_id,
        users=users[keep],
        items=items[keep],
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=None if ratings is None else ratings[keep].astype(np.float32),
        timestamps=None if timestamps is None else timestamps[keep].astype(np.int64),
        baskets=None if baskets is None else numbered(baskets[keep]),
    )


def _encode(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32, copy=False), ids_of(encoded.dictionary)


def ids_of(texts: pa.StringArray) -> NDArray[np.str_]:
    """Ids as numpy has them, all at the width of the longest. Raises: Unreadable."""
    check_ids(texts)
    return np.array(texts.to_pylist(), dtype=np.str_)


def check_ids(texts: pa.StringArray) -> None:
    """Refuse ids that are too long, or too many of that length. Raises: Unreadable."""
    import pyarrow.compute as pc

    longest = pc.max(pc.utf8_length(texts)).as_py() or 1
    if longest > limits.LONGEST_ID:
        raise Unreadable(f"it has an id longer than {limits.LONGEST_ID} characters")
    if limits.id_bytes(len(texts), longest) > limits.MAX_ID_BYTES:
        raise Unreadable(
            f"it has {len(texts):,} ids with up to {longest} characters, which together take more "
            f"than {limits.MAX_ID_BYTES >> 20:,} MB of memory; shorten the longest"
        )


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
