"""Records <-> JSON: what is written of a run, in the database and in files, by its own fields.

pydantic reads the format off the dataclasses; it loads when something is first written or read.
Reading is strict about types (a text is no number, and no number is a truth value), and lenient
about fields that a later version added: they are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ecv_core.records.errors import InputError
from ecv_core.records.errors import shown as shown

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

T = TypeVar("T")

_MUST_BE = {
    "bool": "true or false",
    "dataclass": "an object",
    "date": "a time such as 2026-03-04T05:06:07+00:00",
    "datetime": "a time such as 2026-03-04T05:06:07+00:00",
    "dict": "an object",
    "enum": "a known word",
    "finite": "a finite number",
    "float": "a finite number",
    "int": "a whole number",
    "list": "a list",
    "mapping": "an object",
    "model": "an object",
    "string": "text",
    "tuple": "a list",
}
"""What a value must be, by the first part of pydantic's name for the error."""


def to_json(record: object) -> Any:  # noqa: ANN401  JSON values
    """A record as plain JSON values."""
    return _adapter(type(record)).dump_python(record, mode="json", warnings=False)


def json_text(record: object, *, canonical: bool = False) -> str:
    """A record as JSON text: see `to_json`.

    Args:
        record: As of `to_json`.
        canonical: With sorted keys and no spaces, so that equal records have equal texts.

    Raises:
        InputError: For a record that `read` would refuse.
    """
    values = to_json(record)
    if canonical:
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    else:
        text = json.dumps(values)
    try:
        _adapter(type(record)).validate_json(text, strict=True)
    except ValueError as error:
        raise InputError(
            f"this cannot be saved, because it could not be read again: {what_is_wrong(error)}"
        ) from error
    return text


def read(kind: type[T], text: str | bytes) -> T:
    """The record of this kind that `json_text` wrote.

    Raises:
        ValueError: If it is no such record; see `what_is_wrong`.
    """
    return _adapter(kind).validate_json(text, strict=True)


_WITHOUT_VALUE = {"missing": "is missing", "timezone_aware": "has no time zone"}
"""What pydantic calls an error -> its words, where the value would tell nothing."""


def what_is_wrong(error: Exception) -> str:
    """What is wrong with the first bad value, as the end of a sentence in one line."""
    from pydantic import ValidationError

    if not isinstance(error, ValueError):
        # The text of a KeyError is its key alone, so the kind of the error is shown with it.
        return shown(repr(error), 200)
    if not isinstance(error, ValidationError):
        return shown(error, 200)
    details = error.errors(include_url=False)[0]
    kind = details["type"]
    if kind == "json_invalid":
        return "it is not JSON"
    path = details["loc"]
    if _is_of_parameter(path):
        path = path[:-1]  # The last part is the type that pydantic tried.
    what = _path_words(path)
    if kind in _WITHOUT_VALUE:
        return f"{what} {_WITHOUT_VALUE[kind]}"
    if kind == "too_long":
        most = details["ctx"]["max_length"]
        return f"{what} has {len(details['input']):,} values, and at most {most:,} are read"
    value = shown(details["input"])
    must_be = _must_be(details)
    if must_be is None:
        return f"{what} cannot be {value}"
    return f"{what} must be {must_be}, but is {value}"


def _must_be(details: ErrorDetails) -> str | None:
    """What a bad value must be: 'a whole number', 'at most 10'; None where no words are known."""
    kind = details["type"]
    if kind == "less_than_equal":
        return f"at most {details['ctx']['le']:g}"
    if kind == "greater_than_equal":
        return f"at least {details['ctx']['ge']:g}"
    if _is_of_parameter(details["loc"]):
        return "a number, text, or true or false"
    # The kinds 'int_type' and 'int_parsing' are both of what must be an int.
    return _MUST_BE.get(kind.split("_")[0])


def _is_of_parameter(path: Sequence[int | str]) -> bool:
    """Whether the value at this path is a parameter, which may be of several types.

    pydantic ends its path with the type that was tried: 'params', 'alpha', 'float'.
    """
    return len(path) > 0 and path[-1] in ("int", "float", "str", "bool")


def _path_words(path: Sequence[int | str]) -> str:
    """'its folds[1].score', or 'it' for all of a document."""
    if not path:
        return "it"
    words = ""
    for part in path:
        if isinstance(part, int):
            words += f"[{part}]"
        else:
            words += f".{part}"
    return f"its {shown(words.removeprefix('.'))}"


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a type
    from pydantic import TypeAdapter

    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
