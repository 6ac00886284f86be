"""A folder of this user alone, for what the programs of one user tell each other on a machine.

The folder for temporary files is everybody's: who makes a name there first decides what it is.
Nothing there is believed or written through unless it lies in this folder.
"""

from __future__ import annotations

import errno
import getpass
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

MAX_CHARACTERS = 1 << 20
"""That are read of a file in the private folder."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder() -> Path:
    """A folder that no other user of this machine can enter; it is made where it lacks.

    It is in the folder for temporary files, so that TMPDIR sets programs apart. Where somebody else
    was there first, it is in XDG_RUNTIME_DIR. A folder that others can enter is never made over.

    Raises:
        OSError: Where neither has such a folder; its message says what to do.
    """
    places = [Path(tempfile.gettempdir())]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        places.append(Path(runtime))
    for place in places:
        folder = place / f"ecv-{_user()}"
        # It may be there already, or cannot be made: what counts is what is there now.
        with suppress(OSError):
            folder.mkdir(mode=0o700)
        if _is_safe_from_swaps(place) and _is_private(folder):
            return folder
    raise PermissionError(
        errno.EACCES,
        f"{places[0] / f'ecv-{_user()}'} is no folder of yours alone; set TMPDIR to a folder that "
        "others cannot write to",
    )


def private_text(path: Path) -> str:
    """The text of a file in the private folder.

    Raises:
        OSError: If it cannot be read, is a link or no plain file, or belongs to somebody else.
        ValueError: If it is no text.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_own(status):
            raise PermissionError(errno.EACCES, "it is no file of yours", str(path))
        return file.read(MAX_CHARACTERS)


def _user() -> str:
    """Names this user in a file's name."""
    if hasattr(os, "getuid"):
        return str(os.getuid())
    return getpass.getuser()


def _is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to this user; on Windows its folder decides who reaches it."""
    if hasattr(os, "getuid"):
        return status.st_uid == os.getuid()
    return True


def _is_private(folder: Path) -> bool:
    """Whether it is a folder of this user, and no link to one, that nobody else can enter."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or not _is_own(status):
        return False
    return not hasattr(os, "getuid") or not status.st_mode & _OTHERS


def _is_safe_from_swaps(place: Path) -> bool:
    """Whether nobody else can put another folder in the place of one of ours in it."""
    if not hasattr(os, "getuid"):
        return True
    try:
        status = place.stat()
    except OSError:
        return False
    return bool(status.st_mode & stat.S_ISVTX) or not status.st_mode & stat.S_IWOTH
