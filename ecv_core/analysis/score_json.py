"""Scores as JSON -> a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ecv_core.analysis.score_columns import is_export_of_runs, is_fold_name, roles_of
from ecv_core.evaluation.directions import is_metric_name
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_FORMS = (
    'give a list of rows such as [{"model": "A", "fold": 1, "score": 0.3}], or the fold scores of '
    'each contender such as {"A": [0.3, 0.31], "B": [0.2, 0.21]}'
)
Row = Mapping[str, Any]


def is_json(head: bytes) -> bool:
    """Whether text begins as JSON does that holds a list or an object."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def table_of_json(text: str, file: str) -> pa.Table:
    """A table of scores in one of five forms.

    A list of rows; rows that each are a line; rows by their numbers; the columns of a table; or of
    each contender what its folds scored, perhaps by metric.

    Args:
        text: The JSON.
        file: How a sentence names it.

    Raises:
        InputError: For what is no JSON or has another form.
    """
    import pyarrow as pa

    rows = _rows_of_any_form(_parsed_values(text, file))
    if not rows:
        raise InputError(f"{file} has no table of scores; {_FORMS}")
    try:
        return pa.Table.from_pylist(_with_all_names(rows))
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{file} has a column of mixed values ({error}); {_FORMS}") from None


def _with_all_names(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same rows, each with the names of all: what a row lacks is None."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    return [{**names, **row} for row in rows]


def _parsed_values(text: str, file: str) -> object:
    """The value, or a list of the values that stand on a line each."""
    try:
        return json.loads(text, object_pairs_hook=_object_of)
    except (ValueError, RecursionError) as error:
        error_of_whole = error
    # The text is no single value, so each of its lines may be one (JSON Lines). If a line is not
    # valid either, users are told the first error, because most files are meant to be one value.
    rows = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line, object_pairs_hook=_object_of))
        except (ValueError, RecursionError):
            raise InputError(f"{file} is not valid JSON ({error_of_whole}); {_FORMS}") from None
    return rows


def _object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object with these names and values. Raises: ValueError where a name is there twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"'{name[:100]}' is there twice")
    return fields


def _rows_of_any_form(value: object) -> Sequence[Row]:
    """The rows of a table; none for what is no table."""
    if isinstance(value, list):
        if all(isinstance(row, dict) for row in value):
            return value
        return []
    if not isinstance(value, dict):
        return []
    if all(isinstance(column, list) for column in value.values()):
        return _rows_of_columns(value)
    if all(isinstance(scores, dict) for scores in value.values()):
        return _rows_of_objects(value)
    return []


def _rows_of_objects(objects: Mapping[str, Row]) -> Sequence[Row]:
    """The rows of objects that each are a row of a table, or a column, or a contender's scores."""
    rows: list[Row] = []
    if _are_columns(objects):
        numbers = next(iter(objects.values()))
        objects = {
            number: {name: column[number] for name, column in objects.items()} for number in numbers
        }
    if not _keys_are_folds(objects):  # The keys are contenders then.
        for name, scores in _by_contender(objects).items():
            rows += _rows_of_contender(name, scores)
        return rows
    columns = list(set[str]().union(*objects.values()))
    # Rows that say their folds themselves, and those of an export, are only numbered by their keys.
    if "fold" in roles_of(columns) or is_export_of_runs(columns):
        return list(objects.values())
    for fold, scores in objects.items():
        rows.append({"fold": fold, **scores})
    return rows


def _by_contender(objects: Mapping[str, Row]) -> Mapping[str, Row]:
    """Contender -> its scores, also where the file has metric -> contender -> list of scores."""
    if not all(map(is_metric_name, objects)):
        return objects
    by_contender: dict[str, dict[str, Any]] = {}
    for metric, scores_of_contenders in objects.items():
        for contender, scores in scores_of_contenders.items():
            if is_metric_name(contender) or not isinstance(scores, list):
                return objects
            by_contender.setdefault(contender, {})[metric] = scores
    return by_contender


def _are_columns(objects: Mapping[str, Row]) -> bool:
    """Whether each is a column with the same numbers of rows, as pandas writes a table."""
    numbers = None
    for name, column in objects.items():
        if is_fold_name(name) or not all(number.isdecimal() for number in column):
            return False
        if numbers is not None and column.keys() != numbers:
            return False
        numbers = column.keys()
    return bool(numbers)


def _keys_are_folds(objects: Mapping[str, Row]) -> bool:
    """Whether keys are the rows' numbers or folds, as pandas writes a table with orient="index"."""
    if not all(map(is_fold_name, objects)):
        return False
    # If an object has folds itself, by name or as a list, its key is a contender called '1'.
    for fields in objects.values():
        for name, value in fields.items():
            if is_fold_name(name) or isinstance(value, list):
                return False
    return True


def _rows_of_contender(name: str, scores: Mapping[str, Any]) -> Sequence[Row]:
    """One row with a score for each fold, or a row per fold with a score of each metric."""
    by_metric = all(isinstance(fold_scores, list) for fold_scores in scores.values())
    if not by_metric:  # They are by fold then: {"fold 1": 0.31, "fold 2": 0.33}.
        return [{"contender": name, **scores}]
    rows = []
    for fold, scores_of_fold in enumerate(_rows_of_columns(scores), start=1):
        rows.append({"contender": name, "fold": fold, **scores_of_fold})
    return rows


def _rows_of_columns(columns: Mapping[str, list[Any]]) -> Sequence[Row]:
    """The rows of columns of the same length; none where the lengths differ."""
    if len({len(column) for column in columns.values()}) != 1:
        return []
    rows = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows
