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
from typing import TYPE_CHECKING, Any, NamedTuple
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
from ecv_core.dataset.layout import NONE, Form, Layout, TimeUnit
from ecv_core.dataset.losses import MOST_LOST, SWALLOWED, count_lost, loss_sentence, no_value_reason
from ecv_core.dataset.own.recognise import (
    Recognised,
    lists_sentence,
    recognise,
    recognise_with_layout,
    roles_sentence,
    with_unit,
    without_roles,
)
from ecv_core.dataset.plain import PlainFile, Report, no_report, plain_file
from ecv_core.dataset.pruning import CORE, core_rows
from ecv_core.dataset.reading import FileContent, read_rows
from ecv_core.dataset.remarks import interaction_remarks
from ecv_core.dataset.samples import column_remarks, read_samples, row_number_columns
from ecv_core.dataset.sources import file_sha256
from ecv_core.dataset.tables import left_out_columns, table_of
from ecv_core.records import codec
from ecv_core.records.arrays import Codes, Ids
from ecv_core.records.errors import DatasetError, EcvError, InputError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.tasks import Task
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    import pandas as pd

# A file that somebody gave, for as long as it is worked on: taken in, read, ready to be kept.


NOTHING: Mapping[str, Any] = {}

_TOKEN = re.compile(r"[0-9a-f]{32}")
_STALE_SECONDS = 24 * 3600
_FILE = "file"
_FILE_NAME = "name.txt"
_ASKED_LAYOUT = "asked.json"
"""The layout that the owner asked for last; it goes with the file when the dataset is kept."""
_READ_LAYOUT = "read.json"
"""The layout by which the file was read; it goes as well."""


def take_in(write: Callable[[Path], object], file_name: str) -> str:
    """Keep a file that somebody gave for as long as it is worked on.

    Args:
        write: Writes it to the path that it is given.
        file_name: What its owner calls it.

    Returns:
        The token by which it is found again, for a day.

    Raises:
        DatasetError: If it cannot be written.
    """
    folder = make_working_folder()
    try:
        write(folder / _FILE)
        (folder / _FILE_NAME).write_text(file_name[:200], encoding="utf-8", errors="replace")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise unwritable_error(error) from error
    return folder.name[1:]


def make_working_folder() -> Path:
    """A new folder in which a file can become a dataset. Raises: DatasetError."""
    _remove_stale_folders()
    folder = folder_of(secrets.token_hex(16))
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise unwritable_error(error) from error
    return folder


