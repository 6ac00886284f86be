"""The source of a dataset -> raw Interactions, one per (user, item)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from ecv_core.dataset import synthetic
from ecv_core.dataset.contents import open_content
from ecv_core.dataset.entries import entry
from ecv_core.dataset.file_layouts import parquet_layout, text_layout
from ecv_core.dataset.layout import Unreadable
from ecv_core.dataset.sources import FileSource, Source, how_to_supply, source_of
from ecv_core.records.arrays import Codes
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

_CORRECT_IT = (
    "correct it: the first line must be user_id,item_id and, where known, rating, timestamp "
    "(Unix seconds) and basket (a number), and every row needs a value for each"
)


def load(dataset_id: str) -> Interactions:
    """Read a dataset as it is on disk, not yet prepared.

    Rows keep the file's order and codes the order of first appearance. Of several rows with the
    same user and item one is kept: the earliest by timestamp or basket, or without them the first.

    Raises:
        UnknownName.
        DatasetError: If there is no file, or it is damaged, fails its checksum, lacks columns or
            holds missing or non-numeric values.
    """
    return load_source(source_of(entry(dataset_id)))


def load_source(source: Source) -> Interactions:
    """As `load`, of a source. Raises: DatasetError."""
    dataset = source.dataset
    if dataset.task is not None:  # A table names its task; interactions serve several.
        raise DatasetError(
            f"{dataset.id} is a table of samples without interactions; choose another dataset, "
            "or an algorithm for tables, such as random-forest"
        )
    if dataset.in_memory is not None:
        return dataset.in_memory.interactions
    if source.file is None:
        return synthetic.generate_by_id(dataset.id)
    try:
        return read_file(source.file, dataset.id, dataset.in_order_sha256)
    except Unreadable as error:
        way_out = _CORRECT_IT
        if dataset.url:
            way_out = f"remove it and {how_to_supply(dataset)}"
        raise DatasetError(
            f"{source.file.path} cannot be used as {dataset.id}: {error}; {way_out}"
        ) from error


def read_file(source: FileSource, name: str, in_order_sha256: str | None = None) -> Interactions:
    """Read one file.

    Args:
        source: The file and how to read it.
        name: The id of the dataset.
        in_order_sha256: The SHA-256 of content that lists each user's rows in the order of time.

    Raises:
        Unreadable.
    """
    import pyarrow as pa

    from ecv_core.dataset.plain import errors_as_unreadable
    from ecv_core.dataset.reading import read_strictly
    from ecv_core.dataset.rows import parquet_batches, text_batches

    with errors_as_unreadable():
        if source.form.format == "parquet":
            layout = parquet_layout(source)
            batches = parquet_batches(source.path, layout, limited=False)
            content = read_strictly(batches, layout, name)
        else:
            with open_content(source) as stream:
                layout = text_layout(stream, source.form)
                content = read_strictly(text_batches(stream, layout), layout, name)
        is_in_order = in_order_sha256 is not None and _sha256(source) == in_order_sha256
    published_rows = source.form.rows
    if published_rows is not None and content.rows != published_rows:
        raise Unreadable(
            f"it has {content.rows:,} rows, but the published dataset has {published_rows:,}"
        )
    # Arrow holds on to memory that it no longer uses; it goes back to the system.
    pa.default_memory_pool().release_unused()
    interactions = content.interactions
    # Content with this hash lists each user's rows in the order of time, so that the place of a row
    # among them stands for its time.
    if is_in_order:
        return replace(interactions, sequence=_places_in_history(interactions.users))
    return interactions


def _sha256(source: FileSource) -> str:
    """The SHA-256 of the content, unpacked, in hexadecimal digits."""
    with open_content(source) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _places_in_history(users: Codes) -> Codes:
    """How many rows of the same user come before each row; shape (rows,)."""
    import pandas as pd

    places = pd.Series(users).groupby(users, sort=False).cumcount()
    return places.to_numpy().astype(np.int32)
