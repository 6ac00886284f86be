"""A path and corrections to what is recognised -> a dataset under a name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ecv_core.datasets._about import About
from ecv_core.datasets.own.keeping import check_name, keep
from ecv_core.datasets.own.layout import ENCODINGS, NONE, SEPARATORS, Form, Layout, TimeUnit
from ecv_core.datasets.own.plain import Plain, Report, plain_file
from ecv_core.datasets.own.recognise import Recognised, look_again, recognise, with_unit
from ecv_core.datasets.own.working import work_out, working_folder
from ecv_core.errors import InputError, UnknownName


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
