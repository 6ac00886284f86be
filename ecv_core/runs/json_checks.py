"""Values of a JSON document from anywhere -> refused with one sentence where they cannot be."""

from __future__ import annotations

import math

from ecv_core.errors import InputError

MAX_TEXT = 1000


def shown(value: object) -> str:
    """The beginning of a value in one line, for a message."""
    return " ".join(str(value)[:40].split())


def number(value: object, what: str) -> float:
    """The value as a float. Raises: InputError unless it is a finite number (true is none)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"its {what} must be a finite number, but is {shown(value)}")
    return float(value)


def at_least(value: object, least: float, what: str, *, whole: bool = False) -> None:
    """Refuse a number below `least`, or one that is not whole where it must be.

    Raises: InputError.
    """
    found = number(value, what)
    if found < least or (whole and not isinstance(value, int)):
        kind = "whole number" if whole else "number"
        raise InputError(f"its {what} must be a {kind} from {least:g}, but is {shown(value)}")


def typed(value: object, kind: str, what: str) -> None:
    """Check a plain value against a field's annotation, such as 'float | None'.

    Raises: InputError, also for text of several lines or more than MAX_TEXT signs.
    """
    if value is None and "None" in kind:
        return
    if "float" in kind or "int" in kind:
        found = number(value, what)
        if "float" not in kind and (not isinstance(value, int) or found != value):
            raise InputError(f"its {what} must be a whole number, but is {shown(value)}")
    elif "bool" in kind and not isinstance(value, bool):
        raise InputError(f"its {what} must be true or false, but is {shown(value)}")
    elif "str" in kind and (
        not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable()
    ):
        raise InputError(f"its {what} must be a line of text, but is {shown(value)}")


def scalars(value: object, what: str) -> None:
    """Refuse anything but an object of numbers, texts and truth values. Raises: InputError."""
    if not isinstance(value, dict) or len(value) > 200:
        raise InputError(f"its {what} must be an object")
    for one in value.values():
        if isinstance(one, int | float) and not isinstance(one, bool):
            number(one, what)
        elif not isinstance(one, str | bool) or len(str(one)) > MAX_TEXT:
            raise InputError(f"its {what} must hold numbers and text, but holds {shown(one)}")


def whole_numbers(value: object, what: str) -> None:
    """Refuse anything but a list of whole numbers. Raises: InputError."""
    if not isinstance(value, list) or len(value) > 10_000:
        raise InputError(f"its {what} must be a list of whole numbers")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, int):
            raise InputError(f"its {what} must hold whole numbers, but holds {shown(one)}")
