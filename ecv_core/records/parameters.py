"""What can be set on a model, a split or a run: typed, documented, validated."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

from ecv_core.records.errors import InputError, UnknownName

ParamValue = int | float | str | bool
"""A parameter's value: whatever JSON can hold as one scalar."""


class _ObjectInJson:
    """Marks named values, sorted by name, that JSON holds as one object."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, schema_of: Callable[..., Any]) -> object:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            lambda named: tuple(sorted(named.items())),
            schema_of(dict[str, ParamValue]),
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )


Params = Annotated[tuple[tuple[str, ParamValue], ...], _ObjectInJson]
"""Every parameter with its value, sorted by name."""


_LARGEST = 2**53
"""Where a parameter has no bound of its own: as far as whole numbers are exact."""

Scale = Literal["linear", "logarithmic", "percent", "folds"]
"""How a number is read and compared: as it is, by factors, as a share, as a number of folds."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One knob: its type is its default's."""

    name: str
    default: ParamValue
    help: str
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    open: bool = False
    """Whether low and high themselves are out of range."""
    choices: Collection[str] = ()
    source: str = ""
    """Where the default comes from: a paper, a peer, or our own search."""
    required: bool = False
    """Whether it has to be said; the default is then what a form begins with."""
    ids: bool = False
    """Whether it is text with ids and commas between them: 'popular,item-knn'."""
    label: str = ""
    """Of its widget; by default its words."""
    phrase: str = ""
    """Words with a value: 'at least {}'; by default its name before the value."""
    said: str = ""
    """What an error calls it."""
    way_out: str = ""
    """How an error about its range ends."""
    scale: Scale = "linear"
    steps: tuple[float, ...] = ()
    """What a slider offers, ascending; without them there is a field for a number."""
    tried: tuple[float, ...] = ()
    """Values at which rules are compared, ascending; by default the steps, or some around the
    default."""
    presets: tuple[tuple[str, float], ...] = ()
    """Steps that have a name."""
    meaning: Callable[[float], str] | None = None
    """What a value does, in one sentence below the widget."""
    flag: str = ""
    """An option of its own on the command line, such as '--alpha': then it can be said by its name
    alone in Python and in links too. Parameters of several rules may share one."""
    metavar: str = ""
    """What stands for its value in the help of that option."""
    always_told: bool = False
    """Whether the command that repeats a run has it at its default too."""
    terms: tuple[str, ...] = ()
    """Entries of the glossary that explain it."""
    later: bool = False
    """Whether it came after runs had been recorded without it: then it is left out at its default,
    so that their folds are found."""

    @property
    def words(self) -> str:
        """Its name in a sentence or in a table."""
        return self.phrase.replace("{}", "").strip() or self.name.replace("_", " ")

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return type(self.default) is int

    def parse(self, given: object) -> ParamValue:
        """The value, from a number or from text, in this parameter's type.

        Raises: InputError if it is of the wrong type, out of range, or not among the choices.
        """
        said = self.said or f"parameter '{self.name}'"
        if self.ids:
            parts = given.split(",") if isinstance(given, str) else given
            if not isinstance(parts, Iterable):
                raise InputError(f"{said} must be ids with commas between them, but is '{given}'")
            return ",".join(word for part in parts if (word := str(part).strip()))
        value = converted(type(self.default), given, said)
        if self.choices and value not in self.choices:
            raise InputError(f"{said} must be one of {', '.join(self.choices)}, not '{given}'")
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = self.low, self.high
            if not self.open:
                low = -_LARGEST if low is None else low
                high = _LARGEST if high is None else high
            self.check_range(value, low, high, said, value if self.open else given)
        return value

    def check_range(
        self, value: float, low: float | None, high: float | None, said: str, shown: object
    ) -> None:
        """Refuse a number that is not between both ends. Raises: InputError."""
        if not in_range(value, low, high, open=self.open):
            words = range_words(low, high, open=self.open)
            end = f"; {self.way_out}" if self.way_out else ""
            raise InputError(f"{said} must be {words}, but is {shown}{end}")

    def text(self, value: ParamValue) -> str:
        """A value by itself, as sliders and links have it: '1e-4', '3%', '4'."""
        if isinstance(value, str | bool) or self.scale == "linear":
            return f"{value:g}" if isinstance(value, float) else str(value)
        if self.scale == "logarithmic":
            return scientific(value)
        return f"{100 * value:.3g}%" if self.scale == "percent" else f"{value:g}"

    def in_words(self, value: ParamValue, *, about: bool = False) -> str:
        """A value with what it is: 'alpha 1e-4', 'tolerance 2.13 %', 'at least 4 folds'.

        Args: about: to two digits, for one that lies between two that were tried.
        """
        if isinstance(value, str | bool):
            text = str(value)
        elif self.scale == "logarithmic":
            text = scientific(float(f"{value:.1e}") if about else value)
        elif self.scale == "percent":
            text = f"{100 * value:.1f} %" if about else f"{100 * value:.3g} %"
        elif self.scale == "folds":
            mixed = about and self.phrase == "{}"  # a number of folds, and no bound of it
            text = f"{value:.{int(mixed)}f}"
            text += " fold" if text == "1" else " folds"
        else:
            text = f"{value:.3g}" if about else self.text(value)
        return (self.phrase or f"{self.words} {{}}").format(text)

    def values(self) -> list[float]:
        """Values at which to compare what it does, ascending; of a number."""
        if self.tried or self.steps:
            return list(self.tried or self.steps)
        middle = float(self.default)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if self.scale == "logarithmic" or math.isinf(high - low):
            found = {middle * 2.0**power for power in range(-2, 3)}
        else:
            found = {low + (high - low) * part / 4 for part in range(5)} | {middle}
        if self.whole:
            found = {float(round(value)) for value in found}
        return sorted(value for value in found if in_range(value, low, high, open=self.open))


