"""A file of one's own, in whatever form -> a dataset under a name: recognised, read, kept.

While it is worked on it has a folder of its own, beside the kept datasets and named by a token that
nobody can guess. What is done with it is in there too, so that a page that is reloaded goes on
where it was. Kept datasets are in `added` below the data folder, a folder for each.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core.dataset.about import ABOUT, ADDED, INTERACTIONS, now, read_about
from ecv_core.dataset.about import About as About  # also for those who take it from here
from ecv_core.dataset.entries import catalogue
from ecv_core.dataset.folders import data_dir
from ecv_core.dataset.layout import NONE, Layout, TimeUnit
from ecv_core.dataset.losses import loss
from ecv_core.dataset.own.recognise import Recognised, recognise, with_unit
from ecv_core.dataset.plain import Plain, Report, plain_file
from ecv_core.dataset.pruning import CORE, core_rows
from ecv_core.dataset.reading import FileContent, read_rows
from ecv_core.dataset.samples import read_samples
from ecv_core.dataset.sources import file_sha256
from ecv_core.dataset.tables import table_of
from ecv_core.records import codec
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    import pandas as pd

# A file that somebody gave, for as long as it is worked on: taken in, read, ready to be kept.


Kind = TypeVar("Kind")

_TOKEN = re.compile(r"[0-9a-f]{32}")
_STALE_SECONDS = 24 * 3600
_FILE, _FILE_NAME = "file", "name.txt"
_ASKED, _READ = "asked.json", "read.json"
"""The layout that the owner asked for last, and the one by which the file was read; they go with
the file when the dataset is kept."""


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
    with suppress(OSError):
        for stale in (data_dir() / ADDED).glob(".*"):
            with suppress(OSError):
                if time.time() - stale.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(stale, ignore_errors=True)
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
            "the file that this address names is not here any more: it was kept or thrown away, or "
            "is older than a day; drop it again"
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
    return bounded.in_child(
        _work_out, *given, what=what, size=plain.given, error=DatasetError, report=report
    )


def _work_out(plain: Plain, layout: Layout, folder: Path, report: Report) -> About:
    samples = read_samples(plain, layout, report) if layout.column("target") is not None else None
    reading = read_rows(plain, layout, plain.name, report) if samples is None else None
    try:
        (folder / _READ).unlink(missing_ok=True)
        report("write", 0, 1)
        if reading is not None:
            _write(reading.interactions, folder / INTERACTIONS)
            about = _about(reading, plain, layout, file_sha256(folder / INTERACTIONS))
        elif samples is not None:
            about = _about_samples(*samples, plain, layout, folder / INTERACTIONS)
        _note(folder / ABOUT, about)
        _note(folder / _READ, layout)
    except OSError as error:
        raise unwritable(error) from error
    return about


def _about(reading: FileContent, plain: Plain, layout: Layout, sha256: str) -> About:
    data = reading.interactions
    rows = core_rows(data, CORE)
    return About(
        sha256=sha256,
        source=plain.name,
        added_at=now(),
        rows=reading.rows,
        kept=len(data),
        unused=dict(reading.unused),
        examples=dict(reading.examples),
        columns={role: layout.names[at] for role, at in layout.roles},
        raw_users=data.n_users,
        raw_items=data.n_items,
        users=_distinct(data.users[rows]),
        items=_distinct(data.items[rows]),
        interactions=len(rows),
    )


def _about_samples(
    frame: pd.DataFrame, unfit: Mapping[str, int], plain: Plain, layout: Layout, path: Path
) -> About:
    """Check a table of samples and write it. Raises: DatasetError for an unfit target."""
    target = layout.names[dict(layout.roles)["target"]]
    if frame.columns.has_duplicates:
        raise DatasetError(
            f"two columns of {plain.name} have the same name; give each a name of its own"
        )
    table = table_of(plain.name, frame, target)
    with replacing(path) as part:
        frame.to_parquet(part, index=False)
    return About(
        sha256=file_sha256(path),
        source=plain.name,
        added_at=now(),
        rows=len(frame) + sum(unfit.values()),
        kept=len(frame),
        unused=dict(unfit),
        columns={"target": target},
        raw_users=len(table),
        raw_items=table.features.shape[1],
        users=0,
        items=0,
        interactions=0,
        task=Task.NUMBERS if table.classes is None else Task.CLASSES,
        classes=0 if table.classes is None else len(table.classes),
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
        "cluster": data.clusters,
    }
    table = pa.table({role: values for role, values in columns.items() if values is not None})
    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd", compression_level=1)


def folder_of(token: str) -> Path:
    """The folder of a file that `take_in` took. Raises: InputError for what can be no token."""
    if not _TOKEN.fullmatch(token):
        raise InputError("the address names no file; drop it again")
    return data_dir() / ADDED / f".{token}"


def ask_layout(token: str, layout: Layout) -> None:
    """Remember what the owner asked for, for when the page is opened again."""
    if asked_layout(token) != layout:
        with suppress(OSError):
            _note(folder_of(token) / _ASKED, layout)


def asked_layout(token: str) -> Layout | None:
    """What was asked for last; None where nothing was."""
    return _noted(folder_of(token) / _ASKED, Layout)


def worked_out(folder: Path, layout: Layout) -> About | None:
    """What `work_out` found with this layout; None where it has not."""
    return read_about(folder) if _noted(folder / _READ, Layout) == layout else None


def _note(path: Path, value: object) -> None:
    with replacing(path) as part:
        part.write_text(codec.written(value), encoding="utf-8")


def _noted(path: Path, kind: type[Kind]) -> Kind | None:
    try:
        return codec.read(kind, path.read_bytes())
    except (OSError, ValueError):
        return None


def unwritable(error: OSError) -> DatasetError:
    """The sentence about a data folder that takes nothing."""
    return DatasetError(
        f"{data_dir()} cannot be written to ({error.strerror or error}); free some space, or set "
        "ECV_DATA_DIR to a folder that can"
    )


# Datasets that are kept: under a name, removed; each in one step or not at all.


_ADDED_BY = "added-by.txt"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_]|-(?!-)){0,62}")


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


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def suggested_name(file_name: str) -> str:
    """A free name for a dataset, made of that of its file."""
    stem = Path(file_name).name.split(".")[0].casefold()
    stem = normalize("NFKD", stem.translate(_UMLAUTS)).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9_]+", "-", stem).strip("-_")[:50] or "my-data"
    name = name if _NAME.fullmatch(name) else "my-data"
    taken = {known.lower() for known in catalogue()}
    more = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(one for one in more if one not in taken)


def keep(folder: Path, name: str, *, added_by: str = "") -> About:
    """Make a dataset of what `work_out` wrote.

    Args:
        folder: where it wrote.
        name: of the dataset.
        added_by: the id of a person, see `added_by`.
    Raises: InputError for a name that cannot be or is taken; DatasetError if nothing of it could
        ever be evaluated, or it cannot be written.
    """
    check_name(name)
    about = read_about(folder)
    if about is None or not (folder / INTERACTIONS).is_file():
        raise InputError("there is nothing to keep; read the file first")
    if not (about.interactions or about.task) and "rating" not in about.columns:
        way_out = loss(about.unused, about.rows) or "use a denser or larger file"
        raise DatasetError(
            f"nothing of {about.source} survives 5-core pruning, and without ratings nothing else "
            f"can be evaluated; {way_out}"
        )
    try:
        if added_by:
            (folder / _ADDED_BY).write_text(added_by, encoding="utf-8")
        os.rename(folder, _kept(name))  # onto a kept dataset it fails
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise InputError(f"there is a dataset '{name}' already; choose another name") from None
        raise unwritable(error) from error
    for path in _kept(name).iterdir():  # what it was made of is needed no more
        if path.name not in (INTERACTIONS, ABOUT, _ADDED_BY):
            with suppress(OSError):
                path.unlink()
    return about


def remove(name: str) -> None:
    """Delete an added dataset; its runs stay. Raises: UnknownName; DatasetError."""
    check_added(name)
    folder = folder_of(secrets.token_hex(16))
    try:
        _kept(name).rename(folder)
    except OSError as error:
        raise unwritable(error) from error
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


def added_by(name: str) -> str:
    """The id of the person who added a dataset; empty where that is nobody in particular.

    Raises: UnknownName.
    """
    check_added(name)
    with suppress(FileNotFoundError):
        return (_kept(name) / _ADDED_BY).read_text(encoding="utf-8")
    return ""


def check_added(name: str) -> None:
    """Refuse what is no added dataset of the data folder. Raises: UnknownName."""
    if not _NAME.fullmatch(name) or not (_kept(name) / INTERACTIONS).is_file():
        raise UnknownName("added dataset", name[:100], added())


def _kept(name: str) -> Path:
    return data_dir() / ADDED / name


# A path, and what of it is recognised wrongly -> a dataset under a name.


def recognised(
    plain: Plain, columns: Mapping[str, str], unit: TimeUnit | None = None
) -> Recognised:
    """What a file is, corrected by what its owner knows better.

    Args:
        columns: role -> a column's name, or its number from 1; NONE where no column has the role.
        unit: how times are written; None as recognised.
    Raises: DatasetError for what is no table; UnknownName for a column.
    """
    found = recognise(plain)
    layout = found.layout
    places = {
        role: None if column == NONE and NONE not in layout.names else layout.place(column)
        for role, column in columns.items()
    }
    if places:
        layout = layout.with_roles(places)
        if "timestamp" in places:
            layout = with_unit(layout, found.rows)
    return replace(found, layout=layout if unit is None else replace(layout, unit=unit))


def add_file(
    name: str,
    path: Path,
    columns: Mapping[str, str],
    report: Report,
    *,
    unit: TimeUnit | None = None,
    lossy: bool = False,
) -> tuple[About, Recognised]:
    """Add a file as a dataset.

    Args:
        name: the id of the dataset.
        path: of the file.
        columns, unit: as of `recognised`.
        report: called as it goes on; what it raises ends the reading, and nothing is kept.
        lossy: whether it is kept even if more than MOST_LOST of its rows are lost.
    Returns: what was kept, and how the file was read.
    Raises: InputError, DatasetError with what is wrong with the name, the columns or the file.
    """
    check_name(name)
    with tempfile.TemporaryDirectory() as scratch:
        plain = plain_file(path, path.name, Path(scratch), report)
        found = recognised(plain, columns, unit)
        folder = working_folder()
        try:
            about = work_out(plain, found.layout, folder, report)
            if not lossy and (why := loss(about.unused, about.rows)):
                raise InputError(f"{why}; nothing is kept yet: `add --yes` keeps the other rows")
            return keep(folder, name), found
        finally:
            shutil.rmtree(folder, ignore_errors=True)
