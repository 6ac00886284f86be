"""Fold scores from anything: a CSV with a column per system, or a row per system and fold."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.analysis.orders.subsets import MAX_K
from ecv_core.records.errors import InputError
from ecv_core.untrusted.files import content_of

UNNAMED = "index"
"""What a first column without a name is called."""
SEPARATORS = ",;\t"
_LONG = {
    "contender": {"contender", "system", "model", "algorithm", "recommender", "method"},
    "fold": {"fold", "foldid", "foldnumber", "foldindex"},
    "user": {"user", "userid"},
    "score": {"score"},
}
"""What a column of a table with one row per system and fold is, and its names."""
_ROW_NAMES = {"index", "fold", "folds", "fold_id", "fold id", "split", "n", "i", "row", "#", "nr"}


def read_scores(
    source: Path | bytes, columns: Mapping[str, str] | None = None
) -> dict[str, NDArray[np.float64]]:
    """The fold scores of each system in a CSV.

    The first line names the systems, and one row follows per fold; or it names the columns system
    (or contender, model, algorithm), fold and score (or a metric), in any order and case, and one
    row follows per system and fold; or the system and every fold, and one row follows per system.
    The folds come in the order in which the file first names them. A column that numbers the rows,
    under a name such as 'fold' or 'index', is no system where there are others.

    Args:
        source: the file, as a path or as its content; separated by a comma, semicolon or tab.
        columns: contender, fold and score -> their columns, where somebody says which; any other
            column is then ignored.
    Returns: name -> scores; shape (folds,), the same for all.
    Raises: InputError if the file cannot be read, a value is missing or is no number, a column
        never varies, a system has no score or two of a fold, or there are fewer than two folds or
        more than MAX_K.
    """
    name = source.name if isinstance(source, Path) else "the file"
    lines = io.StringIO(_text(source, name), newline=None)  # also what ends its lines with CR alone
    try:
        separator = separator_of(lines.getvalue())
        reader = csv.reader(lines, delimiter=separator)
        rows = [row for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InputError(f"{name} is no table of fold scores: {error}") from None
    if not rows:
        raise InputError(f"{name} is empty; give one column per system and one row per fold")
    header = [cell.strip() for cell in rows[0]]
    if header[0] == "" and len(header) > 1:
        header[0] = UNNAMED  # as pandas writes the index of its rows
    if all(map(_is_number, header)):
        raise InputError(f"the first line of {name} must name its columns, but is numbers")
    if len(set(header)) < len(header) or "" in header:
        raise InputError(
            f"the columns of {name} must have different names, but are {', '.join(header)[:200]}"
        )
    scores = rows[1:]
    long = dict(columns or columns_of(header))
    if columns or (len(header) == 3 and long.keys() == {"contender", "fold", "score"}):
        places = [header.index(long[role]) for role in ("contender", "fold", "score")]
        header, scores = _spread(scores, places, len(header), name)
    elif long == {"contender": header[0]} and len(header) > 2 and scores:
        _check_widths(scores, len(header), name)
        header, *scores = ([cell.strip() for cell in cells] for cells in zip(*scores, strict=True))
    if len(header) > limits.MAX_SYSTEMS:
        raise InputError(
            f"{name} has {len(header):,} systems, and at most {limits.MAX_SYSTEMS} are read; leave "
            "some out"
        )
    if not 2 <= len(scores) <= MAX_K:
        raise InputError(
            f"{name} has {len(scores)} rows of scores; between 2 and {MAX_K} folds can be explored"
            + (f", so take the first {MAX_K}" if len(scores) > MAX_K else "")
        )
    _check_widths(scores, len(header), name)
    table = {
        system: [row[place].strip().replace(",", ".") for row in scores]
        for place, system in enumerate(header)
    }
    systems = {system for system, cells in table.items() if not _numbers_folds(system, cells)}
    return {
        system: _column(cells, system, name)
        for system, cells in table.items()
        if system in systems or not systems
    }


def separator_of(text: str) -> str:
    """The sign that cuts the first line into most columns; a comma where none does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=first.count)


def columns_of(names: Sequence[str]) -> dict[str, str]:
    """Contender, fold, user and score -> the column whose name says so, whatever its case.

    Beside contender and fold a single column of another name, such as NDCG@10, is the score.
    """
    plain = {name: re.sub(r"[^a-z0-9]", "", name.lower()) for name in names}
    found = {}
    for role, words in _LONG.items():
        if len(fitting := [name for name in names if plain[name] in words]) == 1:
            found[role] = fitting[0]
    others = [name for name in names if name not in found.values()]
    if len(others) == 1 and {"contender", "fold"} <= found.keys() and "score" not in found:
        found["score"] = others[0]
    return found


def _spread(
    rows: list[list[str]], places: list[int], columns: int, name: str
) -> tuple[list[str], list[list[str]]]:
    """The systems, and for each fold a row with their scores."""
    _check_widths(rows, columns, name)
    found: dict[str, dict[str, str]] = {}  # fold -> system -> score
    for number, row in enumerate(rows, start=1):
        system, fold, score = (row[place].strip() for place in places)
        if not system or not fold:
            raise InputError(
                f"row {number} of {name} names no {'fold' if system else 'system'}; every score "
                "needs both"
            )
        if system in found.setdefault(fold, {}):
            raise InputError(
                f"row {number} of {name} is a second score of fold {fold} of '{system}'; keep one"
            )
        found[fold][system] = score
    systems = list(dict.fromkeys(system for scores in found.values() for system in scores))
    for fold, scores in found.items():
        if missing := [system for system in systems if system not in scores]:
            raise InputError(
                f"{name} has no score of fold {fold} of '{missing[0]}'; every system needs a score "
                "for every fold"
            )
    return systems, [[scores[system] for system in systems] for scores in found.values()]


def _check_widths(rows: list[list[str]], columns: int, name: str) -> None:
    for number, row in enumerate(rows, start=1):
        if len(row) != columns:
            raise InputError(
                f"row {number} of {name} has {len(row)} values for {columns} columns; every system "
                "needs a score for every fold"
            )


def _column(cells: Sequence[str], system: str, name: str) -> NDArray[np.float64]:
    for number, cell in enumerate(cells, start=1):
        if not _is_number(cell) or not np.isfinite(float(cell)):
            what = f"is '{cell[:100]}', not a number" if cell else "is missing"
            raise InputError(
                f"row {number} of column '{system}' in {name} {what}; "
                "every system needs a score for every fold"
            )
    scores = np.array(cells, dtype=np.float64)
    if np.all(scores == scores[0]):
        raise InputError(
            f"all scores of column '{system}' in {name} are {scores[0]:g}; "
            "folds that never differ cannot show when to stop, so leave that column out"
        )
    return scores


def _numbers_folds(name: str, cells: Sequence[str]) -> bool:
    """Whether a column numbers the rows: whole numbers under a name such as 'fold' or 'index'."""
    whole = all(_is_number(cell) and float(cell).is_integer() for cell in cells)
    return whole and name.lower() in _ROW_NAMES


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number, others do not


def _text(source: Path | bytes, name: str) -> str:
    if isinstance(source, bytes):
        content = source
    else:
        try:
            content = content_of(source, at_most=limits.MAX_TABLE_BYTES)
        except OSError as error:
            raise InputError(
                f"{name} cannot be read ({error.strerror or error}); check its path"
            ) from error
    if len(content) > limits.MAX_TABLE_BYTES:
        raise InputError(f"{name} is larger than 1 MiB; is it a table of fold scores?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not text in UTF-8; save it as CSV") from None
