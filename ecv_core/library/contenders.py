"""Models in memory wherever several are compared: named, held, and their folds computed here."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from inspect import isroutine, signature
from typing import Any, NamedTuple

from ecv_core.energy.real_meters import meter_for
from ecv_core.fold.costs import FoldClock
from ecv_core.jobs import executors
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.executors import Executor, Here
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.reported_scores import measure
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.library.models import check_model, fold_computer, name_of
from ecv_core.models.held import PARAMETER, Build, build_held, held, is_held
from ecv_core.records.errors import EcvError, InputError, RunError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec

log = logging.getLogger(__name__)

YOUR_CODE = "your code"
"""The phase of a fold that somebody's own code computes."""


# What a model in memory is to a spec.


class NamedModel(NamedTuple):
    """A model that is compared with others."""

    name: str
    settings: dict[str, Any]
    """Of `fold.spec.make_spec`, for a model in memory; empty for one that its name says."""


@contextmanager
def as_settings(contenders: Sequence[object]) -> Iterator[list[NamedModel]]:
    """Name and settings of each contender, whose models in memory are held meanwhile.

    Args:
        contenders: Words as `select` takes them, and models as `evaluate` does.
    """
    with ExitStack() as stack:
        named_models = []
        names_in_memory: set[str] = set()
        for contender in contenders:
            if isinstance(contender, str):
                named_models.append(NamedModel(contender, {}))
                continue
            check_model(contender)
            name = _unused_name(_model_words(contender), names_in_memory)
            names_in_memory.add(name)
            # A spec holds only plain values. So the model is held in memory under a key, which is a
            # parameter in the spec, and it is tracked, as its own code computes the folds.
            key = stack.enter_context(held(partial(_return_model, contender)))
            params = _settings_of(contender) | {PARAMETER: key}
            settings = {"algorithm": name_of(contender), "params": params, "tracked": True}
            named_models.append(NamedModel(name, settings))
        yield named_models


@contextmanager
def as_tuning_settings(
    model: object, space: Mapping[str, Sequence[ParamValue]]
) -> Iterator[dict[str, Any]]:
    """Settings of `fold.spec.make_spec` for a model that is tuned, which is held meanwhile.

    Args:
        model: Makes one of a configuration, as a class does; or one with `set_params`.
        space: Parameter -> values.

    Raises:
        InputError: For a model that cannot be set, or does not take the first values.
    """
    build = _build_of(model)
    if not space:
        raise InputError(
            f"the model {name_of(model)} has no search space of its own; give the values of its "
            "parameters, such as {'alpha': [0.5, 1.0]}"
        )
    # A model is made now, so that a parameter that it does not take is refused before any fold
    # runs.
    first_values = {name: values[0] for name, values in space.items() if values}
    try:
        made = build(first_values)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"no {name_of(model)} can be made with {first_values}: {error}; give values of its "
            "parameters"
        ) from error
    check_model(made)
    # A spec holds only plain values, so that it has the key under which the model is held.
    with held(build) as key:
        yield {"algorithm": name_of(model), "params": {PARAMETER: key}, "tracked": True}


def _build_of(model: object) -> Build:
    """What makes a model of a configuration. Raises: InputError for a model that cannot be set."""
    if callable(getattr(model, "set_params", None)) and not isinstance(model, type):
        return partial(_build_by_set_params, model)
    if callable(model):
        return partial(_build_by_call, model)
    raise InputError(
        f"a model of the type {type(model).__name__} cannot be tuned: give its class, a "
        "function that makes one from the parameters, or an object with set_params"
    )


def _return_model(model: object, _configuration: Mapping[str, ParamValue]) -> object:
    return model


def _build_by_call(make: Any, configuration: Mapping[str, ParamValue]) -> object:  # noqa: ANN401
    return make(**_without_key(configuration))


def _build_by_set_params(model: Any, configuration: Mapping[str, ParamValue]) -> object:  # noqa: ANN401
    other = copy.deepcopy(model)
    other.set_params(**_without_key(configuration))
    return other


def _without_key(configuration: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    own_params = dict(configuration)
    own_params.pop(PARAMETER, None)
    return own_params


def _settings_of(model: Any) -> dict[str, ParamValue]:  # noqa: ANN401  any object
    """What its class was called with, as far as the object keeps it and it is plain."""
    if isroutine(model) or type(model).__init__ is object.__init__:
        return {}
    settings: dict[str, ParamValue] = {}
    for name in signature(type(model)).parameters:
        value = getattr(model, name, None)
        # Tables can show such values, but no objects and no long texts.
        if isinstance(value, bool | int | float | str) and len(str(value)) <= 30:
            settings[name] = value
    return settings


def _model_words(model: object) -> str:
    """Such as 'Knob(alpha=1.0)'."""
    settings = [f"{name}={value}" for name, value in _settings_of(model).items()]
    if not settings:
        return name_of(model)
    return f"{name_of(model)}({', '.join(settings)})"


def _unused_name(name: str, taken: set[str]) -> str:
    """The name, numbered where another contender has it."""
    unused = name
    number = 1
    while unused in taken:
        number += 1
        unused = f"{name} {number}"
    return unused


# Folds of models in memory.


def executor_for(on: str | None, *, in_memory: bool) -> Executor:
    """The executor for a place, where models in memory are computed in this process.

    Raises:
        InputError: For models in memory elsewhere.
    """
    if not in_memory:
        return executor_on(on)
    check_computed_here(on)
    return Here(compute)


def check_computed_here(on: str | None) -> None:
    """Refuse another place for a model in memory. Raises: InputError."""
    if on is not None:
        raise InputError(f"a model in memory is computed here, not on {on}: leave `on` out")


def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> executors.Results:
    """A fold, of a model in memory or by an id; as of `executors.compute`."""
    spec = specs[0]
    if not is_held(spec):
        yield from executors.compute(specs, index, progress)
        return
    meter = meter_for(spec)
    # A meter measures the whole machine, so this waits for folds of other programs to end.
    with machine_for(spec, progress):
        progress(YOUR_CODE, 0, 0)
        fold = TrackedFold(spec, index)
        meter.start()
        clock = FoldClock()
        try:
            compute_fold = fold_computer(build_held(spec), ranks=spec.task.ranks)
            reported = compute_fold(spec, fold)
            fit_ended_at = time.perf_counter()
            measured = measure(fold, reported)
            seconds = clock.seconds_until_now(
                fit_began_at=clock.began_at, fit_ended_at=fit_ended_at
            )
        except EcvError:
            raise
        except Exception as error:
            raise RunError(
                f"{spec.algorithm} failed in fold {index} ({type(error).__name__}: {error})"
            ) from error
        finally:
            energy = meter.stop()
    if measured.note:
        log.warning("%s", measured.note)
    spec_index = 0  # Nothing is shared with other configurations, so there is one spec.
    yield spec_index, measured.result(index, energy=energy, **seconds)
