"""Dataset id -> raw Interactions, one per (user, item), from a file on disk or a download."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import lzma
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ecv_core.dataset import synthetic
from ecv_core.dataset._catalogue import (
    DatasetEntry,
    SourceFile,
    data_dir,
    entry,
    find,
    how_to_supply,
)
from ecv_core.dataset.layout import Form, Layout, Unreadable
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions
from ecv_core.untrusted.files import replacing

# File on disk -> the bytes of its data: out of the archive, decompressed, checksum verified.


def read_content(path: Path, file: SourceFile) -> bytes:
    """The data inside `path`: its zip member, or the whole file decompressed.

    What compression it has is seen from the first bytes, not the name: a download may be renamed.
    Raises: Unreadable if it is not what its name says, or fails its checksum; and what
        `plain.unreadable_reasons` turns into that.
    """
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
    return read_entry(entry(dataset_id))


def read_entry(known: DatasetEntry) -> Interactions:
    """As `load`, of an entry. Raises: DatasetError."""
    if known.task is not None:
        raise DatasetError(
            f"{known.id} is a table of samples, and holds no interactions; choose another "
            "dataset, or an algorithm of tables, such as random-forest"
        )
    if known.generated:
        size = synthetic.size_of(known.id)
        return synthetic.generate() if size is None else synthetic.generate_large(size)
    if known.held is not None:
        return known.held.interactions
    path, file = find(known)
    try:
        return read(known, path, file)
    except Unreadable as error:
        way_out = f"remove it and {how_to_supply(known)}" if known.url else _CORRECT_IT
        raise DatasetError(f"{path} cannot be used as {known.id}: {error}; {way_out}") from error


def read(known: DatasetEntry, path: Path, file: SourceFile) -> Interactions:
    """Read one file as `file` describes it. Raises: Unreadable."""
    import pyarrow as pa

    from ecv_core.dataset.plain import unreadable_reasons
    from ecv_core.dataset.reading import strictly
    from ecv_core.dataset.rows import parquet_batches, text_batches

    with unreadable_reasons():
        layout = _layout(path, file)
        if file.format == "parquet":
            reading = strictly(parquet_batches(path, layout, limited=False), layout, known.id)
        else:
            with _source(path, file) as stream:
                reading = strictly(text_batches(stream, layout), layout, known.id)
    if file.rows is not None and reading.rows != file.rows:
        raise Unreadable(f"it holds {reading.rows:,} rows where {file.rows:,} are published")
    pa.default_memory_pool().release_unused()
    found = reading.interactions
    if _in_order(known, path, file):
        return replace(found, sequence=_places(found.users))
    return found


def _source(path: Path, file: SourceFile) -> io.BufferedIOBase:
    """The data inside `path`, read as they are wanted where nothing asks for the whole of them."""
    return io.BytesIO(read_content(path, file)) if file.sha256 or file.member else _unpacked(path)


def _layout(path: Path, file: SourceFile) -> Layout:
    """How the file is read: where its roles are, by its first line. Raises: Unreadable."""
    form = _FORMS[file.format]
    if form is Form.JSON_LINES:
        header = [str(column) for _, column in file.columns]
    elif form is Form.PARQUET:
        from pyarrow import parquet

        header = list(parquet.read_schema(path).names)
    else:
        header = _first_line(path, file)
    if named := not all(isinstance(column, int) for _, column in file.columns):
        missing = [
            column
            for role, column in file.columns
            if column not in header and role not in file.optional
        ]
        if missing:
            columns = f"column{'s' * (len(missing) > 1)} {' and '.join(map(repr, missing))}"
            raise Unreadable(
                f"the first line lacks the {columns}; it reads {', '.join(header)[:100]!r}"
            )
        places = {name: at for at, name in enumerate(header)}
        roles = {role: places[str(name)] for role, name in file.columns if name in places}
    else:
        roles = {role: int(at) for role, at in file.columns}
    return Layout(
        form=form,
        names=tuple(header),
        roles=tuple(roles.items()),
        separator=file.separator,
        header=named,
    )


_FORMS = {"delimited": Form.DELIMITED, "json-lines": Form.JSON_LINES, "parquet": Form.PARQUET}


def _first_line(path: Path, file: SourceFile) -> list[str]:
    with _source(path, file) as stream:
        start = stream.read(1 << 16)
    first = next(iter(start.decode("utf-8-sig", "replace").splitlines()), "")
    sign = file.separator if len(file.separator) == 1 else "\x1f"
    try:
        return next(csv.reader([first.replace(file.separator, sign)], delimiter=sign), [])
    except csv.Error as error:
        raise Unreadable(f"the first line is no row of delimited text ({error})") from error


def _in_order(known: DatasetEntry, path: Path, file: SourceFile) -> bool:
    """Whether the rows are known to be in the order of time, user by user."""
    if known.in_order_sha256 is None:
        return False
    return hashlib.sha256(read_content(path, file)).hexdigest() == known.in_order_sha256


def _places(users: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many rows of the same user come before each row; shape (rows,)."""
    order = np.argsort(users, kind="stable")
    sizes = np.bincount(users)
    places = np.empty(len(users), dtype=np.int32)
    places[order] = np.arange(len(users)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


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
        for stale in target.parent.glob(f".{target.name}-*.part"):
            with suppress(OSError):
                if time.time() - stale.stat().st_mtime > _STALE_SECONDS:
                    stale.unlink()
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
    from requests import RequestException

    if isinstance(error, RequestException):
        if error.response is not None:
            return f"the server answered {error.response.status_code} {error.response.reason}"
        return "the server cannot be reached, or stopped answering before the file was complete"
    return f"{data_dir()} cannot be written to ({error.strerror or error})"


def _failed(entry: DatasetEntry, reason: str) -> DatasetError:
    return DatasetError(
        f"downloading {entry.id} from {entry.url} failed: {reason}; try again, or put your own "
        f"copy into {data_dir()} as {entry.file_names[0]} or {entry.id}.csv"
    )
