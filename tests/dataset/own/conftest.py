from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ecv_core.dataset.layout import Layout, TimeUnit
from ecv_core.dataset.own import recognise_with_corrections
from ecv_core.dataset.own.recognise import recognise_with_layout
from ecv_core.dataset.plain import no_report, plain_file
from ecv_core.dataset.reading import FileContent, read_rows
from ecv_core.untrusted import bounded

Read = Callable[..., tuple[Layout, FileContent]]


@pytest.fixture(autouse=True)
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet too is read in this process: a child for each takes its time."""
    monkeypatch.setattr(bounded, "run_in_child", here)


def here(function: Callable[..., object], *arguments: object, **more: object) -> object:
    report = more.get("report")
    return function(*arguments, *([report] if report else []))


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Content of a file -> how it is read, and what it holds."""

    def reading(content: bytes | str, name: str = "file.csv", **asked: object):
        source = tmp_path / name
        source.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_path(source, **asked)

    return reading


def read_path(
    source: Path,
    columns: Mapping[str, str] | None = None,
    unit: TimeUnit | None = None,
    **corrected: object,
) -> tuple[Layout, FileContent]:
    plain = plain_file(source, source.name, source.parent, no_report)
    layout = recognise_with_corrections(plain, columns or {}, unit).layout
    if corrected and {name: getattr(layout, name) for name in corrected} != corrected:
        layout = recognise_with_layout(plain, replace(layout, **corrected)).layout  # as on the page
        layout = layout if unit is None else replace(layout, unit=unit)
    return layout, read_rows(plain, layout, "mine", no_report)


def rows_of(reading: FileContent) -> list[tuple[object, ...]]:
    """(user, item[, rating][, timestamp][, basket]) of each interaction, in the file's order."""
    data = reading.interactions
    columns: list[list[object]] = [
        data.user_ids[data.users].tolist(),
        data.item_ids[data.items].tolist(),
    ]
    optional = (data.ratings, data.timestamps, data.baskets)
    columns += [values.tolist() for values in optional if values is not None]
    return list(zip(*columns, strict=True))