def _remove_stale_folders() -> None:
    """Throw away the files that nobody worked on for a day."""
    with suppress(OSError):
        for folder in (data_dir() / ADDED).glob(".*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


def taken_in(token: str) -> PlainFile:
    """A file that `take_in` took, unpacked and looked through.

    Raises:
        InputError: If it is not here any more.
        DatasetError: As `plain_file`.
    """
    folder = folder_of(token)
    try:
        name = (folder / _FILE_NAME).read_text(encoding="utf-8")
    except OSError:
        raise InputError(
            "the file in this address is no longer here: it was added or discarded, or is older "
            "than a day; drop it again"
        ) from None
    return plain_file(folder / _FILE, name, folder, no_report)


def forget(token: str) -> None:
    """Throw away a file that `take_in` took."""
    shutil.rmtree(folder_of(token), ignore_errors=True)


def build_dataset(plain: PlainFile, layout: Layout, folder: Path, report: Report) -> About:
    """Read a file, and write what becomes the dataset into `folder`, ready to be kept.

    Raises:
        InputError, DatasetError: As `read_rows`.
        DatasetError: If it cannot be written, or read within the limits of memory and time.
    """
    if not plain.parquet and plain.size <= limits.READ_HERE_BYTES:
        return _read_and_write(plain, layout, folder, report)
    return bounded.run_in_child(
        _read_and_write,
        plain,
        layout,
        folder,
        what=f"the file {plain.name}",
        size=plain.given_bytes,
        error=DatasetError,
        report=report,
    )


def _read_and_write(plain: PlainFile, layout: Layout, folder: Path, report: Report) -> About:
    """As `build_dataset`, in whichever process it is called."""
    target = layout.column("target")
    try:
        if target is None:
            content = read_rows(plain, layout, plain.name, report)
            _begin_writing(folder, report)
            about = _write_interactions(content, plain, layout, folder / INTERACTIONS)
        else:
            frame, unfit = read_samples(plain, layout, report)
            _begin_writing(folder, report)
            name = layout.names[target]
            about = _write_samples(frame, unfit, plain, name, folder / INTERACTIONS)
            remarks = column_remarks(frame, decimal_comma=layout.decimal_comma)
            about = replace(about, remarks=remarks)
        _write_json(folder / ABOUT, about)
        _write_json(folder / _READ_LAYOUT, layout)
    except OSError as error:
        raise unwritable_error(error) from error
    return about


def _begin_writing(folder: Path, report: Report) -> None:
    """Until all is written, nothing says by which layout the file was read. Raises: OSError."""
    (folder / _READ_LAYOUT).unlink(missing_ok=True)
    report("write", 0, 1)


def _write_interactions(
    content: FileContent, plain: PlainFile, layout: Layout, path: Path
) -> About:
    """Write what a file holds; returns what is to be kept beside it. Raises: OSError."""
    data = content.interactions
    with replacing(path) as temporary_path:
        pq.write_table(_table(data), temporary_path, compression="zstd", compression_level=1)
    core = core_rows(data, CORE)
    columns = {role: layout.names[place] for role, place in layout.roles}
    return About(
        sha256=file_sha256(path),
        source=plain.name,
        added_at=now(),
        rows=content.rows,
        kept=len(data),
        unused=dict(content.unused),
        examples=dict(content.examples),
        columns=columns,
        remarks=interaction_remarks(data, columns),
        raw_users=data.n_users,
        raw_items=data.n_items,
        users=len(np.unique(data.users[core])),
        items=len(np.unique(data.items[core])),
        interactions=len(core),
        busiest=int(np.bincount(data.users).max()),
    )


def _table(data: Interactions) -> pa.Table:
    """Interactions as the table that is kept, with the columns that they have."""
    columns = {
        "user_id": _dictionary(data.users, data.user_ids),
        "item_id": _dictionary(data.items, data.item_ids),
        "rating": data.ratings,
        "timestamp": data.moments,
        "basket": data.baskets,
        "cluster": data.clusters,
    }
    return pa.table({role: values for role, values in columns.items() if values is not None})


def _dictionary(codes: Codes, ids: Ids) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(ids.tolist()))


def _write_samples(
    frame: pd.DataFrame, unfit: Mapping[str, int], plain: PlainFile, target: str, path: Path
) -> About:
    """Check a table of samples and write it; returns what is to be kept beside it.

    Raises:
        DatasetError: For an unfit target; OSError.
    """
    if frame.columns.has_duplicates:
        raise DatasetError(
            f"two columns of {plain.name} have the same name; give each a name of its own"
        )
    # What the features leave out is kept by the name of the column, with the reason.
    reasons_left_out = {}
    for column in row_number_columns(frame):
        if column != target:
            reasons_left_out[column] = "it has no name, and numbers the rows"
    frame = frame.drop(columns=list(reasons_left_out))
    if reasons_left_out and len(frame.columns) == 1:
        raise DatasetError(
            f"no column but the target '{target}' can be learnt from: the others only number the "
            "rows; add a column of numbers"
        )
    table = table_of(plain.name, frame, target)
    reasons_left_out |= left_out_columns(frame.drop(columns=target))
    task = Task.NUMBERS
    classes = 0
    if table.classes is not None:
        task = Task.CLASSES
        classes = len(table.classes)
    with replacing(path) as temporary_path:
        frame.to_parquet(temporary_path, index=False)
    # A table counts its samples as users and its features as items, and nothing is pruned.
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
        task=task,
        classes=classes,
        left_out=reasons_left_out,
    )


def folder_of(token: str) -> Path:
    """The folder of a file that `take_in` took. Raises: InputError for what can be no token."""
    if not _TOKEN.fullmatch(token):
        raise InputError("this address has no file; drop it again")
    return data_dir() / ADDED / f".{token}"


def keep_layout(token: str, layout: Layout) -> None:
    """Remember what the owner asked for, for when the page is opened again."""
    if kept_layout(token) != layout:
        with suppress(OSError):
            _write_json(folder_of(token) / _ASKED_LAYOUT, layout)


def kept_layout(token: str) -> Layout | None:
    """What was asked for last; None where nothing was."""
    return _read_layout(folder_of(token) / _ASKED_LAYOUT)


