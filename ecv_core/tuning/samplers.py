"""Which configurations of a space are tried: all, or those that Optuna's samplers propose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from ecv_core.errors import InputError
from ecv_core.records import ParamValue
from ecv_core.tuning.spaces import Space, size_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study

Sampler = Literal["grid", "random", "tpe"]
SAMPLERS: tuple[Sampler, ...] = ("grid", "random", "tpe")
USUAL_BUDGET = 20
"""Configurations of a random or TPE search where nothing else is asked for."""
_PATIENCE = 50
"""A search ends after so many proposals in a row that were made before."""


def budget_of(space: Space, sampler: Sampler, asked: int | None) -> int:
    """How many configurations are tried.

    Raises: InputError for fewer than two.
    """
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
    study = quiet_study(_sampler(space, sampler, seed), maximize=higher_is_better)
    places = places_of(space)
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


def places_of(space: Space) -> dict[str, BaseDistribution]:
    """What Optuna is told of a space: the places of values, in order where they are numbers."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    return {
        name: IntDistribution(0, len(values) - 1)
        if all(isinstance(value, int | float) for value in values)
        else CategoricalDistribution(range(len(values)))
        for name, values in space.items()
    }


def quiet_study(sampler: BaseSampler | None = None, *, maximize: bool = True) -> Study:
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
