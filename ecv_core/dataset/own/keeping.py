"""Added datasets on disk: kept under a name, renamed, removed; each in one step or not at all.

They are in `added` below the data folder, a folder for each, and in no other place.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ecv_core.dataset._about import ABOUT, ADDED, INTERACTIONS, About, read_about
from ecv_core.dataset._catalogue import catalogue
from ecv_core.dataset._dirs import data_dir
from ecv_core.dataset.own.layout import ENCODINGS, NONE, SEPARATORS, Form, Layout, TimeUnit
from ecv_core.dataset.own.plain import Plain, Report, plain_file
from ecv_core.dataset.own.recognise import Recognised, look_again, recognise, with_unit
from ecv_core.dataset.own.working import new_folder, unwritable, work_out, working_folder
from ecv_core.records.errors import DatasetError, InputError, UnknownName

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


def suggested_name(file_name: str) -> str:
    """A free name for a dataset, made of that of its file."""
    stem = Path(file_name).name.split(".")[0].lower()
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
    if not about.interactions and "rating" not in about.columns:
        raise DatasetError(
            f"nothing of {about.source} survives 5-core pruning, and without ratings nothing else "
            "can be evaluated; use a denser or larger file"
        )
    if added_by:
        try:
            (folder / _ADDED_BY).write_text(added_by, encoding="utf-8")
        except OSError as error:
            raise unwritable(error) from error
    _move(folder, _kept(name), name)
    for path in _kept(name).iterdir():  # what it was made of is needed no more
        if path.name not in (INTERACTIONS, ABOUT, _ADDED_BY):
            with suppress(OSError):
                path.unlink()
    return about


def rename(name: str, new: str) -> None:
    """Give an added dataset another name. Raises: UnknownName; InputError as `check_name`."""
    check_added(name)
    check_name(new)
    _move(_kept(name), _kept(new), new)


def remove(name: str) -> None:
    """Delete an added dataset; its runs stay. Raises: UnknownName; DatasetError."""
    check_added(name)
    folder = new_folder()
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


def _move(folder: Path, target: Path, name: str) -> None:
    try:
        os.rename(folder, target)  # onto a kept dataset it fails
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise InputError(f"there is a dataset '{name}' already; choose another name") from None
        raise unwritable(error) from error


# A path and corrections to what is recognised -> a dataset under a name.


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """What the owner of a file knows better than `recognise`; None leaves what it found."""

    encoding: str | None = None
    separator: str | None = None
    header: bool | None = None
    quotes: bool | None = None
    unit: TimeUnit | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Role -> a column's name, or its number from 1; NONE where no column has the role."""


def recognised(plain: Plain, asked: Corrections) -> Recognised:
    """What a file is, with these corrections.

    Raises: DatasetError for what is no table; UnknownName for a column, separator or encoding.
    """
    found = recognise(plain)
    layout = found.layout
    form = {
        name: value
        for name in ("encoding", "separator", "header", "quotes")
        if (value := getattr(asked, name)) is not None and value != getattr(layout, name)
    }
    if form and layout.form is Form.PARQUET:
        raise InputError(
            f"the file {plain.name} is Parquet, which has no {' and no '.join(form)}; leave it out"
        )
    if asked.separator not in (None, *SEPARATORS):
        raise UnknownName("separator", asked.separator or "", SEPARATORS)
    if asked.encoding not in (None, *ENCODINGS):
        raise UnknownName("encoding", asked.encoding or "", ENCODINGS)
    if form:
        found = look_again(plain, replace(layout, **form))
        layout = found.layout
    places = {
        role: None if column == NONE and NONE not in layout.names else layout.place(column)
        for role, column in asked.columns.items()
    }
    if places:
        layout = layout.with_roles(places)
        if "timestamp" in places:
            layout = with_unit(layout, found.rows)
    if asked.unit is not None:
        layout = replace(layout, unit=asked.unit)
    return replace(found, layout=layout)


def add_file(name: str, path: Path, asked: Corrections, report: Report) -> tuple[About, Layout]:
    """Add a file as a dataset.

    Args:
        name: the id of the dataset.
        path: of the file.
        asked: corrections to what is recognised.
        report: called as it goes on; what it raises ends the reading, and nothing is kept.
    Returns: what was kept, and how the file was read.
    Raises: InputError, DatasetError with what is wrong with the name, the columns or the file.
    """
    check_name(name)
    with tempfile.TemporaryDirectory() as scratch:
        plain = plain_file(path, path.name, Path(scratch), report)
        layout = recognised(plain, asked).layout
        folder = working_folder()
        try:
            work_out(plain, layout, folder, report)
            return keep(folder, name), layout
        finally:
            shutil.rmtree(folder, ignore_errors=True)