def built_dataset(folder: Path, layout: Layout) -> About | None:
    """What `build_dataset` returned for this layout; None where it has not read the file so."""
    if _read_layout(folder / _READ_LAYOUT) != layout:
        return None
    return read_about(folder)


def _write_json(path: Path, value: object) -> None:
    with replacing(path) as temporary_path:
        temporary_path.write_text(codec.json_text(value), encoding="utf-8")


def _read_layout(path: Path) -> Layout | None:
    try:
        return codec.read(Layout, path.read_bytes())
    except (OSError, ValueError):
        return None


def unwritable_error(error: OSError) -> DatasetError:
    """The sentence about a data folder that takes nothing."""
    return DatasetError(
        f"{data_dir()} cannot be written to ({error.strerror or error}); free some space, or "
        "set ECV_DATA_DIR to a folder that is writable"
    )


# Datasets that are kept: under a name, removed; each in one step or not at all.


_ADDED_BY = "added-by.txt"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_]|-(?!-)){0,62}")
_TELLING_ROWS = 10
"""In fewer rows it is chance that no id comes twice."""
_DEVICE = re.compile(r"(?i)con|prn|aux|nul|com\d|lpt\d")
"""Names that no file can have on Windows."""


def check_name(name: str) -> None:
    """Refuse what can be no id of a new dataset. Raises: InputError."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name[:70]}' cannot be the name of a dataset: use 1 to 63 letters, digits, _ and "
            "single -, beginning with a letter or digit"
        )
    if _DEVICE.fullmatch(name):
        raise InputError(
            f"'{name}' is the name of a device on Windows, not of a file; choose another name"
        )
    if name.lower() in {dataset_id.lower() for dataset_id in catalogue()}:
        raise InputError(
            f"there is a dataset '{name}' already; choose another name, or remove that one first"
        )


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def suggested_name(file_name: str) -> str:
    """A free name for a dataset, made of that of its file."""
    stem = Path(file_name).name.split(".")[0].casefold()
    without_accents = normalize("NFKD", stem.translate(_UMLAUTS)).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9_]+", "-", without_accents).strip("-_")[:50]
    if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name):
        name = "my-data"
    taken = {dataset_id.lower() for dataset_id in catalogue()}
    candidate = name
    number = 1
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def keep(folder: Path, name: str, *, added_by: str = "") -> About:
    """Make a dataset of what `build_dataset` wrote.

    Args:
        folder: Where it wrote.
        name: The name of the dataset.
        added_by: The id of a person, see `added_by`.

    Raises:
        InputError: For a name that cannot be or is taken.
        DatasetError: If nothing of it could ever be evaluated, or it cannot be written.
    """
    check_name(name)
    about = read_about(folder)
    if about is None or not (folder / INTERACTIONS).is_file():
        raise InputError("there is nothing to add; read the file first")
    _check_can_be_evaluated(about)
    kept_folder = _kept_folder(name)
    try:
        if added_by:
            (folder / _ADDED_BY).write_text(added_by, encoding="utf-8")
        # Renaming fails where a dataset is kept under this name.
        os.rename(folder, kept_folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise InputError(f"there is a dataset '{name}' already; choose another name") from None
        raise unwritable_error(error) from error
    # The file that the dataset was made of, and how it was read, are needed no more.
    for path in kept_folder.iterdir():
        if path.name not in (INTERACTIONS, ABOUT, _ADDED_BY):
            with suppress(OSError):
                path.unlink()
    return about


def _check_can_be_evaluated(about: About) -> None:
    """Refuse interactions of which nothing could ever be evaluated. Raises: DatasetError."""
    if about.interactions or about.task:
        return
    if about.kept >= _TELLING_ROWS and about.kept == about.raw_users == about.raw_items:
        raise DatasetError(
            f"no user and no item of {about.source} comes twice, so nothing can be learnt from it; "
            "check whether the columns have the right roles"
        )
    if "rating" in about.columns:
        return
    way_out = loss_sentence(about.unused, about.rows) or "use a denser or larger file"
    raise DatasetError(
        f"nothing of {about.source} survives 5-core pruning, and without ratings there is "
        f"nothing else to evaluate; {way_out}"
    )


def remove(name: str) -> None:
    """Delete an added dataset; its runs stay. Raises: UnknownName; DatasetError."""
    check_added(name)
    # The dataset is renamed first, which takes one step: nobody ever reads one half deleted.
    discarded = folder_of(secrets.token_hex(16))
    try:
        _kept_folder(name).rename(discarded)
    except OSError as error:
        raise unwritable_error(error) from error
    shutil.rmtree(discarded, ignore_errors=True)


def added() -> dict[str, About]:
    """The added datasets that are in the data folder, by name."""
    datasets = {}
    with suppress(OSError):
        for folder in sorted((data_dir() / ADDED).iterdir()):
            about = read_about(folder)
            if about is not None and _NAME.fullmatch(folder.name):
                datasets[folder.name] = about
    return datasets


def added_by(name: str) -> str:
    """The id of the person who added a dataset; empty where that is nobody in particular.

    Raises:
        UnknownName.
    """
    check_added(name)
    with suppress(FileNotFoundError):
        return (_kept_folder(name) / _ADDED_BY).read_text(encoding="utf-8")
    return ""


def check_added(name: str) -> None:
    """Refuse what is no added dataset of the data folder. Raises: UnknownName."""
    if not _NAME.fullmatch(name) or not (_kept_folder(name) / INTERACTIONS).is_file():
        raise UnknownName("added dataset", name[:100], added())


def _kept_folder(name: str) -> Path:
    return data_dir() / ADDED / name


# A path, and what of it is recognised wrongly -> a dataset under a name.


class LeaveOut(NamedTuple):
    """Rows that their owner leaves out although they can be read."""

    not_above_zero: str = ""
    """Those with 0 or less in this column, by its name or number from 1; empty for none."""
    bots: bool = False
    """Those of users who have more than a tenth of all rows."""


NOTHING_LEFT_OUT = LeaveOut()


def recognise_with_corrections(
    plain: PlainFile,
    columns: Mapping[str, str],
    unit: TimeUnit | None = None,
    layout_fields: Mapping[str, Any] = NOTHING,
    leave_out: LeaveOut = NOTHING_LEFT_OUT,
) -> Recognised:
    """What a file is, corrected by what its owner knows better.

    Args:
        columns: Role -> a column's name, or its number from 1; NONE where no column has the role.
        unit: How times are written; None as recognised.
        layout_fields: The layout fields of text, that are corrected: encoding, separator, header,
            quotes.
        leave_out: Which rows are to be left out although they can be read.

    Raises:
        DatasetError: For what is no table.
        UnknownName: For a column.
    """
    recognition = recognise(plain)
    # Parquet has no encoding, separator, header or quotes that could be corrected.
    if layout_fields and recognition.layout.form is not Form.PARQUET:
        recognition = recognise_with_layout(plain, replace(recognition.layout, **layout_fields))
    layout = _layout_with_roles(recognition, columns, unit)
    if leave_out.not_above_zero:
        layout = replace(layout, above_zero=layout.place(leave_out.not_above_zero))
    layout = replace(layout, without_bots=leave_out.bots)
    recognition = replace(recognition, layout=layout)
    reason = lists_sentence(recognition)
    if reason:
        raise DatasetError(f"the file {plain.name} cannot be used: {reason}")
    return recognition


def _layout_with_roles(
    recognition: Recognised, columns: Mapping[str, str], unit: TimeUnit | None
) -> Layout:
    """The layout with corrected roles of columns, and the unit of its times.

    Args:
        recognition: What was recognised.
        columns, unit: as of `recognise_with_corrections`.

    Raises:
        UnknownName: For a column.
    """
    layout = recognition.layout
    column_places = _column_places(layout, columns)
    if column_places:
        layout = layout.with_roles(column_places)
    if unit is not None:
        return replace(layout, unit=unit)
    if "timestamp" in column_places:
        # The unit that was recognised may be that of another column.
        return with_unit(layout, recognition.rows)
    return layout


def _column_places(layout: Layout, columns: Mapping[str, str]) -> dict[str, int | None]:
    """Role -> the place of the column that is to have it; None where none is to.

    Raises:
        UnknownName: For a column.
    """
    places: dict[str, int | None] = {}
    for role, column in columns.items():
        if column == NONE and NONE not in layout.names:
            places[role] = None
        else:
            places[role] = layout.place(column)
    return places


def add_file(
    name: str,
    path: Path,
    columns: Mapping[str, str],
    report: Report,
    *,
    unit: TimeUnit | None = None,
    layout_fields: Mapping[str, Any] = NOTHING,
    leave_out: LeaveOut = NOTHING_LEFT_OUT,
    even_if_lossy: bool = False,
) -> tuple[About, Recognised]:
    """Add a file as a dataset.

    Args:
        name: The id of the dataset.
        path: The path of the file.
        columns, unit, layout_fields, leave_out: as of `recognise_with_corrections`.
        report: Called as it goes on; what it raises ends the reading, and nothing is kept.
        even_if_lossy: Whether it is kept even if more than MOST_LOST of its rows are lost.

    Returns:
        What was kept, and how the file was read.

    Raises:
        InputError, DatasetError: With what is wrong with the name, the columns or the file.
    """
    check_name(name)
    with tempfile.TemporaryDirectory() as scratch:
        plain = plain_file(path, path.name, Path(scratch), report)
        recognition = recognise_with_corrections(plain, columns, unit, layout_fields, leave_out)
        folder = make_working_folder()

        def build(layout: Layout) -> About:
            return build_dataset(plain, layout, folder, report)

        try:
            corrections = {*columns, *layout_fields}
            about, recognition = _build_without_lossy_guesses(build, recognition, corrections)
            reason = loss_sentence(about.unused, about.rows)
            if reason and not even_if_lossy:
                raise InputError(
                    f"{reason}; nothing has been added yet: `add --yes` adds the other rows"
                )
            return keep(folder, name), recognition
        except EcvError as error:
            # Whoever reads this error has not seen which columns were taken for what.
            raise type(error)(f"{roles_sentence(recognition.layout)} {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _build_without_lossy_guesses(
    build: Callable[[Layout], About], recognition: Recognised, corrections: set[str]
) -> tuple[About, Recognised]:
    """Build a dataset, and anew without the guesses that cost too many rows.

    Args:
        build: Reads the file by a layout; what the last call wrote becomes the dataset.
        recognition: How the file is read at first.
        corrections: Roles, and fields of the layout, that somebody has set: these are no guesses.

    Returns:
        What was read, and how; its notes say which guesses were given up.

    Raises:
        InputError, DatasetError: As `build_dataset`.
    """
    about = build(recognition.layout)
    # A quotation mark that nobody closed swallows the rows below it.
    if SWALLOWED in about.unused and "quotes" not in corrections:
        about, recognition = _build_without_quotes(build, recognition, about)
    # A column may have been taken for ratings or times that most rows lack, which then are lost.
    less_lossy = _without_lossy_roles(recognition, about, corrections)
    if less_lossy.layout != recognition.layout:
        about = build(less_lossy.layout)
    return about, less_lossy


def _build_without_quotes(
    build: Callable[[Layout], About], recognition: Recognised, with_quotes: About
) -> tuple[About, Recognised]:
    """Read a file with quotation marks as signs like any other, unless that loses more rows.

    Args:
        build: As of `_build_without_lossy_guesses`.
        recognition: How the file was read, with fields in quotation marks.
        with_quotes: What was read so.

    Returns:
        What was read by the better way, and how.
    """
    unquoted = replace(recognition.layout, quotes=False)
    without_quotes = build(unquoted)
    if count_lost(without_quotes.unused) >= count_lost(with_quotes.unused):
        # The file is read anew, because the last call wrote what was read without quotation marks.
        return build(recognition.layout), recognition
    note = "Quotation marks are read as ordinary characters, so that no line is lost."
    notes = (*recognition.notes, note)
    return without_quotes, replace(recognition, layout=unquoted, notes=notes)


def _without_lossy_roles(
    recognition: Recognised, about: About, corrections: set[str]
) -> Recognised:
    """The same without the guessed roles for whose lack more than MOST_LOST of the rows were lost.

    Args:
        recognition: How the file was read.
        about: What was read so.
        corrections: Roles that somebody has set, which stay.
    """
    empty_counts = {}
    for role in about.columns:
        empty_count = about.unused.get(no_value_reason(role, recognition.layout.unit), 0)
        if role not in corrections and empty_count > MOST_LOST * about.rows:
            empty_counts[role] = empty_count
    return without_roles(recognition, empty_counts, f"{about.rows:,}")
