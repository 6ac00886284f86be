"""Arguments of public functions -> one sentence for the first that is of a wrong kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from ecv_core.records.errors import InputError, explain_missing_extras

P = ParamSpec("P")
T = TypeVar("T")
_TYPE_WORDS: dict[object, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Mapping: "a dict",
    Sequence: "a list",
    tuple: "a list",
    Callable: "a function",
    NoneType: "None",
}
_NUMBERS: dict[object, type] = {int: Integral, float: Real}
"""Numbers of NumPy serve as well."""


def kinds_checked(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which refuses a wrong object by the name of its argument.

    It goes by the annotations: text, numbers, lists, dicts, functions, choices and classes; what a
    protocol or `object` stands for is left to the function, and so is text or None for a setting.

    Raises:
        InputError.
        NotInstalled: Where it needs a package that is not here.
    """
    names = list(signature(function).parameters)

    @wraps(function)
    def checked(*positional: P.args, **named: P.kwargs) -> T:
        # Annotations are read at the first call, as they may name classes that are defined later.
        hints = _hints_of(function)
        arguments = dict(zip(names, positional, strict=False)) | named
        for name, value in arguments.items():
            # A text for a setting of a run is converted later, and None stands for its default.
            if name in hints.settings and isinstance(value, str | None):
                continue
            hint = (hints.settings | hints.arguments).get(name, object)
            if not _matches_hint(value, hint):
                function_name = getattr(function, "__name__", "")
                raise InputError(
                    f"{name} of {function_name} is {_type_words(hint)}, but is {value!r:.80}"
                )
        with explain_missing_extras():
            return function(*positional, **named)

    return checked


class _Hints(NamedTuple):
    """The types that a function takes, by name."""

    arguments: dict[str, Any]
    settings: dict[str, Any]
    """Of a run, which it takes as `**settings: Unpack[...]`."""


@cache
def _hints_of(function: Callable[..., object]) -> _Hints:
    # The type that a function returns is left out: it may be of a package, such as pandas, that is
    # loaded for type checking alone, and its name would not be found.
    parameters = signature(function).parameters.values()
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    own_names = getattr(function, "__globals__", {})
    hints = get_type_hints(SimpleNamespace(__annotations__=annotations), own_names)
    settings = {}
    for hint in hints.values():
        if get_origin(hint) is Unpack:
            # The arguments are unpacked from a TypedDict, whose fields are the settings.
            (fields,) = get_args(hint)
            settings = get_type_hints(fields)
    return _Hints(hints, settings)


def _matches_hint(value: Any, hint: Any) -> bool:  # noqa: ANN401  any object and annotation
    kind = get_origin(hint) or hint
    parts = get_args(hint)
    if kind in (Union, UnionType):
        return any(_matches_hint(value, part) for part in parts)
    if kind is Literal:  # An array can be compared with no text, and none here is a number.
        return isinstance(value, str) and value in parts
    if kind in (Sequence, tuple):
        return _is_list(value, parts[0])
    if kind is Mapping:
        return _is_dict(value, parts[1])
    if kind is Callable:
        return callable(value) and not isinstance(value, type)
    return _is_instance(value, kind)


def _is_list(value: Any, part_hint: Any) -> bool:  # noqa: ANN401  any object and annotation
    if isinstance(value, str | bytes | Mapping):
        return False
    if not all(hasattr(value, name) for name in ("__len__", "__getitem__", "__iter__")):
        return False
    if getattr(value, "ndim", 1) == 0:  # An array of one number has these, too, and no length.
        return False
    return all(_matches_hint(part, part_hint) for part in value)


def _is_dict(value: object, value_hint: Any) -> bool:  # noqa: ANN401  any annotation
    if not isinstance(value, Mapping):
        return False
    if get_origin(value_hint) is not Sequence:
        # Single values are judged by the function itself; here only lists are.
        return True
    return all(_matches_hint(part, value_hint) for part in value.values())


def _is_instance(value: object, kind: Any) -> bool:  # noqa: ANN401  any annotation
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _type_words(hint: Any) -> str:  # noqa: ANN401  any annotation
    """What an annotation accepts: 'text, a dict or None'."""
    kind = get_origin(hint) or hint
    parts = get_args(hint)
    if kind in (Union, UnionType):
        words = list(dict.fromkeys(map(_type_words, parts)))
        if len(words) == 1:
            return words[0]
        return f"{', '.join(words[:-1])} or {words[-1]}"
    if kind is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if kind in (Sequence, tuple) and parts[0] in _TYPE_WORDS:
        return f"a list (each {_TYPE_WORDS[parts[0]]})"
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    article = "a"
    if kind.__name__[0] in "AEIOUn":  # One says 'an ndarray'; classes begin with capitals.
        article = "an"
    return f"{article} {kind.__name__}"
