"""Search spaces: the values to try of an algorithm's parameters, declared or given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ecv_core.errors import InputError, UnknownName
from ecv_core.models.parameters import Algorithm
from ecv_core.records import Interactions, ParamValue
from ecv_core.runs.configurations import Configuration

Space = Mapping[str, tuple[ParamValue, ...]]
"""Parameter -> the values to try, in their order, at least one."""


def space_of(
    algorithm: Algorithm, name: str | None, own: Mapping[str, Sequence[ParamValue]]
) -> dict[str, tuple[ParamValue, ...]]:
    """The space that was asked for, every value checked.

    Args:
        algorithm: whose parameters they are.
        name: a declared space; None is the default one, or none at all where `own` is given.
        own: values by parameter, as numbers or text; they take the place of declared ones.
    Raises: InputError for a space or parameter that the algorithm does not have, a bad value, a
        value that is there twice, or a space of fewer than two configurations.
    """
    found: dict[str, tuple[ParamValue, ...]] = {}
    if name is not None or not own:
        found |= _declared(algorithm, name or "default")
    known = {one.name: one for one in algorithm.parameters}
    for parameter, given in own.items():
        if parameter not in known:
            raise UnknownName(f"parameter of {algorithm.id}", parameter, known)
        values = tuple(known[parameter].parse(value) for value in given)
        if not values or len(set(values)) < len(values):
            raise InputError(
                f"the grid of '{parameter}' needs different values, but has "
                f"{', '.join(map(str, given)) or 'none'}; write it as {parameter}=v1,v2"
            )
        found[parameter] = values
    if (size := size_of(found)) < 2:
        raise InputError(
            f"a search space needs at least two configurations, but this one has {size}; give a "
            "parameter another value with --grid name=v1,v2"
        )
    return found


def within(
    space: Space, algorithm: Algorithm, data: Interactions
) -> tuple[dict[str, tuple[ParamValue, ...]], dict[str, tuple[ParamValue, ...]]]:
    """What of a space a dataset allows, such as no more neighbours than there are items.

    Returns: the space without the other values, and those that were left out, by parameter.
    Raises: InputError if fewer than two configurations are left.
    """
    limits = algorithm.limits(data)
    kept: dict[str, tuple[ParamValue, ...]] = {}
    left_out: dict[str, tuple[ParamValue, ...]] = {}
    for name, values in space.items():
        most = limits.get(name, math.inf)
        over: tuple[ParamValue, ...] = tuple(
            one for one in values if isinstance(one, int | float) and one > most
        )
        kept[name] = tuple(one for one in values if one not in over)
        if over:
            left_out[name] = over
    if size_of(kept) < 2:
        name, gone = next(iter(left_out.items()))
        raise InputError(
            f"{data.dataset} allows {name} up to {limits[name]:,}, and {', '.join(map(str, gone))} "
            "is more; give at least two configurations that it allows"
        )
    return kept, left_out


def size_of(space: Space) -> int:
    """How many configurations a space has."""
    return math.prod(len(values) for values in space.values()) if space else 0


def contender_word(algorithm: str, configuration: Configuration) -> str:
    """A configuration as `selection.names.parse_contender` reads it."""
    return f"{algorithm}:{','.join(f'{name}={value}' for name, value in configuration.items())}"


def _declared(algorithm: Algorithm, name: str) -> Space:
    if name in algorithm.spaces:
        return algorithm.spaces[name]
    if not algorithm.parameters:
        raise InputError(f"{algorithm.id} has no parameters to tune; choose another algorithm")
    raise InputError(
        f"{algorithm.id} has no search space '{name}' (it has: "
        f"{', '.join(algorithm.spaces) or 'none'}); give your own with --grid name=v1,v2, of: "
        f"{', '.join(one.name for one in algorithm.parameters)}"
    )
