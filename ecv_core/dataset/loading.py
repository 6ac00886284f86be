"""Dataset entry -> raw Interactions, one per (user, item), as its source has them."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ecv_core.dataset import synthetic
from ecv_core.dataset.entries import DatasetEntry, SourceFile, entry
from ecv_core.dataset.layout import Form, Layout, Unreadable
from ecv_core.dataset.sources import FileSource, find_file, how_to_supply
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

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
    return load_entry(entry(dataset_id))


def load_entry(dataset: DatasetEntry) -> Interactions:
    """As `load`, of an entry. Raises: DatasetError."""
    if dataset.task is not None:
        raise DatasetError(
            f"{dataset.id} is a table of samples, and holds no interactions; choose another "
            "dataset, or an algorithm of tables, such as random-forest"
        )
    if dataset.held is not None:
        return dataset.held.interactions
    if not dataset.needs_file:
        return synthetic.generate_by_id(dataset.id)
    source = find_file(dataset)
    try:
        return read_file(dataset, source)
    except Unreadable as error:
        way_out = _CORRECT_IT
        if dataset.url:
            way_out = f"remove it and {how_to_supply(dataset)}"
        raise DatasetError(
            f"{source.path} cannot be used as {dataset.id}: {error}; {way_out}"
        ) from error


def read_file(dataset: DatasetEntry, source: FileSource) -> Interactions:
    """Read one file of a dataset. Raises: Unreadable."""
    import pyarrow as pa

    from ecv_core.dataset.plain import unreadable_reasons
    from ecv_core.dataset.reading import read_strictly
    from ecv_core.dataset.rows import parquet_batches, text_batches

    file = source.file
    with unreadable_reasons():
        if file.format == "parquet":
            layout = _parquet_layout(source)
            batches = parquet_batches(source.path, layout, limited=False)
            content = read_strictly(batches, layout, dataset.id)
        else:
            with _open_content(source) as stream:
                layout = _text_layout(stream, file)
                content = read_strictly(text_batches(stream, layout), layout, dataset.id)
    if file.rows is not None and content.rows != file.rows:
        raise Unreadable(f"it holds {content.rows:,} rows where {file.rows:,} are published")
    pa.default_memory_pool().release_unused()
    interactions = content.interactions
    if _is_in_order(dataset, source):
        return replace(interactions, sequence=_places_in_history(interactions.users))
    return interactions


def _is_in_order(dataset: DatasetEntry, source: FileSource) -> bool:
    """Whether the rows are known to be in the order of time, user by user."""
    if dataset.in_order_sha256 is None:
        return False
    with _open_content(source) as stream:
        return hashlib.sha256(stream.read()).hexdigest() == dataset.in_order_sha256


def _places_in_history(users: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many rows of the same user come before each row; shape (rows,)."""
    by_user = np.argsort(users, kind="stable")
    sizes = np.bincount(users)
    starts = np.cumsum(sizes) - sizes
    places = np.empty(len(users), dtype=np.int32)
    places[by_user] = np.arange(len(users)) - np.repeat(starts, sizes)
    return places


# A file on disk -> its data: out of the archive, decompressed, checksum verified.


def _open_content(source: FileSource) -> io.BufferedIOBase:
    """The data of a file: its zip member, or the whole file decompressed.

    They are read at once where a checksum asks for the whole of them, else as they are wanted.
    Raises: Unreadable if it is not what its name says, or fails its checksum; and what
        `plain.unreadable_reasons` turns into that.
    """
    file = source.file
    if file.member is not None:
        content = _member_content(source.path, file.member)
    elif file.sha256 is not None:
        with _open_unpacked(source.path) as stream:
            content = stream.read()
    else:
        return _open_unpacked(source.path)
    if file.sha256 is not None:
        _check_sha256(content, file.sha256, file.member or "the content")
    return io.BytesIO(content)


def _check_sha256(content: bytes, expected: str, name: str) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != expected:
        raise Unreadable(f"{name} has SHA-256 {sha256[:12]}..., expected {expected[:12]}...")


def _member_content(path: Path, member: str) -> bytes:
    """A member of a zip archive, by its path or else by its name alone. Raises: Unreadable.

    A repack may lack the official top folder; the checksum decides what the member is.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if member in names:
            return archive.read(member)
        file_name = PurePosixPath(member).name
        for name in names:
            if PurePosixPath(name).name == file_name:
                return archive.read(name)
    raise Unreadable(f"the archive has no {member}")


def _open_unpacked(path: Path) -> io.BufferedIOBase:
    """The file, decompressed. Its first bytes tell how, not its name: a download may be renamed.

    Raises: Unreadable if the name says that it is compressed and it is not.
    """
    with path.open("rb") as raw:
        start = raw.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(path)
    if path.suffix in (".gz", ".xz"):
        raise Unreadable(f"it is not a {path.suffix} file")
    return path.open("rb")


# What the catalogue says of a file, and the file's own names of columns -> its layout.


def _parquet_layout(source: FileSource) -> Layout:
    from pyarrow import parquet

    names = parquet.read_schema(source.path).names
    return Layout(form=Form.PARQUET, names=tuple(names), roles=_named_roles(source.file, names))


def _text_layout(stream: io.BufferedIOBase, file: SourceFile) -> Layout:
    """How delimited text or JSON lines are read; leaves the stream where it begins.

    Raises: Unreadable if the first line lacks a column.
    """
    if file.format == "json-lines":
        names = [str(column) for _, column in file.columns]
        return Layout(form=Form.JSON_LINES, names=tuple(names), roles=_named_roles(file, names))
    fields = _first_fields(stream.read(1 << 16), file.separator)
    stream.seek(0)
    if file.names_columns:
        roles = _named_roles(file, fields)
    else:
        roles = tuple((role, int(place)) for role, place in file.columns)
    return Layout(
        form=Form.DELIMITED,
        names=tuple(fields),
        roles=roles,
        separator=file.separator,
        header=file.names_columns,
    )


def _named_roles(file: SourceFile, names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """(role, place of its column), by name. Raises: Unreadable if a needed column is missing."""
    places = {name: place for place, name in enumerate(names)}
    roles = []
    missing = []
    for role, column in file.columns:
        if column in places:
            roles.append((role, places[str(column)]))
        elif role not in file.optional:
            missing.append(repr(column))
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise Unreadable(
            f"the first line lacks the {noun} {' and '.join(missing)}; it reads "
            f"{', '.join(names)[:100]!r}"
        )
    return tuple(roles)


def _first_fields(start: bytes, separator: str) -> list[str]:
    """The fields of the first line of delimited text. Raises: Unreadable."""
    lines = start.decode("utf-8-sig", "replace").splitlines()
    if not lines:
        return []
    line = lines[0]
    if len(separator) > 1:  # the csv module takes one character
        line = line.replace(separator, "\x1f")
        separator = "\x1f"
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise Unreadable(f"the first line is no row of delimited text ({error})") from error
