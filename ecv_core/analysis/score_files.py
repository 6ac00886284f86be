"""Fold scores from any program: a table, as a row or a column per contender -> contenders."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core.analysis.orders.subsets import MAX_K
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.untrusted.files import content_of

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("contender", "fold", "score")
USER = "user"
"""The column that a file need not have: without it a score is the mean of a fold."""
_NAMES = {
    "contender": {"contender", "system", "model", "algorithm", "recommender", "method"},
    "fold": {"fold", "foldid", "foldnumber", "foldindex"},
    USER: {"user", "userid"},
    "score": {"score"},
}
"""What a column is, and its names, without capitals and signs."""
_ROW_NAMES = {"", "index", "folds", "split", "n", "i", "row", "#", "nr"}
"""Of a column that numbers the rows."""
_SHOWN = 60
_GZIP = b"\x1f\x8b"
"""What a packed file begins with."""
_Labels = tuple[list[str], NDArray[np.int32]]
"""What rows are of: the different texts as they first appear, and each row's place among them."""


def read_contenders(path: Path) -> tuple[list[Scores], list[str]]:
    """The contenders of a scores file, each with all folds and the same users.

    Args: path: CSV, CSV.gz or Parquet with the columns of COLUMNS and USER, one row per contender,
        fold and user, or without USER, one row per contender and fold, named in any case;
        'contender' may be called 'system', 'model' or 'algorithm', 'score' as a metric where no
        other column is left; else others are ignored. Or one column per contender and one row per
        fold; or one row per contender and one column per fold. A column that numbers the rows,
        under a name such as 'index', is no contender where there are others.
    Returns: the contenders in the order in which they first appear, and the names of the folds
        likewise: fold i of a contender is the i-th of them.
    Raises: InputError for a file that cannot be read, a column or value that is missing, a score
        that is no finite number, a row that is there twice, or contenders of which one lacks a
        fold or a user that another has.
    """
    return bounded.read(_read_contenders, path)


def read_scores(source: Path | bytes) -> dict[str, NDArray[np.float64]]:
    """The fold scores of each contender in a small CSV, of as many folds as can be explored.

    Args: source: the file, as a path or as its content; see `read_contenders`.
    Returns: name -> scores; shape (folds,), the same for all.
    Raises: InputError as `read_contenders`, if scores never vary, or there are fewer than two folds
        or more than MAX_K.
    """
    name = f"the file {source.name}" if isinstance(source, Path) else "the file"
    if isinstance(source, Path):
        try:
            source = content_of(source, at_most=limits.MAX_TABLE_BYTES)
        except OSError as error:
            raise InputError(
                f"{name} cannot be read ({error.strerror or error}); check its path"
            ) from error
    if len(source) > limits.MAX_TABLE_BYTES:
        raise InputError(f"{name} is larger than 1 MiB; is it a table of fold scores?")
    contenders, folds = _contenders(*_rows(_csv(source, source[: 1 << 16], name), name), name)
    if not 2 <= len(folds) <= MAX_K:
        have = f"{len(folds)} fold{'s' * (len(folds) > 1)}"
        raise InputError(
            f"{name} has {have}; between 2 and {MAX_K} folds can be explored"
            + (f", so take the first {MAX_K}" if len(folds) > MAX_K else "")
        )
    for one in contenders:
        if np.all(one.folds == one.folds[0]):
            raise InputError(
                f"all scores of '{one.name}' in {name} are {one.folds[0]:g}; folds that never "
                "differ cannot show when to stop, so leave it out"
            )
    return {one.name: one.folds for one in contenders}


def _read_contenders(path: Path) -> tuple[list[Scores], list[str]]:
    name = f"the file {path.name}"
    return _contenders(*_rows(_table(path, name), name), name)


def _contenders(
    labels: dict[str, _Labels], score: NDArray[np.float64], file: str
) -> tuple[list[Scores], list[str]]:
    """Of rows, each of a contender, a fold and perhaps a user."""
    by_user = USER in labels
    names, which = labels["contender"]
    folds, fold = labels["fold"]
    users, user = labels.get(USER, ([""], np.zeros(len(score), dtype=np.int32)))
    cells = len(names) * len(folds) * len(users)
    if (
        len(names) > limits.MAX_SYSTEMS
        or len(folds) > limits.MAX_SCORE_FOLDS
        or cells > limits.MAX_SCORES
    ):
        raise InputError(
            f"{file} has {len(names):,} contenders, {len(folds):,} folds and {len(users):,} "
            f"users, too many to be looked at together (at most {limits.MAX_SYSTEMS} contenders, "
            f"{limits.MAX_SCORE_FOLDS} folds, and {limits.MAX_SCORES:,} scores); leave some out"
        )
    if same := [name for at, name in enumerate(names) if name in names[:at]]:
        raise InputError(
            f"{file} has two contenders whose names begin with '{same[0]}'; only {_SHOWN} "
            "characters of a name are kept, so let them differ there"
        )
    if not (good := np.isfinite(score)).all():
        row = int(np.argmin(good))
        whose = f" of user {users[user[row]]}" if by_user else ""
        raise InputError(
            f"in {file}, fold {folds[fold[row]]} of '{names[which[row]]}' has the score "
            f"{score[row]}{whose}, which is no finite number; leave out the users that have "
            "nothing held out, in every contender"
        )
    place = (which * len(folds) + fold) * len(users) + user
    inside = np.sort(place)
    if len(twice := inside[1:][inside[1:] == inside[:-1]]):
        one, at, who = np.unravel_index(int(twice[0]), (len(names), len(folds), len(users)))
        raise InputError(
            f"{file} has more than one row for contender '{names[one]}', fold {folds[at]}"
            + (
                f", user {users[who]}; keep one"
                if by_user
                else f"; keep one, or add column '{USER}'"
            )
        )
    values = np.full(cells, np.nan)
    values[place] = score
    cube = values.reshape(len(names), len(folds), len(users))
    _check_complete(~np.isnan(cube), names, folds, users, file)
    contenders = [
        Scores(name=name, folds=np.nanmean(one, axis=1), users=one if by_user else None)
        for name, one in zip(names, cube, strict=True)
    ]
    return contenders, folds


