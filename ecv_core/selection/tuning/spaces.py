"""Search spaces: the values to try of an algorithm's parameters, declared or given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.interactions import Interactions
from ecv_core.records.parameters import ParamValue
from ecv_core.store.recorded import Configuration

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study


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
    """A configuration as `selection.contenders.parse_contender` reads it."""
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


# Which configurations of a space are tried: all, or those that Optuna's samplers propose.


Sampler = Literal["grid", "random", "tpe"]
USUAL_BUDGET = 20
"""Configurations of a random or TPE search where nothing else is asked for."""
_PATIENCE = 50
"""A search ends after so many proposals in a row that were made before."""


def budget_of(space: Space, sampler: Sampler, asked: int | None) -> int:
    """How many configurations are tried. Raises: InputError for fewer than two."""
    if asked is not None and asked < 2:
        raise InputError(f"the budget is a number of configurations from 2 on, but is {asked}")
    usual = size_of(space) if sampler == "grid" else USUAL_BUDGET
    return min(size_of(space), usual if asked is None else asked)


def sampled(
    space: Space,
    sampler: Sampler,
    budget: int,
    *,
    seed: int,
    score: Callable[[dict[str, ParamValue]], float] | None = None,
    higher_is_better: bool = True,
) -> Iterator[dict[str, ParamValue]]:
    """Different configurations of a space, one after the other; the same for the same seed.

    A grid within its budget is gone through in order. Everything else is drawn by Optuna: a grid
    beyond its budget in random order, `random` uniformly, `tpe` by a tree-structured Parzen
    estimator that learns from the scores. Numbers are drawn by their place among the values, so
    that TPE knows their order and a grid in powers of two is even.

    Args:
        space: what there is.
        sampler: how to draw.
        budget: how many configurations, as `budget_of` says; TPE may end earlier, once it only
            proposes what it has seen.
        seed: of the draws.
        score: of a configuration, for TPE, asked before the next one is drawn.
        higher_is_better: of the score.
    Source: Bergstra, Bardenet, Bengio, Kégl (2011) for TPE.
    """
    if sampler == "grid" and budget >= size_of(space):
        for values in itertools.product(*space.values()):
            yield dict(zip(space, values, strict=True))
        return
    from optuna.distributions import CategoricalDistribution, IntDistribution

    study = _quiet_study(_sampler(space, sampler, seed), maximize=higher_is_better)
    places: dict[str, BaseDistribution] = {
        name: IntDistribution(0, len(values) - 1)
        if all(isinstance(value, int | float) for value in values)
        else CategoricalDistribution(range(len(values)))
        for name, values in space.items()
    }
    seen: dict[tuple[ParamValue, ...], float] = {}
    again = 0
    while len(seen) < budget and (sampler != "tpe" or again < _PATIENCE):
        trial = study.ask(places)
        configuration = {name: space[name][trial.params[name]] for name in space}
        key = tuple(configuration.values())
        again = again + 1 if key in seen else 0
        if key not in seen:
            yield configuration
            seen[key] = score(configuration) if score is not None else 0.0
        study.tell(trial, seen[key])


def _quiet_study(sampler: BaseSampler, *, maximize: bool) -> Study:
    """A study of Optuna in memory, made without a word in the log."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return optuna.create_study(
            sampler=sampler, direction="maximize" if maximize else "minimize"
        )
    finally:
        optuna.logging.set_verbosity(verbosity)


def _sampler(space: Space, sampler: Sampler, seed: int) -> BaseSampler:
    from optuna import samplers

    if sampler == "grid":
        return samplers.GridSampler({name: range(len(space[name])) for name in space}, seed=seed)
    if sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed)
