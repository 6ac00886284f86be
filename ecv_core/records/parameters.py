"""What can be set on a model, a split or a run: typed, documented, validated."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.renamed import renamed_fields

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
"""As far as whole numbers are exact: the bound of a parameter that has none of its own."""
_ROUNDING = 1e-12
"""What is smaller, rounding has kept from being 0."""

Scale = Literal["linear", "logarithmic", "percent", "folds"]
"""How a number is read and compared: as it is, by factors, as a share, as a number of folds."""


@renamed_fields(said="error_name", later="added_later", tried="search_values")
@dataclass(frozen=True)
class Parameter:
    """One knob: its type is its default's.

    >>> import ecv_core as ecv
    >>> ecv.Parameter("neighbours", 20, "How many neighbours count.", low=1, high=1000).default
    20
    """

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
    error_name: str = ""
    """What an error calls it."""
    way_out: str = ""
    """How an error about its range ends."""
    scale: Scale = "linear"
    steps: tuple[float, ...] = ()
    """What a slider offers, ascending; without them there is a field for a number."""
    search_values: tuple[float, ...] = ()
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
    added_later: bool = False
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

    def parse(self, number_or_text: object) -> ParamValue:
        """The value, from a number or from text, in this parameter's type.

        Raises:
            InputError: If it is of the wrong type, out of range, or not among the choices.
        """
        error_name = self.error_name or f"parameter '{self.name}'"
        if self.ids:  # the value is a text of ids with commas between them
            return _joined_ids(number_or_text, error_name)
        value = convert(type(self.default), number_or_text, error_name)
        if self.choices and value not in self.choices:
            choices = ", ".join(self.choices)
            raise InputError(f"{error_name} must be one of {choices}, not '{number_or_text}'")
        if isinstance(value, bool | str):
            return value
        self.check_range(value, error_name, number_or_text)
        # The check of an open range has refused infinity already: its ends, which are infinite
        # where there is no other bound, are not in it.
        if not self.open:
            _check_size(value, error_name, number_or_text)
        return value

    def check_range(self, value: float, error_name: str, shown: object) -> None:
        """Refuse a number that is not between both ends. Raises: InputError."""
        if not self._is_in_range(value):
            words = _range_words(self.low, self.high, open=self.open)
            sentence = f"{error_name} must be {words}, but is {shown}"
            if self.way_out:
                sentence += f"; {self.way_out}"
            raise InputError(sentence)

    def text(self, value: ParamValue) -> str:
        """A value by itself, as sliders and links have it: '1e-4', '3%', '4'."""
        if isinstance(value, str | bool):
            return str(value)
        if self.scale == "logarithmic":
            return scientific(value)
        if self.scale == "percent":
            return f"{100 * value:.3g}%"
        if self.scale == "linear" and isinstance(value, int):
            return str(value)
        return f"{value:g}"

    def in_words(self, value: ParamValue, *, about: bool = False) -> str:
        """A value with what it is: 'alpha 1e-4', 'tolerance 2.13 %', 'at least 4 folds'.

        Args:
            value: The value of this parameter.
            about: To two digits, for one that lies between two that were tried.
        """
        if isinstance(value, str | bool):
            text = str(value)
        elif about:
            text = self._rounded_text(value)
        elif self.scale == "percent":
            text = percent_text(value)
        elif self.scale == "folds":
            text = _folds_text(f"{value:.0f}")
        else:
            text = self.text(value)
        phrase = self.phrase or f"{self.words} {{}}"
        return phrase.format(text)

    def _rounded_text(self, value: float) -> str:
        if self.scale == "logarithmic":
            return scientific(float(f"{value:.1e}"))
        if self.scale == "percent":
            return percent_text(value, ".1f")
        if self.scale == "folds":
            if self.phrase == "{}":  # Without words of its own it is a mean number of folds.
                return _folds_text(f"{value:.1f}")
            return _folds_text(f"{value:.0f}")
        return f"{value:.3g}"

    def values(self) -> list[float]:
        """Values of a number at which to compare what it does, ascending."""
        # The steps of a slider are values, too: those at which it can be set.
        declared_values = self.search_values or self.steps
        if declared_values:
            return list(declared_values)
        allowed = set()
        for value in self._values_over_range():
            if self._is_in_range(value):
                allowed.add(value)
        return sorted(allowed)

    def _is_in_range(self, value: float) -> bool:
        """Whether a number is between both ends; never for NaN."""
        low = self.low
        if low is None:
            low = -math.inf
        high = self.high
        if high is None:
            high = math.inf
        if self.open:
            return low < value < high
        return low <= value <= high

    def _values_over_range(self) -> list[float]:
        """Values over its range, or around its default where that has no end."""
        default = float(self.default)
        if self.scale == "logarithmic" or self.low is None or self.high is None:
            # From a quarter of the default to four times as much.
            values = [default * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]
        else:
            width = self.high - self.low
            values = [self.low + width * quarter / 4 for quarter in range(5)]
            values.append(default)
        if self.whole:
            values = [float(round(value)) for value in values]
        return values


def _joined_ids(ids_or_text: object, error_name: str) -> str:
    """Ids with commas between them, from such a text or from several ids."""
    if not isinstance(ids_or_text, Iterable):
        raise InputError(f"{error_name} must be ids separated by commas, but is '{ids_or_text}'")
    parts = ids_or_text
    if isinstance(ids_or_text, str):
        parts = ids_or_text.split(",")
    ids = [str(part).strip() for part in parts]
    # `filter` leaves out empty texts, as between two commas.
    return ",".join(filter(None, ids))


def _folds_text(number: str) -> str:
    if number == "1":
        return "1 fold"
    return f"{number} folds"


def scientific(value: float) -> str:
    """'1e-4', '5e-3', '0.01', '0'."""
    if abs(value) >= 0.01 or value == 0:
        return f"{value:g}"
    mantissa, exponent = f"{value:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def changed(params: Params, defaults: Mapping[str, Any]) -> dict[str, ParamValue]:
    """The parameters that are not at their defaults, with their values."""
    return {name: value for name, value in params if defaults.get(name) != value}


def percent_text(share: float, digits: str = ".3g") -> str:
    """A share as a percentage: '2.5 %'; `digits` as in a format string.

    What is not nothing is not '0 %', and what is not all is not '100 %': these have as many more
    digits as they need, '0.04 %' and '99.97 %'.
    """
    text = f"{100 * share:z{digits}}"
    missing_share = 1 - share
    if float(text) == 0 and abs(share) > _ROUNDING:
        text = f"{100 * share:.1g}"
    elif float(text) == 100 and abs(missing_share) > _ROUNDING:
        first_digit_missing = float(f"{100 * missing_share:.1g}")
        text = f"{100 - first_digit_missing:.12g}"
    return f"{text} %"


def score_text(score: float, sign: str = "-") -> str:
    """A score to four decimals, a small one to two digits: '0.2980', '0.00041', '1.2e-05'.

    A very large one has five digits, '1.2346e+20', for a float has no decimals there.

    Args:
        score: A score, or a difference of two.
        sign: As in a format string: '+' shows that of positive numbers too.
    """
    if _ROUNDING < abs(score) < 0.001:
        return f"{score:{sign}.2g}"
    if abs(score) > _LARGEST:
        return f"{score:{sign}.5g}"
    return f"{score:{sign}z.4f}"


def counted(count: int, noun: str) -> str:
    """'1 fold', '2 folds', '1,349 items'."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}s"


