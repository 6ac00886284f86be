"""Models in memory wherever several are compared: named, held, and their folds computed here."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from inspect import isroutine, signature
from typing import Any

from ecv_core.energy.load import own_seconds, own_seconds_since
from ecv_core.energy.real_meters import meter_for
from ecv_core.jobs import executors
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.executors import Executor, Here
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.reported_scores import measure
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.library.models import check_model, fold_computer, name_of
from ecv_core.models.held import PARAMETER, build_held, held, is_held
from ecv_core.records.errors import EcvError, InputError, RunError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec

log = logging.getLogger(__name__)

PHASE = "your code"


# What a model in memory is to a spec.


@contextmanager
def as_settings(contenders: Sequence[object]) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Name and settings of each contender, whose models in memory are held meanwhile.

    Args:
        contenders: words as `select` takes them, and models as `evaluate` does.
    Returns: settings of `fold.spec.make_spec`; none for a word.
    """
    with ExitStack() as stack:
        named: list[tuple[str, dict[str, Any]]] = []
        names: set[str] = set()
        for contender in contenders:
            if isinstance(contender, str):
                named.append((contender, {}))
                continue
            check_model(contender)
            name = _free_name(_shown(contender), names)
            names.add(name)
            held_as = stack.enter_context(held(partial(_itself, contender)))
            params = _settings_of(contender) | {PARAMETER: held_as}
            settings = {"algorithm": name_of(contender), "params": params, "tracked": True}
            named.append((name, settings))
        yield named


@contextmanager
def tunable(model: object, space: Mapping[str, Sequence[ParamValue]]) -> Iterator[dict[str, Any]]:
    """Settings of `fold.spec.make_spec` for a model that is tuned, which is held meanwhile.

    Args:
        model: makes one of a configuration, as a class does; or one with `set_params`.
        space: parameter -> values.
    Raises: InputError for a model that cannot be set, or does not take the first values.
    """
    build = partial(_called, model)
    if callable(getattr(model, "set_params", None)) and not isinstance(model, type):
        build = partial(_set, model)
    elif not callable(model):
        raise InputError(
            f"a model of the type {type(model).__name__} cannot be tuned: give its class, a "
            "function that makes one from the parameters, or an object with set_params"
        )
    if not space:
        raise InputError(
            f"the model {name_of(model)} has no search space of its own; give the values of its "
            "parameters, such as {'alpha': [0.5, 1.0]}"
        )
    first = {name: values[0] for name, values in space.items() if values}
    try:
        made = build(first)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"no {name_of(model)} can be made with {first}: {error}; give values of its parameters"
        ) from error
    check_model(made)
    with held(build) as held_as:
        yield {"algorithm": name_of(model), "params": {PARAMETER: held_as}, "tracked": True}


def _itself(model: object, _configuration: Mapping[str, ParamValue]) -> object:
    return model


def _called(make: Any, configuration: Mapping[str, ParamValue]) -> object:  # noqa: ANN401
    return make(**_without_name(configuration))


def _set(model: Any, configuration: Mapping[str, ParamValue]) -> object:  # noqa: ANN401
    other = copy.deepcopy(model)
    other.set_params(**_without_name(configuration))
    return other


def _without_name(configuration: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    own = dict(configuration)
    own.pop(PARAMETER, None)
    return own


def _settings_of(model: Any) -> dict[str, ParamValue]:  # noqa: ANN401  any object
    """What its class was called with, as far as the object keeps it and it is plain."""
    if isroutine(model) or type(model).__init__ is object.__init__:
        return {}
    settings: dict[str, ParamValue] = {}
    for name in signature(type(model)).parameters:
        value = getattr(model, name, None)
        if isinstance(value, bool | int | float | str) and len(str(value)) <= 30:
            settings[name] = value
    return settings


def _shown(model: object) -> str:
    """Such as 'Knob(alpha=1.0)'."""
    settings = [f"{name}={value}" for name, value in _settings_of(model).items()]
    if not settings:
        return name_of(model)
    return f"{name_of(model)}({', '.join(settings)})"


def _free_name(name: str, taken: set[str]) -> str:
    """The name, numbered where another contender has it."""
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


# Folds of models in memory.


def executor_for(on: str | None, *, in_memory: bool) -> Executor:
    """The executor for a place, where models in memory are computed in this process.

    Raises: InputError for models in memory elsewhere.
    """
    if not in_memory:
        return executor_on(on)
    if on is not None:
        raise InputError(f"a model in memory is computed here, not on {on}: leave `on` out")
    return Here(compute)


def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> executors.Results:
    """A fold, of a model in memory or by an id; as of `executors.compute`."""
    spec = specs[0]
    if not is_held(spec):
        yield from executors.compute(specs, index, progress)
        return
    meter = meter_for(spec)
    with machine_for(spec, progress):
        progress(PHASE, 0, 0)
        fold = TrackedFold(spec, index)
        meter.start()
        begun = time.perf_counter()
        used = own_seconds()
        try:
            compute_fold = fold_computer(build_held(spec), ranks=spec.task.ranks)
            reported = compute_fold(spec, fold)
            fitted = time.perf_counter()
            measured = measure(fold, reported)
            end = time.perf_counter()
            processor_seconds = own_seconds_since(used)
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
    result = measured.result(
        index,
        fit_seconds=fitted - begun,
        evaluate_seconds=end - fitted,
        total_seconds=end - begun,
        processor_seconds=processor_seconds,
        energy=energy,
    )
    yield 0, result