def _check_complete(
    present: NDArray[np.bool_], names: list[str], folds: list[str], users: list[str], file: str
) -> None:
    if (empty := ~present.any(axis=2)).any():
        one, at = np.argwhere(empty)[0]
        raise InputError(
            f"{file} has no row for fold {folds[at]} of '{names[one]}'; every contender needs "
            "every fold"
        )
    if (apart := present != present[0]).any():
        one, at, who = np.argwhere(apart)[0]
        lacks, has = (names[0], names[one]) if present[one, at, who] else (names[one], names[0])
        raise InputError(
            f"in {file}, fold {folds[at]} of '{lacks}' has no score of user {users[who]}, "
            f"but that of '{has}' has; contenders must be scored on the same users"
        )


def _labels(table: pa.Table, column: str, role: str, file: str) -> _Labels:
    """Of a column that says what each row is of."""
    import pyarrow as pa
    from pyarrow import compute

    values = table[column]
    if values.null_count:
        row = compute.index(compute.is_null(values), True).as_py() + 1
        raise InputError(f"row {row} of {file} has no {role}; give every row one")
    try:
        encoded = values.combine_chunks().dictionary_encode()
        if hasattr(encoded, "combine_chunks"):
            encoded = encoded.combine_chunks()
        names = [str(value)[:_SHOWN].strip() for value in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError, OverflowError):
        raise InputError(
            f"the column '{role}' of {file} holds values that are no names ({values.type}); "
            "give texts or numbers"
        ) from None
    # 32 bits will do: there are at most MAX_SCORES places.
    return names, np.from_dlpack(encoded.indices).astype(np.int32, copy=False)


def _numbers(table: pa.Table, column: str, file: str) -> NDArray[np.float64]:
    """The scores in a column, NaN where one is missing. Arrow's `to_numpy` would load pandas."""
    import pyarrow as pa

    values = table[column]
    try:
        values = values if values.type == pa.float64() else values.cast(pa.float64())
    except pa.ArrowException as error:
        _, *value = str(error)[:100].split("'")[:2]  # Arrow says which one
        said = f", and not '{value[0]}'" if value else "; see its values"
        raise InputError(f"the column '{column}' of {file} must hold numbers{said}") from None
    values = values.fill_null(np.nan) if values.null_count else values
    return np.concatenate([np.from_dlpack(chunk) for chunk in values.chunks])


def _table(path: Path, file: str) -> pa.Table:
    import pyarrow as pa

    if path.exists() and not path.is_file():  # a pipe or device may never end
        raise InputError(f"{file} is no regular file; give a table of scores")
    if path.suffix == ".gz" and _packed_twice(path):
        raise InputError(f"{file} is packed twice; unpack it once and give what comes out")
    try:
        if path.suffix == ".parquet":
            return _parquet(path, file)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as text:
            head = text.read(1 << 16)
    except (OSError, EOFError, zlib.error, ValueError, pa.ArrowException) as error:
        raise _unreadable(file, error) from None
    return _csv(path, head, file)


def _csv(source: Path | bytes, head: bytes, file: str) -> pa.Table:
    """Delimited text: the sign that cuts its first line into most columns, a comma where none does;
    and a decimal comma where there is one."""
    import pyarrow as pa
    from pyarrow import csv

    text = head.decode("utf-8", errors="replace")
    first, rest = next(
        ((line, text.partition(line)[2]) for line in text.splitlines() if line.strip()), ("", "")
    )
    separator = max(",;\t", key=first.count)
    _check_columns(first.count(separator) + 1, file)
    comma = re.search(r'"\d+,\d+"' if separator == "," else r"\d,\d", rest)
    try:
        table = csv.read_csv(  # .gz is recognised by its ending
            source if isinstance(source, Path) else io.BytesIO(source),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(decimal_point="," if comma else "."),
        )
        "".join(table.column_names)  # refuses names that are no text
        return table
    except UnicodeDecodeError:  # is a ValueError too, and says nothing to users
        raise InputError(f"{file} is not text in UTF-8; save it as CSV or Parquet") from None
    except (OSError, EOFError, zlib.error, ValueError, pa.ArrowException) as error:
        raise _unreadable(file, error) from None


