"""Dataset entry -> its official file in the data folder, complete and verified or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ecv_core.dataset.entries import DatasetEntry, SourceFile
from ecv_core.dataset.folders import data_dir
from ecv_core.dataset.layout import Unreadable
from ecv_core.dataset.loading import read_file
from ecv_core.dataset.sources import FileSource, how_to_supply, own_copy_words
from ecv_core.records.errors import DatasetError
from ecv_core.untrusted.files import replacing

_CHUNK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 30
"""Without a byte from the server."""
_STALE_SECONDS = 3600
"""A part file that was not touched for so long belongs to a process that was killed."""


def download(dataset: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
    """Fetch the official file into `data_dir()` and check it; returns where it is.

    It is written under a temporary name and renamed once it has passed the same checks as `load`
    makes, so a cut download leaves nothing behind and the next one starts afresh.

    Args:
        dataset: One with a url.
        progress: Called with (bytes done, bytes in all); 0 in all where the server does not say.
            What it raises ends the download and reaches the caller.

    Raises:
        DatasetError: If the server cannot be reached, sends something else, or the disk is full or
            read-only.
    """
    form = _downloadable_form(dataset)
    if form is None or form.url is None:
        raise DatasetError(f"dataset '{dataset.id}' cannot be downloaded; {how_to_supply(dataset)}")
    target = data_dir() / form.names[0]
    try:
        _remove_stale_parts(target)
        with replacing(target, readable_by_others=True) as part:
            _fetch(form.url, part, progress)
            read_file(FileSource(path=part, form=form), dataset.id)
    except Unreadable as error:
        reason = f"the downloaded file is not the dataset ({error})"
        raise _download_error(dataset, reason) from error
    except OSError as error:  # The errors of requests are OSErrors.
        raise _download_error(dataset, _reason(error)) from error
    return target


def _downloadable_form(dataset: DatasetEntry) -> SourceFile | None:
    for form in dataset.files:
        if form.url:
            return form
    return None


def _remove_stale_parts(target: Path) -> None:
    for part in target.parent.glob(f".{target.name}-*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _STALE_SECONDS:
                part.unlink()


def _fetch(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
    # The import takes a tenth of a second, and only a download needs it.
    import requests

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
    """Why the server or the disk refused, as half a sentence."""
    from requests import RequestException

    if not isinstance(error, RequestException):
        return f"{data_dir()} cannot be written to ({error.strerror or error})"
    if error.response is None:
        return "the server cannot be reached, or stopped answering before the file was complete"
    return f"the server answered {error.response.status_code} {error.response.reason}"


def _download_error(dataset: DatasetEntry, reason: str) -> DatasetError:
    return DatasetError(
        f"downloading {dataset.id} from {dataset.url} failed: {reason}; try again, or "
        f"{own_copy_words(dataset)}"
    )
