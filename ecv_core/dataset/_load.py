"""Dataset id -> raw Interactions, one per (user, item), from a file on disk or a download."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import lzma
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset import synthetic
from ecv_core.dataset._catalogue import (
    OWN_DOMAIN,
    DatasetEntry,
    SourceFile,
    data_dir,
    entry,
    find,
    how_to_supply,
    locate,
)
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions
from ecv_core.untrusted.files import replacing

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
"""Role -> column: ids are dictionaries of strings, everything else is float64; no nulls, all of one
length."""

_TEXT_ROLES = ("user_id", "item_id")
_BLOCK_BYTES = 16 << 20  # a JSON line, that is a whole review, must fit into one block
_ROWS_AT_ONCE = 1 << 20
_ONE_CHARACTER = b"\x01"
"""Takes the place of a separator of several, as the parser takes one character only."""


def read_columns(path: Path, file: SourceFile) -> Columns:
    """Read the roles that `file` describes; optional ones only where the file has them.

    Ids become codes block by block, so that their texts never are in memory row by row.

    Raises: Unreadable if the file is damaged, lacks a column, or holds missing or wrong values.
    """
    from pyarrow import ArrowException

    reads = {"delimited": _delimited, "json-lines": _json_lines, "parquet": _parquet}
    try:
        with unreadable_reasons():
            columns = reads[file.format](path, file)
    except ArrowException as error:
        raise Unreadable(" ".join(str(error).split())[:200]) from error
    rows = len(next(iter(columns.values())))
    if rows == 0:
        raise Unreadable("it holds no interactions")
    if file.rows is not None and rows != file.rows:
        raise Unreadable(f"it holds {rows:,} rows where {file.rows:,} are published")
    return {role: checked(role, column) for role, column in columns.items()}


def _source(path: Path, file: SourceFile) -> pa.NativeFile:
    """The data inside `path`, read as they are wanted where nothing asks for the whole of them."""
    import pyarrow as pa

    several = len(file.separator) > 1
    if not (several or file.sha256 or file.member):
        return pa.PythonFile(_unpacked(path), mode="r")
    content = read_content(path, file)
    return pa.BufferReader(
        content.replace(file.separator.encode(), _ONE_CHARACTER) if several else content
    )


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


def _delimited(path: Path, file: SourceFile) -> Columns:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    separator = file.separator if len(file.separator) == 1 else _ONE_CHARACTER.decode()
    positional = all(isinstance(column, int) for _, column in file.columns)

    def parse(*, threads: bool) -> pa.Table:
        with _source(path, file) as source:
            present = {role: f"f{column}" for role, column in file.columns}
            if not positional:
                present = _present(file, _header(source.read(_LONGEST_HEADER), separator))
                source.seek(0)
            convert = arrow_csv.ConvertOptions(
                include_columns=list(present.values()),
                column_types={column: type_of(role) for role, column in present.items()},
                # Only an empty field is missing: "NA" and "null" are fine names for an item.
                null_values=[""],
                strings_can_be_null=True,
            )
            table = arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(
                    autogenerate_column_names=positional,
                    use_threads=threads,
                    block_size=_BLOCK_BYTES,
                ),
                arrow_csv.ParseOptions(delimiter=separator),
                convert,
            )
        return table.rename_columns(list(present))

    try:
        table = parse(threads=True)
    except pa.ArrowInvalid:
        table = parse(threads=False)  # fails again, but now it knows the number of the row
    return {role: table[role] for role in table.column_names}


def _json_lines(path: Path, file: SourceFile) -> Columns:
    import pyarrow as pa
    from pyarrow import json

    types = {role: pa.string() if role in _TEXT_ROLES else pa.float64() for role, _ in file.columns}
    schema = pa.schema([(str(column), types[role]) for role, column in file.columns])
    with _source(path, file) as source:
        table = json.read_json(
            source,
            read_options=json.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    return {role: table[str(column)] for role, column in file.columns}


def _parquet(path: Path, file: SourceFile) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    with _source(path, file) as source:
        reader = parquet.ParquetFile(source)
        present = _present(file, reader.schema_arrow.names)
        columns: dict[str, list[pa.Array]] = {role: [] for role in present}
        for batch in reader.iter_batches(_ROWS_AT_ONCE, columns=list(present.values())):
            for role, name in present.items():
                values = batch[name]
                if pa.types.is_dictionary(values.type):
                    values = values.dictionary_decode()  # its codes need not be as values appear
                if pa.types.is_timestamp(values.type):
                    values = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
                text = role in _TEXT_ROLES
                columns[role].append(_coded(values) if text else values.cast(pa.float64()))
    return {role: pa.chunked_array(parts, type_of(role)) for role, parts in columns.items()}


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

    return pa.dictionary(pa.int32(), pa.string()) if role in _TEXT_ROLES else pa.float64()


def _coded(values: pa.Array) -> pa.DictionaryArray:
    """Ids as codes, in the order of first appearance, and their texts."""
    import pyarrow as pa

    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(values.indices, values.dictionary.cast(pa.string()))


def checked(role: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose every value is one of its role. Raises: Unreadable, with the row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if role in _TEXT_ROLES:
        parts = [_coded(chunk) for chunk in values.chunks]
        values = pa.chunked_array(parts, type_of(role))
        empty = [pc.equal(part.dictionary, "").take(part.indices) for part in parts]
        bad = pc.fill_null(pa.chunked_array(empty, pa.bool_()), True)
    else:
        bad = pc.is_null(values, nan_is_null=True)
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
        size = synthetic.size_of(dataset_id)
        return synthetic.generate() if size is None else synthetic.generate_large(size)
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
    """Checked columns -> one interaction per user and item. Raises: Unreadable for the ids.

    Args:
        dataset_id: what they are called.
        columns: emptied, so that no column is in memory twice for long.
    """
    users, user_ids = codes_and_ids(columns.pop("user_id"))
    items, item_ids = codes_and_ids(columns.pop("item_id"))
    numbers = {role: columns.pop(role).to_numpy() for role in list(columns)}
    if "year" in numbers:
        numbers["timestamp"] = _seconds(numbers["day"], numbers["month"], numbers["year"])
    times = numbers.get("timestamp", numbers.get("basket"))
    keep = one_per_pair(users, items, len(item_ids), times)
    if len(keep) < len(users):
        users, items = users[keep], items[keep]
        numbers = {role: values[keep] for role, values in numbers.items()}
    ratings, timestamps = numbers.get("rating"), numbers.get("timestamp")
    baskets = numbers.get("basket")
    return Interactions(
        dataset=dataset_id,
        users=users,
        items=items,
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=None if ratings is None else ratings.astype(np.float32),
        timestamps=None if timestamps is None else timestamps.astype(np.int64),
        baskets=None if baskets is None else numbered(baskets),
    )


def codes_and_ids(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Codes in the order of first appearance, and the ids. Raises: Unreadable.

    Args:
        column: dictionaries of strings, which have codes in that order each.
    """
    together = column.unify_dictionaries().combine_chunks()
    check_ids(together.dictionary)
    ids = np.array(together.dictionary.to_pylist(), dtype=np.str_)  # at the width of the longest
    return together.indices.to_numpy().astype(np.int32, copy=False), ids


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


