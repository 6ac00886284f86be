"""Search spaces: the values to try of an algorithm's parameters, declared or given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Interactions
from ecv_core.records.parameters import ParamValue

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study


Space = Mapping[str, tuple[ParamValue, ...]]
"""Parameter -> the values to try, in their order, at least one."""


def space_of(
    algorithm: Algorithm, name: str | None, grid: Mapping[str, Sequence[ParamValue]]
) -> dict[str, tuple[ParamValue, ...]]:
    """The space that was asked for, every value checked.

    Args:
        algorithm: Whose parameters they are.
        name: A declared space; None is the default one, or none at all where a grid is given.
        grid: Values by parameter, as numbers or text; they take the place of declared ones.

    Raises:
        InputError: For a space or parameter that the algorithm does not have, a bad value, a
            value that is there twice, or a space of fewer than two configurations.
    """
    space: dict[str, tuple[ParamValue, ...]] = {}
    if name is None and not grid:
        name = "default"
    if name is not None:
        space.update(_declared_space(algorithm, name))
    for parameter, values in grid.items():
        space[parameter] = _checked_values(algorithm, parameter, values)
    size = size_of(space)
    if size < 2:
        raise InputError(
            f"a search space needs at least two configurations, but has {size}; add a value for "
            "a parameter with --grid name=v1,v2"
        )
    return space


def _checked_values(
    algorithm: Algorithm, name: str, values: Sequence[ParamValue]
) -> tuple[ParamValue, ...]:
    """Values of a parameter, as numbers where it has numbers.

    Raises:
        InputError: For an unknown parameter, a value that it cannot have or has twice, or none.
    """
    checked = tuple(algorithm.value_of(name, value) for value in values)
    if not checked or len(set(checked)) < len(checked):
        raise InputError(
            f"the grid of '{name}' needs different values, but has "
            f"{', '.join(map(str, values)) or 'none'}; write it as {name}=v1,v2"
        )
    return checked


class Allowed(NamedTuple):
    """What of a space a dataset allows."""

    space: dict[str, tuple[ParamValue, ...]]
    """Without the values that it does not allow."""
    left_out: dict[str, tuple[ParamValue, ...]]
    """Those values, by parameter; parameters without any are left out."""


def allowed_by(space: Space, algorithm: Algorithm, data: Interactions) -> Allowed:
    """What of a space a dataset allows, such as no more neighbours than there are items.

    Raises:
        InputError: If fewer than two configurations are left.
    """
    limits = algorithm.limits(data)
    allowed = Allowed(space={}, left_out={})
    for name, values in space.items():
        kept = []
        too_large = []
        for value in values:
            if name in limits and isinstance(value, int | float) and value > limits[name]:
                too_large.append(value)
            else:
                kept.append(value)
        allowed.space[name] = tuple(kept)
        if too_large:
            allowed.left_out[name] = tuple(too_large)
    if size_of(allowed.space) < 2:
        # A space has at least two configurations (`space_of`), so some value was left out.
        name, values = next(iter(allowed.left_out.items()))
        raise InputError(
            f"{data.dataset} allows {name} up to {limits[name]:,}, but got "
            f"{', '.join(map(str, values))}; give at least two configurations within this limit"
        )
    return allowed


def size_of(space: Space) -> int:
    """How many configurations a space has."""
    if not space:
        return 0
    return math.prod(len(values) for values in space.values())


def _declared_space(algorithm: Algorithm, name: str) -> Space:
    """A space that an algorithm declares.

    Raises:
        InputError: For one that it does not have.
    """
    if name in algorithm.spaces:
        return algorithm.spaces[name]
    if not algorithm.parameters:
        raise InputError(f"{algorithm.id} has no parameters to tune; choose another algorithm")
    spaces = ", ".join(algorithm.spaces) or "none"
    parameters = ", ".join(parameter.name for parameter in algorithm.parameters)
    raise InputError(
        f"{algorithm.id} has no search space '{name}' (it has: {spaces}); give your own with "
        f"--grid name=v1,v2, of: {parameters}"
    )


# Which configurations of a space are tried: all, or those that Optuna's samplers propose.


Sampler = Literal["grid", "random", "tpe"]
USUAL_BUDGET = 20
"""Configurations of a random or TPE search where nothing else is asked for."""
_MOST_REPEATS = 50
"""A TPE search ends after so many proposals in a row that were made before."""


def budget_of(space: Space, sampler: Sampler, requested: int | None) -> int:
    """How many configurations are tried.

    Raises:
        InputError: For fewer than two.
    """
    if requested is not None and requested < 2:
        raise InputError(f"the budget must be at least 2 configurations, but is {requested}")
    size = size_of(space)
    if requested is not None:
        return min(size, requested)
    if sampler == "grid":
        return size
    return min(size, USUAL_BUDGET)


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
        space: What there is.
        sampler: How to draw.
        budget: How many configurations, as `budget_of` says; TPE may end earlier, once it only
            proposes what it has seen.
        seed: The seed of the draws.
        score: The score of a configuration, for TPE, asked before the next one is drawn.
        higher_is_better: Whether a higher score is better.
    Source: Bergstra, Bardenet, Bengio, Kégl (2011) for TPE.
    """
    if sampler == "grid" and budget >= size_of(space):
        for point in itertools.product(*space.values()):
            yield dict(zip(space, point, strict=True))
        return
    study = _create_study_quietly(_sampler(space, sampler, seed), maximize=higher_is_better)
    indices = _indices(space)
    scores: dict[tuple[ParamValue, ...], float] = {}
    repeats = 0
    while len(scores) < budget:
        trial = study.ask(indices)
        # Optuna draws the index of each value; the value itself need not be a number.
        configuration = {name: space[name][trial.params[name]] for name in space}
        values = tuple(configuration.values())
        if values in scores:
            repeats += 1
            # A grid has no repeats and random draws come to every configuration in the end, but a
            # TPE may propose the best ones for ever.
            if sampler == "tpe" and repeats == _MOST_REPEATS:
                return
        else:
            repeats = 0
            yield configuration  # the caller computes it before it asks for the next
            scores[values] = 0.0  # Optuna is told 0 where its draws do not depend on scores.
            if score is not None:
                scores[values] = score(configuration)
        study.tell(trial, scores[values])


def _indices(space: Space) -> dict[str, BaseDistribution]:
    """Parameter -> the indices of its values, which Optuna draws; in an order for numbers alone."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    indices: dict[str, BaseDistribution] = {}
    for name, values in space.items():
        if all(isinstance(value, int | float) for value in values):
            indices[name] = IntDistribution(0, len(values) - 1)
        else:
            indices[name] = CategoricalDistribution(range(len(values)))
    return indices


def _create_study_quietly(sampler: BaseSampler, *, maximize: bool) -> Study:
    """A study of Optuna in memory, made without a word in the log."""
    import optuna

    direction: Literal["minimize", "maximize"] = "minimize"
    if maximize:
        direction = "maximize"
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return optuna.create_study(sampler=sampler, direction=direction)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _sampler(space: Space, sampler: Sampler, seed: int) -> BaseSampler:
    """Optuna's sampler of that name."""
    from optuna import samplers

    if sampler == "grid":
        # A trial is asked for the index of a value in its list, so the grid is one of indices.
        indices = {name: range(len(values)) for name, values in space.items()}
        return samplers.GridSampler(indices, seed=seed)
    if sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed)
