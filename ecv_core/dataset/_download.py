"""Dataset entry -> its official file in the data folder, complete and verified or not at all."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ecv_core.dataset._catalogue import DatasetEntry, data_dir, how_to_supply
from ecv_core.dataset._load import Unreadable, read
from ecv_core.records.errors import DatasetError
from ecv_core.untrusted.files import replacing

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