def scientific(value: float) -> str:
    """'1e-4', '5e-3', '0.01', '0'."""
    if abs(value) >= 0.01 or value == 0:
        return f"{value:g}"
    mantissa, exponent = f"{value:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def listed(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def in_range(value: float, low: float | None, high: float | None, *, open: bool) -> bool:
    """Whether a number is between both ends; never for NaN."""
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    return low < value < high if open else low <= value <= high


def range_words(low: float | None, high: float | None, *, open: bool) -> str:
    """'from 1 to 3', 'between 0 and 1', 'a positive number', 'at least 2'."""
    first, last = (None if end is None else f"{end:.15g}" for end in (low, high))
    if first and last:
        return f"between {first} and {last}" if open else f"from {first} to {last}"
    if open and first == "0":
        return "a positive number"
    return f"at least {first}" if first else f"at most {last}"


def converted(kind: type, given: object, what: str) -> ParamValue:
    """A number or a text as a value of this type.

    Args:
        kind: bool, int, float or str.
        given: the number or the text.
        what: what it is the value of, for the error.
    Raises: InputError if it is none.
    """
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(given).lower()]
        if kind is int:
            value = int(given) if isinstance(given, str) else int(given + 0)  # type: ignore[operator]
            if not isinstance(given, str) and value != given:
                raise ValueError
            return value
        value_of: ParamValue = kind(given)
    except (KeyError, ValueError, TypeError, OverflowError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        raise InputError(f"{what} must be {wanted[kind]}, but is '{given}'") from None
    return value_of


def resolve(parameters: Sequence[Parameter], given: Mapping[str, Any], *, of: str) -> Params:
    """Every parameter with its value: the given ones checked, the rest by default.

    One that came `later` is left out at its default.

    Args:
        parameters: what there is to set.
        given: values by name, as numbers or as text.
        of: whose parameters they are, for errors: an id.
    Raises: InputError for an unknown name or a bad value.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise UnknownName(f"parameter of {of}", name, known)
    values = {
        name: known[name].parse(given[name]) if name in given else known[name].default
        for name in sorted(known)
    }
    return tuple(
        (name, value)
        for name, value in values.items()
        if not known[name].later or value != known[name].default
    )
