"""A Parquet file of one's own -> its first rows, and batches of the columns that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import ecv_core.untrusted.limits as limits
from ecv_core.dataset._load import Unreadable

BATCH_ROWS = 1 << 16
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError)
"""How Arrow reports a damaged file, or values in it that are none."""
_SHOWN = 200
"""Characters of a value in the preview."""


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """The file, if it is within the limits. Raises: Unreadable."""
    try:
        file = pq.ParquetFile(
            path,
            pre_buffer=False,
            thrift_string_size_limit=64 * limits.MEGABYTE,
            thrift_container_size_limit=1_000_000,
        )
    except DAMAGE as error:
        raise Unreadable(f"the Parquet file is damaged ({_line(error)}); get it again") from error
    with file:
        found = file.metadata
        if found.num_rows > limits.MAX_ROWS:
            raise Unreadable(
                f"it has {found.num_rows:,} rows, and at most {limits.MAX_ROWS:,} are read; take "
                "a part of it"
            )
        if len(file.schema_arrow.names) > limits.MAX_COLUMNS:
            raise Unreadable(
                f"it has {len(file.schema_arrow.names):,} columns, and at most "
                f"{limits.MAX_COLUMNS} are read; leave out what is no user, item, rating or time"
            )
        # Not column by column: Arrow ends the whole process over the statistics of a damaged one.
        size = sum(found.row_group(at).total_byte_size for at in range(found.num_row_groups))
        if size > limits.max_unpacked_bytes():
            raise Unreadable(
                f"it unpacks to {size / limits.MEGABYTE:,.0f} MB, more than "
                f"{limits.TIMES_UNPACKED} times what may be uploaded; take fewer rows or columns"
            )
        try:
            yield file
        except DAMAGE as error:
            raise Unreadable(
                f"the Parquet file is damaged ({_line(error)}); get it again"
            ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:150]


def parquet_head(path: Path, count: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Names of the columns, and the first rows as text. Raises: Unreadable."""
    with parquet_file(path) as file:
        names = _names(file)
        for batch in file.iter_batches(batch_size=count):
            columns = [list(map(_text, column.to_pylist())) for column in batch.columns]
            return names, tuple(zip(*columns, strict=True))
    return names, ()


def parquet_batches(path: Path, columns: Sequence[int]) -> Iterator[tuple[pa.RecordBatch, float]]:
    """The columns at these places, in this order, batch by batch; and how much of it has been read.

    Texts that repeat come as a dictionary, so that a long one in many rows takes no room.
    Raises: Unreadable.
    """
    with parquet_file(path) as file:
        schema, every = file.schema_arrow, _names(file)
        names = [every[at] for at in columns]
    dictionaries = [
        name
        for name in names
        if pa.types.is_string(schema.field(name).type)
        or pa.types.is_large_string(schema.field(name).type)
    ]
    done = 0
    with pq.ParquetFile(path, pre_buffer=False, read_dictionary=dictionaries) as file:
        try:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
                done += batch.num_rows
                yield batch.select(names), done / max(file.metadata.num_rows, 1)
        except DAMAGE as error:
            raise Unreadable(
                f"the Parquet file is damaged ({_line(error)}); get it again"
            ) from error


def _names(file: pq.ParquetFile) -> tuple[str, ...]:
    names = tuple(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise Unreadable("two of its columns have the same name; rename one")
    return names


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)[:_SHOWN]
