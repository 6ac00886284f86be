"""A contender's name <-> its algorithm and parameters; and as people read it."""

from __future__ import annotations

from ecv_core import models
from ecv_core.models.outside import PREFIX, named
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import RunSpec


def parse_contender(text: str) -> tuple[str, dict[str, ParamValue]]:
    """'item-knn:neighbours=50,shrink=10' as an algorithm's id and parameters by name.

    Raises: InputError for a parameter without a value.
    """
    prefix = PREFIX if named(text) else ""
    algorithm, _, rest = text.removeprefix(prefix).partition(":")
    algorithm = prefix + algorithm
    params: dict[str, ParamValue] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"the contender '{text}' has '{part}', which is no name=value; write it as "
                f"{algorithm}:name=value,name=value"
            )
        params[name] = value
    return algorithm, params


def contender_name(spec: RunSpec) -> str:
    """As `parse_contender` reads it, with the parameters that are not at their defaults."""
    usual = dict(models.of(spec).resolve({}))
    changed = [f"{name}={value}" for name, value in spec.params if usual.get(name) != value]
    return f"{spec.algorithm}:{','.join(changed)}" if changed else spec.algorithm


def contender_title(name: str) -> str:
    """A contender's name as people read it: 'ItemKNN, neighbours 50'; others stay as they are."""
    algorithm, _, params = name.partition(":")
    if algorithm not in models.ALGORITHMS:
        return name
    parts = [part.replace("_", " ").replace("=", " ") for part in params.split(",") if part]
    return ", ".join([models.ALGORITHMS[algorithm].title, *parts])
