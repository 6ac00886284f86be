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
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from ecv_core.records.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
_WORDS: dict[object, str] = {
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


def kinds_checked(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which refuses a wrong object by the name of its argument.

    It goes by the annotations: text, numbers, lists, dicts, functions, choices and classes; what a
    protocol or `object` stands for is left to the function, and so is text or None for a setting.
    Raises: InputError.
    """
    known = signature(function)

    @cache
    def hints() -> tuple[dict[str, Any], dict[str, Any]]:
        """Of its own arguments, and of the settings of a run that it takes."""
        told = {name: one.annotation for name, one in known.parameters.items()}
        names = getattr(function, "__globals__", {})
        found = get_type_hints(SimpleNamespace(__annotations__=told), names)
        kinds = [get_args(one)[0] for one in found.values() if get_origin(one) is Unpack]
        return found, get_type_hints(kinds[0]) if kinds else {}

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> T:
        own, settings = hints()
        for name, value in (*zip(known.parameters, given, strict=False), *named.items()):
            if name in settings and isinstance(value, str | None):
                continue
            hint = (settings | own).get(name, object)
            if not _fits(value, hint):
                who = getattr(function, "__name__", "")
                raise InputError(f"{name} of {who} is {_words(hint)}, but is {value!r:.80}")
        return function(*given, **named)

    return checked


def _fits(value: Any, hint: Any) -> bool:  # noqa: ANN401  any object and annotation
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in parts)
    if kind is Literal:
        return value in parts
    if kind in (int, float, bool):
        number = {int: Integral, float: Real, bool: bool}[kind]
        return isinstance(value, number) and (kind is bool or not isinstance(value, bool))
    if kind in (Sequence, tuple):
        several = all(hasattr(value, name) for name in ("__len__", "__getitem__", "__iter__"))
        if not several or isinstance(value, str | bytes | Mapping):
            return False
        return all(_fits(one, parts[0]) for one in value)
    if kind is Mapping:
        lists = get_origin(parts[1]) is Sequence  # a single value is the function's to judge
        fits = isinstance(value, Mapping)
        return fits and not (lists and not all(_fits(one, parts[1]) for one in value.values()))
    if kind is Callable:
        return callable(value) and not isinstance(value, type)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _words(hint: Any) -> str:  # noqa: ANN401  any annotation
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        said = list(dict.fromkeys(map(_words, parts)))
        return " or ".join(filter(None, [", ".join(said[:-1]), said[-1]]))
    if kind is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if kind in (Sequence, tuple) and parts[0] in _WORDS:
        return f"a list (each {_WORDS[parts[0]]})"
    return _WORDS.get(kind) or f"{'an' if kind.__name__[0] in 'AEIOUn' else 'a'} {kind.__name__}"
