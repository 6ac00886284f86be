"""Tracked models and those of plug-ins that are not installed: known by their name alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Params, ParamValue
from ecv_core.records.tasks import Task
from ecv_core.untrusted.limits import MAX_TEXT

MAX_NAME = 60


class Elsewhere(Algorithm):
    """A model that is known by its name alone; it takes any parameters, and cannot be built."""

    def resolve(self, values: Mapping[str, ParamValue]) -> Params:
        """The values, sorted by name; text that reads as a number is that number.

        Raises:
            InputError: For a value that is no finite number, line of text or truth value.
        """
        for name, value in values.items():
            if not str(name).isidentifier() or not _can_be_shown(value):
                raise InputError(
                    f"what is said of {self.id} is name=value with a finite number, a line of text "
                    f"or true or false, but {name} is {value!r}"
                )
        return tuple((name, _number(values[name])) for name in sorted(values))


def _can_be_shown(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and value.isprintable()
    # This refuses NaN, too.
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _number(value: ParamValue) -> ParamValue:
    """The number that a text reads as; everything else stays as it is."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            number: ParamValue = kind(value)
        except ValueError:
            continue
        if _can_be_shown(number):  # 'nan' stays a text
            return number
    return value


def model_elsewhere(name: str, task: Task) -> Elsewhere:
    """A model of this name that is not here."""

    def build(_params: Mapping[str, ParamValue]) -> NoReturn:
        raise InputError(f"'{name}' cannot be computed here: its code is elsewhere")

    return Elsewhere(
        id=name,
        title=name,
        summary="Computed by code outside e-fold.",
        paper="",
        parameters=(),
        build=build,
        log_odds=True,  # Whoever reports a log loss has probabilities.
        task=task,
    )


def tracked_model(name: str, task: Task, algorithms_here: Mapping[str, Algorithm]) -> Elsewhere:
    """A model whose folds are computed by code outside, under the name that it was given.

    Args:
        name: One line of text.
        task: What it does.
        algorithms_here: Whose ids and titles it cannot have.

    Raises:
        InputError: For a name that cannot be shown, or that an algorithm here has.
    """
    way_out = "give it a name of one line, such as 'my model'"
    if not name or name != " ".join(name.split()) or not name.isprintable():
        raise InputError(f"'{name}' cannot be the name of a tracked model; {way_out}")
    if len(name) > MAX_NAME or ":" in name or name.startswith("-"):
        raise InputError(
            f"the name of a tracked model has at most {MAX_NAME} characters, no ':' and no '-' at "
            f"its start, but is '{name}'; {way_out}"
        )
    for algorithm in algorithms_here.values():
        if name.casefold() in (algorithm.id.casefold(), algorithm.title.casefold()):
            raise InputError(
                f"'{name}' is an algorithm of e-fold ({algorithm.id}); give your model another "
                f"name, such as 'my {name}'"
            )
    return model_elsewhere(name, task)
