"""Files that people ask for: written whole, and never over a database."""

from __future__ import annotations

from pathlib import Path

from ecv_core.records.errors import InputError, RunError
from ecv_core.store.engine import database_url, sqlite_file
from ecv_core.untrusted.files import content_of, replacing

_COMPANIONS = ("-wal", "-shm", "-journal")
"""Endings of what SQLite keeps beside a database; committed rows may be in nothing else."""
_BEGINNING = b"SQLite format 3\0"
WAY_OUT_OF_FILE = "free some space, or choose another folder"
"""What to do where a file cannot be written."""


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file as a whole or not at all; a pipe or a device is written to as it is.

    Raises:
        InputError: Where the path is a database: see `check_output`.
        OSError: If it cannot be written.
    """
    check_output(path)
    if isinstance(content, str):
        content = content.encode("utf-8")
    if path.exists() and not path.is_file():
        # A device, such as /dev/stdout, is written to and not replaced.
        path.write_bytes(content)
        return
    with replacing(path, readable_by_others=True) as part:
        part.write_bytes(content)


def write_result(path: Path, content: str | bytes) -> None:
    """As `write_output`, for what a command has computed.

    Raises:
        InputError: Where the path is a database: see `check_output`.
        RunError: If it cannot be written.
    """
    try:
        write_output(path, content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; {WAY_OUT_OF_FILE}") from None


def check_folder(path: Path, *, option: str = "") -> None:
    """Refuse a file in a folder that does not exist. Raises: InputError.

    Args:
        path: The path of the file.
        option: The option that names it, and a blank, for the sentence.
    """
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {option}{path} does not exist; make it first")


def check_output(path: Path, url: str = "") -> None:
    """Refuse to replace the database of runs, or one that any program has open.

    Args:
        path: To be written, however it is spelt or linked.
        url: The url of our database; by default what the environment says.

    Raises:
        InputError.
    """
    own_database = sqlite_file(url or database_url())
    if own_database is not None:
        for file in database_files(own_database):
            if _is_same(path, file):
                raise InputError(
                    f"{path} is the database of runs, or belongs to it ({file}); give another name"
                )
    # The path may be the database of another program, or a companion of one.
    database = _database_of_companion(path.resolve())
    for companion in _companions(database):
        # SQLite removes its companions once nobody has the database open any more.
        if companion.exists() and _is_database(database):
            raise InputError(
                f"{path} is a database that a program has open ({companion.name} is beside it), or "
                "belongs to one; give another name"
            )


def database_files(database: Path) -> list[Path]:
    """A database, and after it what SQLite keeps beside it."""
    return [database, *_companions(database)]


def _companions(database: Path) -> list[Path]:
    return [database.with_name(database.name + ending) for ending in _COMPANIONS]


def _database_of_companion(path: Path) -> Path:
    """The database that a path may belong to; the path itself where it is no companion's."""
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
