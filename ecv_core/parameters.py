"""What can be set on a model, a split or a run: typed, documented, validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ecv_core.errors import InputError, UnknownName

ParamValue = int | float | str | bool
"""A parameter's value: whatever JSON can hold as one scalar."""


class _ObjectInJson:
    """Marks named values, sorted by name, that JSON holds as one object."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, schema_of: Callable[..., Any]) -> object:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            lambda named: tuple(sorted(named.items())),
            schema_of(dict[str, ParamValue]),
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )


Params = Annotated[tuple[tuple[str, ParamValue], ...], _ObjectInJson]
"""Every parameter with its value, sorted by name."""


_LARGEST = 2**53
"""Where a parameter has no bound of its own: as far as whole numbers are exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One knob: its type is its default's, its range is inclusive."""

    name: str
    default: ParamValue
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""
    """Where the default comes from: a paper, a peer, or our own search."""

    def parse(self, given: ParamValue) -> ParamValue:
        """The value, from a number or from text, in this parameter's type.

        Raises: InputError if it is of the wrong type, out of range, or not among the choices.
        """
        value = converted(type(self.default), given, f"parameter '{self.name}'")
        if self.choices and value not in self.choices:
            raise InputError(
                f"parameter '{self.name}' must be one of {', '.join(self.choices)}, not '{given}'"
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            low = -_LARGEST if self.low is None else self.low
            high = _LARGEST if self.high is None else self.high
            if not low <= value <= high:  # also refuses NaN
                raise InputError(
                    f"parameter '{self.name}' must be from {low:g} to {high:g}, but is {given}"
                )
        return value


def converted(kind: type, given: ParamValue, what: str) -> ParamValue:
    """A number or a text as a value of this type.

    Args:
        kind: bool, int, float or str.
        given: the number or the text.
        what: what it is the value of, for the error.
    Raises: InputError if it is none.
    """
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(given).lower()]
        if kind is int:
            value = int(given) if isinstance(given, str) else int(given + 0)
            if not isinstance(given, str) and value != given:
                raise ValueError
            return value
        value_of: ParamValue = kind(given)
    except (KeyError, ValueError, TypeError, OverflowError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        raise InputError(f"{what} must be {wanted[kind]}, but is '{given}'") from None
    return value_of


def resolve(parameters: Sequence[Parameter], given: Mapping[str, ParamValue], *, of: str) -> Params:
    """Every parameter with its value: the given ones checked, the rest by default.

    Args:
        parameters: what there is to set.
        given: values by name, as numbers or as text.
        of: whose parameters they are, for errors: an id.
    Raises: InputError for an unknown name or a bad value.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise UnknownName(f"parameter of {of}", name, known)
    return tuple(
        (name, known[name].parse(given[name]) if name in given else known[name].default)
        for name in sorted(known)
    )