def _check_columns(count: int, file: str) -> None:
    """Before they are read, which takes memory for each."""
    if count > limits.MAX_SYSTEMS + 2:  # beside contenders, one of folds and one of row numbers
        raise InputError(
            f"{file} has more than {limits.MAX_SYSTEMS} columns, and no more are read; leave some "
            "out"
        )


def _unreadable(file: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
    why = why if why.isprintable() else "it is not text"  # such as a picture's first bytes
    return InputError(
        f"{file} cannot be read as a table of scores ({why}); give a CSV, CSV.gz or Parquet file "
        f"with the columns {', '.join(COLUMNS)}, or a column per contender and a row per fold"
    )


def _rows(table: pa.Table, file: str) -> tuple[dict[str, _Labels], NDArray[np.float64]]:
    """Contender, fold and perhaps user of every row, and its score; each column of a wide table
    gives as many rows as the table has."""
    import pyarrow as pa

    names = [name.strip() for name in table.column_names]
    table = table.rename_columns(names)
    if len(set(names)) < len(names):
        shown = ", ".join(names)[:200]
        raise InputError(f"the columns of {file} must have different names, but are {shown}")
    if not len(table):
        raise InputError(f"{file} has no rows; give one per contender and fold")
    found = _columns_of(names)
    if {"contender", "fold"} <= found.keys() or USER in found:
        if missing := [name for name in COLUMNS if name not in found]:
            raise InputError(
                f"{file} has no column '{missing[0]}'; it needs {', '.join(COLUMNS)}, one row per "
                f"contender and fold, or with a column '{USER}' one per user as well"
            )
        score = _numbers(table, found.pop("score"), file)
        return {role: _labels(table, name, role, file) for role, name in found.items()}, score
    known = found.get("contender") or found.get("fold")
    whole = [name for name in names if table[name].type == pa.int64()]
    rest = [name for name in names if name != known]
    rest = [one for one in rest if one not in whole or one.lower() not in _ROW_NAMES] or rest
    kinds = (pa.float64(), pa.int64(), pa.null())
    if (text := next((one for one in rest if table[one].type not in kinds), None)) is not None:
        values = map(str, table[text].to_pylist())
        wrong = next((one for one in values if not re.fullmatch(r"[-+.\deE]+", one)), "")[:100]
        raise InputError(
            f"'{wrong}' in the column '{text}' of {file} is not a number; give a column of numbers "
            f"per contender and a row per fold, or the columns {', '.join(COLUMNS)}"
        )
    if all(re.fullmatch(r"[-+.\deE]+", name) for name in names):
        raise InputError(f"the first line of {file} must name its columns, but is numbers")
    across, down = ("fold", "contender") if "contender" in found else ("contender", "fold")
    of_rows = [str(row) for row in range(1, len(table) + 1)], np.arange(len(table), dtype=np.int32)
    labels, places = _labels(table, known, down, file) if known else of_rows
    columns = np.repeat(np.arange(len(rest), dtype=np.int32), len(table))
    return (
        {
            across: ([name[:_SHOWN].strip() for name in rest], columns),
            down: (labels, np.tile(places, len(rest))),
        },
        np.concatenate([_numbers(table, name, file) for name in rest]),
    )


def _columns_of(names: Sequence[str]) -> dict[str, str]:
    """Contender, fold, user and score -> the column whose name says so, whatever its case.

    Beside contender and fold a single column of another name, such as NDCG@10, is the score.
    """
    plain = {name: re.sub(r"[^a-z0-9]", "", name.lower()) for name in names}
    found = {}
    for role, words in _NAMES.items():
        if len(fitting := [name for name in names if plain[name] in words]) == 1:
            found[role] = fitting[0]
    others = [name for name in names if name not in found.values()]
    if len(others) == 1 and {"contender", "fold"} <= found.keys() and "score" not in found:
        found["score"] = others[0]
    return found


def _packed_twice(path: Path) -> bool:
    """Whether what a gzip file holds begins as one."""
    try:
        with gzip.open(path) as file:
            return file.read(len(_GZIP)) == _GZIP
    except (OSError, EOFError, zlib.error):
        return False


def _parquet(path: Path, file: str) -> pa.Table:
    """The columns that may be used, of no more rows than may be."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        if (rows := table.metadata.num_rows) > limits.MAX_SCORE_ROWS:
            raise InputError(
                f"{file} has {rows:,} rows, and at most {limits.MAX_SCORE_ROWS:,} are read; leave "
                "out some contenders"
            )
        names = table.schema_arrow.names
        _check_columns(len(names), file)
        found = _columns_of(names)
        return table.read(list(found.values() if {"contender", "fold"} <= found.keys() else names))
