"""What there is to know of a setting of a run, beside the field of `RunSpec` that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ecv_core.errors import InputError, UnknownName
from ecv_core.parameters import converted, in_range, range_words

T = TypeVar("T")


class Role(Enum):
    """What a setting changes. The first three decide the scores of the folds."""

    MODEL = "what is fitted"
    FOLDS = "what is held out in each fold"
    MEASURE = "how the held-out part is measured"
    STOP = "after which fold the run stops"
    REPORT = "only what is reported"


SCORES = (Role.MODEL, Role.FOLDS, Role.MEASURE)
"""Runs that differ in no setting of these roles have the same scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: what the command line, the Run page, links and comparisons know of it."""

    name: str
    kind: type
    """int, float, str, bool or tuple; from the annotation of the field."""
    default: Any
    role: Role
    each: type = str
    """Of a tuple's values: int or str."""
    help: str = ""
    """One or two sentences, for the command line and for the page."""
    label: str = ""
    """Of its widget; by default its words."""
    flag: str = ""
    """Of `run`; by default the name, as '--min-folds'. '-' where there is none."""
    metavar: str = ""
    """What stands for its value in `run --help`; by default its default."""
    row: str = ""
    """What a table of settings calls it; by default the name in words. '-': no row of its own."""
    differ: str = ""
    """How several are called that differ: 'different numbers of folds'; by default the name."""
    said: str = ""
    """What an error calls it; by default its words with 'the', or without where it has choices."""
    low: float | None = None
    high: float | None = None
    open: bool = False
    """Whether low and high themselves are out of range."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What can be chosen, each with a sentence; empty where anything, or a registry, serves."""
    way_out: str = ""
    """How an error about its range ends."""
    unless_asked: str = ""
    """In words, a default that depends on other settings; `make_spec` then takes None for it."""
    of_rule: bool = False
    """Whether it means something only to the rules that name it in `Rule.told`."""
    always_told: bool = False
    """Whether the command that repeats a run has it at its default too."""

    @property
    def option(self) -> str | None:
        """The option of the command line; None where there is none."""
        return None if self.flag == "-" else self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def words(self) -> str:
        """Its name in a sentence or in a table."""
        return self.row.strip("-") or self.name.replace("_", " ")

    @property
    def _said(self) -> str:
        return self.said or (self.words if self.choices else f"the {self.words}")

    def typed(self, given: Any) -> Any:  # noqa: ANN401 - of the type that the field has
        """The value, from a number or from text; None stays None where a run may be without it.

        Raises: InputError if it is of another type.
        """
        if self.kind is tuple:
            parts = [one.strip() for one in given.split(",")] if isinstance(given, str) else given
            return tuple(converted(self.each, one, self._said) for one in parts if one != "")
        if given is None and self.default is None:
            return None
        return converted(self.kind, given, self._said)

    def check(self, value: Any) -> None:  # noqa: ANN401 - as `typed` gives it
        """Refuse what can never work. Raises: InputError; UnknownName for what is no choice."""
        if self.choices and value not in self.choices:
            raise UnknownName(self._said, value, self.choices)
        ends = self.low, self.high
        if isinstance(value, int | float) and not in_range(value, *ends, open=self.open):
            end = f"; {self.way_out}" if self.way_out else ""
            words = range_words(*ends, open=self.open)
            raise InputError(f"{self._said} must be {words}, but is {value}{end}")

    def text(self, value: object) -> str:
        """The value as the command line takes it."""
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def setting(default: T, role: Role, **about: Any) -> T:  # noqa: ANN401 - as Setting has them
    """A field of `RunSpec` with its default, its role and what else `Setting` can say of it."""
    return field(default=default, metadata={"role": role, **about})


def settings_of(record: type) -> dict[str, Setting]:
    """The settings that a dataclass declares, by name, in their order.

    Raises: TypeError for something said of one that `Setting` does not know.
    """
    hints = get_type_hints(record)
    return {
        one.name: Setting(
            name=one.name,
            kind=_kind(hints[one.name]),
            default=one.default,
            each=next((kind for kind in get_args(hints[one.name]) if kind is int), str),
            **one.metadata,
        )
        for one in fields(record)
        if one.metadata
    }


def _kind(hint: Any) -> type:  # noqa: ANN401 - any annotation
    """`int` of `int | None`, `tuple` of `tuple[int, ...]`."""
    if get_origin(hint) is tuple:
        return tuple
    plain: type = next((one for one in get_args(hint) if one is not NoneType), hint)
    return plain
