"""Public fields under new names: their old names go on working, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Record = TypeVar("Record")


def renamed_fields(**new_names: str) -> Callable[[type[Record]], type[Record]]:
    """Decorates a class, so that old names are taken as arguments and read as attributes.

    Args:
        new_names: The name of a field in releases before -> its name now.
    """

    def decorate(record: type[Record]) -> type[Record]:
        initialize: Callable[..., None] = record.__init__

        @wraps(initialize)
        def initialize_by_either_name(self: Record, *args: Any, **fields: Any) -> None:  # noqa: ANN401
            for old, new in new_names.items():
                if old in fields:
                    message = _message(record, old, new)
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    fields[new] = fields.pop(old)
            initialize(self, *args, **fields)

        setattr(record, "__init__", initialize_by_either_name)  # noqa: B010  mypy refuses the other
        for old, new in new_names.items():
            setattr(record, old, _field_under_old_name(record, old, new))
        return record

    return decorate


def _field_under_old_name(record: type, old: str, new: str) -> property:
    def read_field(self: object) -> Any:  # noqa: ANN401  what the field holds
        warnings.warn(_message(record, old, new), DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read_field)


def _message(record: type, old: str, new: str) -> str:
    return f"{record.__name__}.{old} is called {new} now; use that name"
