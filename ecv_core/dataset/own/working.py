"""A file that somebody gave, for as long as it is worked on: taken in, read, ready to be kept.

It has a folder of its own, beside the kept datasets and named by a token that nobody can guess.
What is done with it is in there too, so that a page that is reloaded goes on where it was.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core.dataset._about import ABOUT, ADDED, INTERACTIONS, About, now, read_about
from ecv_core.dataset._dirs import data_dir
from ecv_core.dataset._hashing import file_sha256
from ecv_core.dataset.own.layout import Layout
from ecv_core.dataset.own.plain import Plain, Report, plain_file
from ecv_core.dataset.own.reading import Reading, read_rows
from ecv_core.dataset.ready import CORE, core_rows
from ecv_core.records import codec
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.records.interactions import Interactions
from ecv_core.untrusted.files import replacing

_TOKEN = re.compile(r"[0-9a-f]{32}")
_STALE_SECONDS = 24 * 3600
_FILE, _FILE_NAME = "file", "name.txt"
_ASKED, _READ = "asked.json", "read.json"
"""The layout that the owner asked for last, and the one by which the file was read."""
_EXAMPLES = "examples.json"
"""Rows that cannot be used; it goes with the file when the dataset is kept."""


def take_in(write: Callable[[Path], object], file_name: str) -> str:
    """Keep a file that somebody gave for as long as it is worked on.

    Args:
        write: writes it to the path that it is given.
        file_name: what its owner calls it.
    Returns: the token by which it is found again, for a day.
    Raises: DatasetError if it cannot be written.
    """
    folder = working_folder()
    try:
        write(folder / _FILE)
        (folder / _FILE_NAME).write_text(file_name[:200], encoding="utf-8", errors="replace")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise unwritable(error) from error
    return folder.name[1:]


def working_folder() -> Path:
    """A new folder in which a file can become a dataset. Raises: DatasetError."""
    _remove_stale()
    folder = folder_of(secrets.token_hex(16))
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise unwritable(error) from error
    return folder


def taken_in(token: str, report: Report) -> Plain:
    """A file that `take_in` took, unpacked and looked through.

    Raises: InputError if it is not here any more; DatasetError as `plain_file`.
    """
    folder = folder_of(token)
    try:
        name = (folder / _FILE_NAME).read_text(encoding="utf-8")
    except OSError:
        raise InputError(
            "the file that this address names is not here any more: files that are not kept as a "
            "dataset are forgotten after a day; drop it again"
        ) from None
    return plain_file(folder / _FILE, name, folder, report)


def forget(token: str) -> None:
    """Throw away a file that `take_in` took."""
    shutil.rmtree(folder_of(token), ignore_errors=True)


def work_out(plain: Plain, layout: Layout, folder: Path, report: Report) -> About:
    """Read a file, and write what becomes the dataset into `folder`, ready to be kept.

    Raises: InputError, DatasetError as `read_rows`; DatasetError if it cannot be written, or read
        within the limits of memory and time.
    """
    given = plain, layout, folder
    if not plain.parquet and plain.size <= limits.READ_HERE_BYTES:
        return _work_out(*given, report)
    what = f"the file {plain.name}"
    return bounded.in_child(_work_out, *given, what=what, error=DatasetError, report=report)


def _work_out(plain: Plain, layout: Layout, folder: Path, report: Report) -> About:
    reading = read_rows(plain, layout, plain.name, report)
    try:
        (folder / _READ).unlink(missing_ok=True)
        report("write", 0, 1)
        _write(reading.interactions, folder / INTERACTIONS)
        about = _about(reading, plain, layout, file_sha256(folder / INTERACTIONS))
        with replacing(folder / ABOUT) as part:
            part.write_text(codec.written(about), encoding="utf-8")
        _write_layout(folder / _READ, layout)
        with replacing(folder / _EXAMPLES) as part:
            part.write_text(json.dumps(reading.examples), encoding="utf-8")
    except OSError as error:
        raise unwritable(error) from error
    return about


def examples_of(token: str) -> dict[str, list[tuple[int, str]]]:
    """Reason -> number and beginning of the first rows of a dropped file that cannot be used.

    Empty where the file was not read, or not by this version.
    """
    with suppress(OSError, ValueError):
        written = (folder_of(token) / _EXAMPLES).read_bytes()
        return codec.read(dict[str, list[tuple[int, str]]], written)
    return {}


def _about(reading: Reading, plain: Plain, layout: Layout, sha256: str) -> About:
    data = reading.interactions
    rows = core_rows(data, CORE)
    return About(
        sha256=sha256,
        source=plain.name,
        source_sha256=plain.sha256,
        added_at=now(),
        rows=reading.rows,
        kept=len(data),
        unused=dict(reading.unused),
        columns={role: layout.names[at] for role, at in layout.roles},
        raw_users=data.n_users,
        raw_items=data.n_items,
        users=_distinct(data.users[rows]),
        items=_distinct(data.items[rows]),
        interactions=len(rows),
    )


def _distinct(codes: np.ndarray) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if len(codes) else 0


def _write(data: Interactions, path: Path) -> None:
    def ids(codes: np.ndarray, texts: np.ndarray) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts.tolist()))

    columns = {
        "user_id": ids(data.users, data.user_ids),
        "item_id": ids(data.items, data.item_ids),
        "rating": data.ratings,
        "timestamp": data.timestamps,
        "basket": data.baskets,
    }
    table = pa.table({role: values for role, values in columns.items() if values is not None})
    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd", compression_level=1)


def folder_of(token: str) -> Path:
    """The folder of a file that `take_in` took. Raises: InputError for what can be no token."""
    if not _TOKEN.fullmatch(token):
        raise InputError("the address names no file; drop it again")
    return data_dir() / ADDED / f".{token}"


def new_folder() -> Path:
    """A path for what nobody is to find."""
    return folder_of(secrets.token_hex(16))


def ask_layout(token: str, layout: Layout) -> None:
    """Remember what the owner asked for, for when the page is opened again."""
    if asked_layout(token) != layout:
        with suppress(OSError):
            _write_layout(folder_of(token) / _ASKED, layout)


def asked_layout(token: str) -> Layout | None:
    """What was asked for last; None where nothing was."""
    return _layout(folder_of(token) / _ASKED)


def worked_out(folder: Path, layout: Layout) -> About | None:
    """What `work_out` found with this layout; None where it has not."""
    return read_about(folder) if _layout(folder / _READ) == layout else None


def _write_layout(path: Path, layout: Layout) -> None:
    with replacing(path) as part:
        part.write_text(codec.written(layout), encoding="utf-8")


def _layout(path: Path) -> Layout | None:
    try:
        return codec.read(Layout, path.read_bytes())
    except (OSError, ValueError):
        return None


def unwritable(error: OSError) -> DatasetError:
    """The sentence about a data folder that takes nothing."""
    return DatasetError(
        f"{data_dir()} cannot be written to ({error.strerror or error}); free some space, or set "
        "ECV_DATA_DIR to a folder that can"
    )


def _remove_stale() -> None:
    with suppress(OSError):
        for folder in (data_dir() / ADDED).glob(".*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