def is_or_are(count: int) -> str:
    """The verb of a sentence about so many things."""
    if count == 1:
        return "is"
    return "are"


def ordinal(number: int) -> str:
    """'1st', '2nd', '3rd', '4th', '11th', '21st'."""
    ending = "th"
    if number // 10 % 10 != 1:
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _check_size(value: float, error_name: str, shown: object) -> None:
    """Refuse a number that is too far above or below 0. Raises: InputError."""
    if abs(value) > _LARGEST:
        raise InputError(
            f"{error_name} must be a number from -{_LARGEST:,} to {_LARGEST:,}, but is {shown}"
        )


def _range_words(low: float | None, high: float | None, *, open: bool) -> str:
    """'from 1 to 3', 'between 0 and 1', 'a positive number', 'at least 2'."""
    if low is None and high is None:
        return "a finite number"
    if low is None:
        return f"at most {high:.15g}"
    if high is None:
        if open and low == 0:
            return "a positive number"
        return f"at least {low:.15g}"
    if open:
        return f"between {low:.15g} and {high:.15g}"
    return f"from {low:.15g} to {high:.15g}"


def convert(kind: type, number_or_text: object, what: str) -> ParamValue:
    """A number or a text as a value of this type.

    Args:
        kind: Bool, int, float or str.
        number_or_text: The number or the text.
        what: What it is the value of, for the error.

    Raises:
        InputError: If it is none.
    """
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(number_or_text).lower()]
        if kind is int and not isinstance(number_or_text, str):
            return _whole_number(number_or_text)
        return kind(number_or_text)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise InputError(f"{what} must be {_KIND_WORDS[kind]}, but is '{number_or_text}'") from None


_KIND_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _whole_number(number: Any) -> int:  # noqa: ANN401  whatever somebody took for one
    """Raises: ValueError or TypeError for what is no whole number."""
    # Adding 0 raises a TypeError for an object that is no number and only converts to one.
    value = int(number + 0)
    if value != number:
        raise ValueError
    return value


def resolve(
    parameters: Sequence[Parameter], values_by_name: Mapping[str, Any], *, of: str
) -> Params:
    """Every parameter with its value: the given ones checked, the rest by default.

    One that came `added_later` is left out at its default.

    Args:
        parameters: What there is to set.
        values_by_name: Values by name, as numbers or as text.
        of: Whose parameters they are, for errors: an id.

    Raises:
        InputError: For an unknown name or a bad value.
    """
    names = {parameter.name for parameter in parameters}
    for name in values_by_name:
        if name not in names:
            raise UnknownName(f"parameter of {of}", name, names)
    values = {}
    for parameter in parameters:
        value = parameter.default
        if parameter.name in values_by_name:
            value = parameter.parse(values_by_name[parameter.name])
        # Runs from before this parameter existed are recorded without it. To find them by their
        # values, a later one that has its default is left out.
        is_left_out = parameter.added_later and value == parameter.default
        if not is_left_out:
            values[parameter.name] = value
    return tuple(sorted(values.items()))
