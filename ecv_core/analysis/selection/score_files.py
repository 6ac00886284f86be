"""A table of contender, fold, score and, if known, user from any program -> contenders."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core.analysis.orders.files import columns_of, separator_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("contender", "fold", "score")
USER = "user"
"""The column that a file need not have: without it a score is the mean of a fold."""
_SHOWN = 60
_GZIP = b"\x1f\x8b"
"""What a packed file begins with."""


def read_contenders(
    path: Path, columns: Mapping[str, str] | None = None
) -> tuple[list[Scores], list[str]]:
    """The contenders of a scores file, each with all folds and the same users.

    Args:
        path: CSV, CSV.gz or Parquet with the columns of COLUMNS and USER, one row per contender,
            fold and user, or without USER, one row per contender and fold, named in any case;
            'contender' may be called 'system', 'model' or 'algorithm', 'score' as a metric where no
            other column is left; else others are ignored. Or one column per contender and one row
            per fold; or one row per contender and one column per fold.
        columns: contender, fold, score and user -> their columns, where somebody says which.
    Returns: the contenders in the order in which they first appear, and the names of the folds
        likewise: fold i of a contender is the i-th of them.
    Raises: InputError for a file that cannot be read, a column or value that is missing, a score
        that is no finite number, a row that is there twice, or contenders of which one lacks a
        fold or a user that another has.
    """
    return bounded.read(_read_contenders, path, columns)


def _read_contenders(
    path: Path, columns: Mapping[str, str] | None
) -> tuple[list[Scores], list[str]]:
    table = _named(_table(path, columns), columns)
    if missing := [name for name in COLUMNS if name not in table.column_names]:
        raise InputError(
            f"the file {path.name} has no column '{missing[0]}'; it needs {', '.join(COLUMNS)}, "
            f"one row per contender and fold, or with a column '{USER}' one per user as well"
        )
    if not len(table):
        raise InputError(f"the file {path.name} has no rows; give one per contender and fold")
    by_user = USER in table.column_names
    names, which = _codes(table, "contender", path)
    folds, fold = _codes(table, "fold", path)
    users, user = (
        _codes(table, USER, path) if by_user else ([""], np.zeros(len(table), dtype=np.int32))
    )
    score = _scores(table, path)
    cells = len(names) * len(folds) * len(users)
    if (
        len(names) > limits.MAX_SYSTEMS
        or len(folds) > limits.MAX_SCORE_FOLDS
        or cells > limits.MAX_SCORES
    ):
        raise InputError(
            f"the file {path.name} has {len(names):,} contenders, {len(folds):,} folds and "
            f"{len(users):,} users, too many for one selection (at most {limits.MAX_SYSTEMS} "
            f"contenders, {limits.MAX_SCORE_FOLDS} folds, and {limits.MAX_SCORES:,} scores); leave "
            "some out"
        )
    place = (which * len(folds) + fold) * len(users) + user
    inside = np.sort(place)
    if len(twice := inside[1:][inside[1:] == inside[:-1]]):
        one, at, who = np.unravel_index(int(twice[0]), (len(names), len(folds), len(users)))
        raise InputError(
            f"the file {path.name} has more than one row for contender '{names[one]}', fold "
            + f"{folds[at]}"
            + (f", user {users[who]}; keep one" if by_user else f"; keep one, or add '{USER}'")
        )
    values = np.full(cells, np.nan)
    values[place] = score
    cube = values.reshape(len(names), len(folds), len(users))
    _check_complete(~np.isnan(cube), names, folds, users, path)
    contenders = [
        Scores(
            name=name,
            folds=np.nanmean(one, axis=1),
            users=one if by_user else None,
        )
        for name, one in zip(names, cube, strict=True)
    ]
    return contenders, folds


def _check_complete(
    present: NDArray[np.bool_],
    names: list[str],
    folds: list[str],
    users: list[str],
    path: Path,
) -> None:
    if (empty := ~present.any(axis=2)).any():
        one, at = np.argwhere(empty)[0]
        raise InputError(
            f"the file {path.name} has no row for fold {folds[at]} of '{names[one]}'; every "
            "contender needs every fold"
        )
    if (apart := present != present[0]).any():
        one, at, who = np.argwhere(apart)[0]
        lacks, has = (names[0], names[one]) if present[one, at, who] else (names[one], names[0])
        raise InputError(
            f"in {path.name}, fold {folds[at]} of '{lacks}' has no score of user {users[who]}, "
            f"but that of '{has}' has; contenders must be scored on the same users"
        )


def _codes(table: pa.Table, column: str, path: Path) -> tuple[list[str], NDArray[np.int32]]:
    """The different values of a column as text, as they first appear, and each row's place."""
    import pyarrow as pa
    from pyarrow import compute

    values = table[column]
    if values.null_count:
        row = compute.index(compute.is_null(values), True).as_py() + 1
        raise InputError(f"row {row} of {path.name} has no {column}; give every row one")
    try:
        encoded = values.combine_chunks().dictionary_encode()
        if hasattr(encoded, "combine_chunks"):
            encoded = encoded.combine_chunks()
        names = [str(value)[:_SHOWN] for value in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError, OverflowError):
        raise InputError(
            f"the column '{column}' of {path.name} holds values that are no names ({values.type}); "
            "give texts or numbers"
        ) from None
    # 32 bits will do: there are at most MAX_SCORES places.
    return names, encoded.indices.to_numpy().astype(np.int32, copy=False)


