"""Files that people ask for: written whole, and never over a database."""

from __future__ import annotations

from pathlib import Path

from ecv_core.records.errors import InputError, RunError
from ecv_core.store.engine import database_url, sqlite_file
from ecv_core.untrusted.files import content_of, replacing

_COMPANIONS = ("-wal", "-shm", "-journal")
"""Endings of what SQLite keeps beside a database; committed rows may be in nothing else."""
_BEGINNING = b"SQLite format 3\0"


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file as a whole or not at all; a pipe or a device is written to as it is.

    Raises:
        InputError: where the path is a database: see `check_output`.
        OSError: if it cannot be written.
    """
    check_output(path)
    if isinstance(content, str):
        content = content.encode("utf-8")
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    with replacing(path, for_others=True) as part:
        part.write_bytes(content)


def write_result(path: Path, content: str | bytes) -> None:
    """As `write_output`, for what a command has computed.

    Raises:
        InputError: where the path is a database: see `check_output`.
        RunError: if it cannot be written.
    """
    try:
        write_output(path, content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None


def check_output(path: Path, url: str = "") -> None:
    """Refuse to replace the database of runs, or one that any program has open.

    Args:
        path: to be written, however it is spelt or linked.
        url: of our database; by default what the environment says.
    Raises: InputError.
    """
    own = sqlite_file(url or database_url())
    if own is not None:
        for name in names_of(own):
            if _is_same(path, name):
                raise InputError(
                    f"{path} is the database of runs, or belongs to it ({name}); give another name"
                )
    database = _without_ending(path.resolve())
    for name in names_of(database)[1:]:
        if name.exists() and _is_database(database):
            raise InputError(
                f"{path} is a database that a program has open ({name.name} is beside it), or "
                "belongs to one; give another name"
            )


def names_of(database: Path) -> list[Path]:
    """A database and what SQLite keeps beside it."""
    names = [database]
    for ending in _COMPANIONS:
        names.append(database.with_name(database.name + ending))
    return names


def _without_ending(path: Path) -> Path:
    """The database that a path may belong to."""
    for ending in _COMPANIONS:
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path


def _is_database(path: Path) -> bool:
    """Whether a file begins as each SQLite database does."""
    try:
        return content_of(path, at_most=len(_BEGINNING)).startswith(_BEGINNING)
    except OSError:
        return False


def _is_same(path: Path, other: Path) -> bool:
    """Whether both are one file, or would be where there is none yet."""
    if path.resolve() == other.resolve():
        return True
    return path.exists() and other.exists() and path.samefile(other)
