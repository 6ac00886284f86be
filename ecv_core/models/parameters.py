"""Model parameters as typed, documented, validated records, and the algorithms that take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ecv_core.errors import InputError, UnknownName
from ecv_core.models.base import Recommender
from ecv_core.records import ParamValue

Params = tuple[tuple[str, ParamValue], ...]
"""Every parameter of a model with its value, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One knob of a model: its type is its default's, its range is inclusive."""

    name: str
    default: ParamValue
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""
    """Where the default comes from: a paper, a peer, or our own search."""

    def parse(self, given: ParamValue) -> ParamValue:
        """The value, from a number or from text, in this parameter's type.

        Raises: InputError if it is of the wrong type, out of range, or not among the choices.
        """
        kind = type(self.default)
        value: ParamValue
        try:
            if kind is bool:
                value = {"true": True, "false": False}[str(given).lower()]
            elif kind is int:
                value = int(given) if isinstance(given, str) else int(given + 0)
                if not isinstance(given, str) and value != given:
                    raise ValueError
            else:
                value = kind(given)
        except (KeyError, ValueError, TypeError):
            wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
            raise InputError(
                f"parameter '{self.name}' must be {wanted[kind]}, but is '{given}'"
            ) from None
        if self.choices and value not in self.choices:
            raise InputError(
                f"parameter '{self.name}' must be one of {', '.join(self.choices)}, not '{given}'"
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            low = float("-inf") if self.low is None else self.low
            high = float("inf") if self.high is None else self.high
            if not low <= value <= high:  # also refuses NaN
                raise InputError(
                    f"parameter '{self.name}' must be from {low:g} to {high:g}, but is {value:g}"
                )
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A model as users know it, before any of its code (torch, LensKit) is loaded."""

    id: str
    title: str
    summary: str
    """What it does, its cost and when to use it, in at most three sentences."""
    paper: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, ParamValue]], Recommender]
    """Makes an unfitted model; imports what it needs only when called."""
    paper_default: Mapping[str, ParamValue] = field(default_factory=dict)
    """Values of the paper, or of the system that made the model known, where they are not ours."""

    @property
    def presets(self) -> dict[str, dict[str, ParamValue]]:
        """Named sets of values for every parameter; 'tuned' are the defaults."""
        tuned = {parameter.name: parameter.default for parameter in self.parameters}
        return {"tuned": tuned, "paper default": tuned | dict(self.paper_default)}

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value: the given ones checked, the rest by default.

        Raises: InputError for an unknown name or a bad value.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.id}", name, known)
        return tuple(
            (name, known[name].parse(given[name]) if name in given else known[name].default)
            for name in sorted(known)
        )