def _scores(table: pa.Table, path: Path) -> NDArray[np.float64]:
    import pyarrow as pa
    from pyarrow import compute

    try:
        found = compute.cast(table["score"], pa.float64()).combine_chunks()
    except pa.ArrowException:
        raise InputError(
            f"the column 'score' of {path.name} must hold numbers; see its values"
        ) from None
    scores: NDArray[np.float64] = found.to_numpy(zero_copy_only=False)
    if not (good := np.isfinite(scores)).all():
        row = int(np.argmin(good))
        raise InputError(
            f"row {row + 1} of {path.name} has the score {scores[row]}, which is no finite number; "
            "leave out the users that have nothing held out, in every contender"
        )
    return scores


def _table(path: Path, columns: Mapping[str, str] | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    if path.exists() and not path.is_file():  # a pipe or device may never end
        raise InputError(f"the file {path.name} is no regular file; give a table of scores")
    if path.suffix == ".gz" and _packed_twice(path):
        raise InputError(
            f"the file {path.name} is packed twice; unpack it once and give what comes out"
        )
    try:
        # .gz is recognised by its ending
        if path.suffix == ".parquet":
            return _parquet(path, columns)
        table = csv.read_csv(path, **_form(path))
        "".join(table.column_names)  # refuses names that are no text
        return table
    except UnicodeDecodeError:  # is a ValueError too, and says nothing to users
        raise InputError(
            f"the file {path.name} is not text in UTF-8; save it as CSV or Parquet"
        ) from None
    except (OSError, EOFError, zlib.error, ValueError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
        why = why if why.isprintable() else "it is not text"  # such as a picture's first bytes
        raise InputError(
            f"the file {path.name} cannot be read as a table of scores ({why}); give a CSV, "
            f"CSV.gz or Parquet file with the columns {', '.join(COLUMNS)}"
        ) from None


def _form(path: Path) -> dict[str, Any]:
    """How Arrow is to read this delimited text: its separator, and a decimal comma."""
    from pyarrow import csv

    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        head = file.read(1 << 16).decode("utf-8", errors="replace")
    separator = separator_of(head)
    comma = separator != "," and re.search(r"\d,\d", head.partition("\n")[2])
    return {
        "parse_options": csv.ParseOptions(delimiter=separator),
        "convert_options": csv.ConvertOptions(decimal_point="," if comma else "."),
    }


def _named(table: pa.Table, columns: Mapping[str, str] | None) -> pa.Table:
    """A row per contender and fold, its columns named as COLUMNS and USER have it."""
    import pyarrow as pa

    names = table.column_names
    found = dict(columns or columns_of(names))
    if {"contender", "fold"} <= found.keys() or {"score", "user"} & found.keys():
        return table.select(list(found.values())).rename_columns(list(found))
    known = found.get("contender") or found.get("fold")
    scores = [table[name] for name in names if name not in (known, "", "index")]
    if len(scores) < 2 or not all(one.type in (pa.float64(), pa.int64()) for one in scores):
        return table
    frame = table.to_pandas().drop(columns=["", "index"], errors="ignore")
    if known is None:
        known, frame["fold"] = "fold", range(1, len(frame) + 1)
    role, other = ("contender", "fold") if "contender" in found else ("fold", "contender")
    long = frame.rename(columns={known: role}).melt(role, var_name=other, value_name="score")
    return pa.Table.from_pandas(long, preserve_index=False)


def _packed_twice(path: Path) -> bool:
    """Whether what a gzip file holds begins as one."""
    try:
        with gzip.open(path) as file:
            return file.read(len(_GZIP)) == _GZIP
    except (OSError, EOFError, zlib.error):
        return False


def _parquet(path: Path, columns: Mapping[str, str] | None) -> pa.Table:
    """The columns that may be used, of no more rows than may be."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        if (rows := file.metadata.num_rows) > limits.MAX_SCORE_ROWS:
            raise InputError(
                f"the file {path.name} has {rows:,} rows, and at most {limits.MAX_SCORE_ROWS:,} "
                "are read; leave out some contenders"
            )
        names = file.schema_arrow.names
        found = columns or columns_of(names)
        return file.read(list(found.values() if {"contender", "fold"} <= found.keys() else names))
