"""name=value words of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from ecv_core.errors import InputError


def named_values(words: Sequence[str], option: str) -> dict[str, str]:
    """What was given as `option NAME=VALUE`, any number of times. Raises: InputError."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"{option} takes name=value, but got '{word}'")
        found[name] = value
    return found
