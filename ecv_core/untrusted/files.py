"""Files: read no further than a limit, written as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader
from lzma import LZMAError
from pathlib import Path
from zipfile import BadZipFile

_PIECE = 1 << 20
_TRIES = 40
_PAUSE_SECONDS = 0.05
_VALUES = (ValueError, OverflowError, struct.error)
DAMAGED = (OSError, EOFError, RuntimeError, zlib.error, LZMAError, BadZipFile, *_VALUES)
"""What reading a file raises that is packed, and damaged or encrypted."""


def content_of(path: Path, *, at_most: int) -> bytes:
    """The file's content, or one byte more than `at_most` of it, which says that it is too long.

    Raises:
        OSError: As `opened`.
    """
    with opened(path) as file:
        return read_at_most(file.read, at_most)


def read_at_most(read: Callable[[int], bytes], at_most: int) -> bytes:
    """As `content_of`, of what is open: a `read` of so much would first take that much memory."""
    pieces = []
    # One byte more than is allowed shows the caller that there is too much.
    bytes_left = at_most + 1
    while bytes_left:
        piece = read(min(bytes_left, _PIECE))
        if not piece:
            break
        pieces.append(piece)
        bytes_left -= len(piece)
    return b"".join(pieces)


def opened(path: Path) -> BufferedReader:
    """A file to read; without waiting for whoever would write into a pipe.

    Raises:
        OSError: If it cannot be read, or is a pipe or device, which may never end.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return open(handle, "rb")
    except OSError:
        os.close(handle)
        raise


def change_stamp_of(path: Path) -> tuple[int, ...]:
    """What changes whenever the file does; empty where there is no file that can be looked at."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_ino, status.st_size)


@contextmanager
def replacing(path: Path, *, readable_by_others: bool = False) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends well.

    Readers see the old file or the whole new one; after an error, or when the power goes, one of
    them is still there. Safe to use from several processes.

    Args:
        readable_by_others: Whether other people of this machine may read it, or its owner alone.

    Returns:
        The temporary file, empty, to be written to by name.

    Raises:
        OSError: If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if readable_by_others:
            temporary.chmod(0o644)  # mkstemp has made it 0600.
        _sync(temporary, os.O_RDWR)
        # Windows refuses to replace a file while somebody reads it.
        when_nobody_reads(partial(temporary.replace, path))
        with suppress(OSError):  # Windows opens no folder.
            _sync(path.parent, os.O_RDONLY)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def when_nobody_reads(change: Callable[[], object]) -> None:
    """Replace or delete a file, which Windows refuses for as long as somebody has it open.

    Readers have a file open for a moment; it is tried again for two seconds.

    Args:
        change: What is to be done.

    Raises:
        OSError: As the change does.
    """
    if sys.platform == "win32":
        for _ in range(_TRIES):
            try:
                change()
            except PermissionError:
                time.sleep(_PAUSE_SECONDS)
            else:
                return
    # On Windows this is the last try, whose error the caller sees.
    change()


def _sync(path: Path, flags: int) -> None:
    """Have a file or a folder on disk before anything else happens. Raises: OSError."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