# Dataset entry -> its official file in the data folder, complete and verified or not at all.


_CHUNK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 30  # without a byte from the server
_STALE_SECONDS = 3600  # a part file untouched this long belongs to a process that was killed


def download(entry: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
    """Fetch the official file into `data_dir()` and check it; returns where it is.

    It is written under a temporary name and renamed once it has passed the same checks as `load`
    makes, so a cut download leaves nothing behind and the next one starts afresh.

    Args:
        entry: a dataset with a url.
        progress: called with (bytes done, bytes in all); 0 in all where the server does not say.
            What it raises ends the download and reaches the caller.
    Raises: DatasetError if the server cannot be reached, sends something else, or the disk is full
        or read-only.
    """
    file = next((file for file in entry.files if file.url), None)
    if file is None or file.url is None:
        raise DatasetError(f"dataset '{entry.id}' has no download; {how_to_supply(entry)}")
    target = data_dir() / file.names[0]
    try:
        _remove_stale_parts(target)
        with replacing(target, for_others=True) as part:
            _fetch(file.url, part, progress)
            read(entry, part, file)
    except Unreadable as error:
        raise _failed(entry, f"what arrived is not the dataset ({error})") from error
    except OSError as error:  # requests' errors are OSErrors too
        raise _failed(entry, _reason(error)) from error
    return target


def _fetch(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
    import requests  # a tenth of a second, needed only here

    # The file is wanted as it is stored: a server may offer to unpack a .gz on the way.
    as_stored = {"Accept-Encoding": "identity"}
    with (
        requests.get(url, headers=as_stored, stream=True, timeout=_TIMEOUT_SECONDS) as response,
        part.open("wb") as file,
    ):
        response.raise_for_status()
        total = int(response.headers.get("Content-Length", 0))
        done = 0
        for chunk in response.iter_content(_CHUNK_BYTES):
            done += file.write(chunk)
            progress(done, total)


def _reason(error: OSError) -> str:
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the connection was cut before the file was complete"
    if isinstance(error, exceptions.Timeout):
        return f"the server sent nothing for {_TIMEOUT_SECONDS} seconds"
    if isinstance(error, exceptions.ConnectionError):
        return "the server cannot be reached or stopped answering"
    if error.errno == errno.ENOSPC:
        return f"the disk with {data_dir()} is full"
    return f"{data_dir()} cannot be written to ({error.strerror or error})"


def _failed(entry: DatasetEntry, reason: str) -> DatasetError:
    return DatasetError(
        f"downloading {entry.id} from {entry.url} failed: {reason}; try again, or put your own "
        f"copy into {data_dir()} as {entry.file_names[0]} or {entry.id}.csv"
    )


def _remove_stale_parts(target: Path) -> None:
    for part in target.parent.glob(f".{target.name}-*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _STALE_SECONDS:
                part.unlink()
