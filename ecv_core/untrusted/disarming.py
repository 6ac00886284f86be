"""CSV that a spreadsheet opens without computing: formulas get an apostrophe, which reading undoes.

A text that begins with = + - @ or a control character, after any apostrophes, gets one more in
front, unless it is a number. `armed` takes one away again, so that every text comes back as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

if TYPE_CHECKING:
    import pandas as pd
_FORMULA = r"^'*[=+\-@\t\r]"
_FIRST_SIGNS = ("=", "+", "-", "@", "\t", "\r", "'")
"""A text that begins with none of them is written as it is."""
_NUMBER = r"^[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?$"


def disarmed(texts: pa.Array) -> pa.Array:
    """Texts as they are written; an Arrow array of strings."""
    formula = compute.and_(
        compute.match_substring_regex(texts, _FORMULA),
        compute.invert(compute.match_substring_regex(texts, _NUMBER)),
    )
    return compute.if_else(formula, compute.binary_join_element_wise("'", texts, ""), texts)


def armed(texts: pa.Array) -> pa.Array:
    """Texts as they were before `disarmed`."""
    return compute.replace_substring_regex(texts, r"^'('*[=+\-@\t\r])", r"\1")


def csv_of(frame: pd.DataFrame) -> str:
    """A table as CSV, without its index; texts and the names of its columns are disarmed."""

    safe_frame = frame.rename(columns=_disarmed_value)
    for place, kind in enumerate(frame.dtypes):
        if kind == object or str(kind) in ("string", "str", "category"):  # noqa: E721
            column = frame.iloc[:, place].astype(object).map(_disarmed_value)
            safe_frame.isetitem(place, column.to_numpy())
    return str(safe_frame.to_csv(index=False))


def _disarmed_value(value: Any) -> Any:  # noqa: ANN401  of a column
    """A text as `disarmed` has it; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in _FIRST_SIGNS:
        return value
    return disarmed(pa.array([value], pa.string()))[0].as_py()
