"""A public field under a new name: its old name goes on working, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Record = TypeVar("Record")


def renamed_field(old: str, new: str) -> Callable[[type[Record]], type[Record]]:
    """Decorates a class, so that `old` is taken as an argument by name and read as an attribute.

    Args:
        old: the field's name in releases before.
        new: its name now.
    """

    def decorate(record: type[Record]) -> type[Record]:
        message = f"{record.__name__}.{old} is called {new} now; use that name"
        initialize: Callable[..., None] = record.__init__

        @wraps(initialize)
        def initialize_by_either_name(self: Record, *args: Any, **fields: Any) -> None:  # noqa: ANN401
            if old in fields:
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                fields[new] = fields.pop(old)
            initialize(self, *args, **fields)

        def read_by_old_name(self: Record) -> Any:  # noqa: ANN401  what the field holds
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(self, new)

        setattr(record, "__init__", initialize_by_either_name)  # noqa: B010  mypy refuses the other
        setattr(record, old, property(read_by_old_name))
        return record

    return decorate
