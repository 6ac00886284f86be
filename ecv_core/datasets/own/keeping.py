"""Added datasets on disk: taken in, kept under a name, renamed, removed; each step whole or not.

A file is worked on in a folder of its own beside the kept ones, which takes its name in one step.
The kept ones are in `added` below the data folder, and so in no other place.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ecv_core.datasets._about import ABOUT, ADDED, INTERACTIONS, About, now, read_about
from ecv_core.datasets._catalogue import catalogue
from ecv_core.datasets._dirs import data_dir
from ecv_core.datasets._hashing import file_sha256
from ecv_core.datasets.own.layout import Layout
from ecv_core.datasets.own.plain import Plain, Report, plain_file
from ecv_core.datasets.own.reading import Reading, read_rows
from ecv_core.datasets.prepare import core_rows
from ecv_core.datasets.ready import CORE
from ecv_core.errors import DatasetError, InputError, UnknownName
from ecv_core.files import replacing
from ecv_core.records import Interactions

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_]|-(?!-)){0,62}")
_TOKEN = re.compile(r"[0-9a-f]{32}")
_STALE_SECONDS = 24 * 3600
_FILE, _FILE_NAME = "file", "name.txt"


def check_name(name: str) -> None:
    """Refuse what can be no id of a new dataset. Raises: InputError."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name[:70]}' cannot be the name of a dataset: it takes 1 to 63 letters, digits, _ "
            "and single -, and begins with a letter or digit"
        )
    if any(name.lower() == known.lower() for known in catalogue()):
        raise InputError(
            f"there is a dataset '{name}' already; choose another name, or remove that one first"
        )


def suggested_name(file_name: str) -> str:
    """A free name for a dataset, made of that of its file."""
    stem = Path(file_name).name.split(".")[0].lower()
    name = re.sub(r"[^a-z0-9_]+", "-", stem).strip("-_")[:50] or "my-data"
    name = name if _NAME.fullmatch(name) else "my-data"
    taken = {known.lower() for known in catalogue()}
    more = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(one for one in more if one not in taken)


def take_in(write: Callable[[Path], None], file_name: str) -> str:
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
        raise _unwritable(error) from error
    return folder.name[1:]


def working_folder() -> Path:
    """A new folder in which a file can become a dataset. Raises: DatasetError."""
    _remove_stale()
    folder = _working(secrets.token_hex(16))
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise _unwritable(error) from error
    return folder


def taken_in(token: str, report: Report) -> tuple[Plain, Path]:
    """A file that `take_in` took, unpacked and looked through; and the folder to work in.

    Raises: InputError if it is not here any more; DatasetError as `plain_file`.
    """
    folder = _working(token)
    try:
        name = (folder / _FILE_NAME).read_text(encoding="utf-8")
    except OSError:
        raise InputError(
            "the file that this address names is not here any more: files that are not kept as a "
            "dataset are forgotten after a day; drop it again"
        ) from None
    return plain_file(folder / _FILE, name, folder, report), folder


def forget(token: str) -> None:
    """Throw away a file that `take_in` took."""
    shutil.rmtree(_working(token), ignore_errors=True)


def work_out(plain: Plain, layout: Layout, folder: Path, report: Report) -> tuple[About, Reading]:
    """Read a file, and write what becomes the dataset into `folder`, ready to be kept.

    Raises: InputError, DatasetError as `read_rows`; DatasetError if it cannot be written.
    """
    reading = read_rows(plain, layout, plain.name, report)
    try:
        (folder / ABOUT).unlink(missing_ok=True)
        report("write", 0, 1)
        _write(reading.interactions, folder / INTERACTIONS)
        about = _about(reading, plain, layout, file_sha256(folder / INTERACTIONS))
        with replacing(folder / ABOUT) as part:
            part.write_text(about.to_json(), encoding="utf-8")
    except OSError as error:
        raise _unwritable(error) from error
    return about, reading


def keep(folder: Path, name: str) -> About:
    """Make a dataset of what `work_out` wrote.

    Raises: InputError for a name that cannot be or is taken; DatasetError if nothing of it could
        ever be evaluated, or it cannot be written.
    """
    check_name(name)
    about = read_about(folder)
    if about is None or not (folder / INTERACTIONS).is_file():
        raise InputError("there is nothing to keep; read the file first")
    if not about.interactions and "rating" not in about.columns:
        raise DatasetError(
            f"nothing of {about.source} survives 5-core pruning, and without ratings nothing else "
            "can be evaluated; use a denser or larger file"
        )
    for path in folder.iterdir():
        if path.name not in (INTERACTIONS, ABOUT):
            path.unlink()
    _move(folder, _kept(name), name)
    return about


def rename(name: str, new: str) -> None:
    """Give an added dataset another name. Raises: UnknownName; InputError as `check_name`."""
    check_added(name)
    check_name(new)
    _move(_kept(name), _kept(new), new)


def remove(name: str) -> None:
    """Delete an added dataset; its runs stay. Raises: UnknownName; DatasetError."""
    check_added(name)
    folder = _working(secrets.token_hex(16))
    try:
        _kept(name).rename(folder)
    except OSError as error:
        raise _unwritable(error) from error
    shutil.rmtree(folder, ignore_errors=True)


def added() -> dict[str, About]:
    """The added datasets that are in the data folder, by name."""
    found = {}
    with suppress(OSError):
        for folder in sorted((data_dir() / ADDED).iterdir()):
            about = read_about(folder) if _NAME.fullmatch(folder.name) else None
            if about is not None:
                found[folder.name] = about
    return found


def check_added(name: str) -> None:
    """Refuse what is no added dataset of the data folder. Raises: UnknownName."""
    if not _NAME.fullmatch(name) or not (_kept(name) / INTERACTIONS).is_file():
        raise UnknownName("added dataset", name[:100], added())


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
    import pyarrow as pa
    import pyarrow.parquet as pq

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


def _kept(name: str) -> Path:
    return data_dir() / ADDED / name


def _working(token: str) -> Path:
    if not _TOKEN.fullmatch(token):
        raise InputError("the address names no file; drop it again")
    return data_dir() / ADDED / f".{token}"


def _move(folder: Path, target: Path, name: str) -> None:
    try:
        os.rename(folder, target)  # onto a kept dataset it fails
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise InputError(f"there is a dataset '{name}' already; choose another name") from None
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> DatasetError:
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
