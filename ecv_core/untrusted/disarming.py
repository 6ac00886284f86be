"""CSV that a spreadsheet opens without computing: formulas get an apostrophe, which reading undoes.

A formula begins with = + - @, also in full width, or a control character, after any apostrophes and
blanks. It begins a text, or follows a sign at which a spreadsheet may part cells or lines. It gets
one apostrophe more in front, unless the text is a number. `armed` takes one away again, so that
every text comes back as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

if TYPE_CHECKING:
    import pandas as pd
_FIRST_SIGNS = r"[=+\-@\t\r\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"
_BEGIN = r"(^|[;\t\r\n])"
_FORMULA = f"{_BEGIN}('* *{_FIRST_SIGNS})"
_ANY_SIGN = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""A text without any of them is written as it is."""
_NUMBER = r"^[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?$"


def disarmed(texts: pa.Array) -> pa.Array:
    """Texts as they are written; an Arrow array of strings."""
    is_number = compute.match_substring_regex(texts, _NUMBER)
    with_apostrophes = compute.replace_substring_regex(texts, _FORMULA, r"\1'\2")
    return compute.if_else(is_number, texts, with_apostrophes)


def armed(texts: pa.Array) -> pa.Array:
    """Texts as they were before `disarmed`."""
    return compute.replace_substring_regex(texts, f"{_BEGIN}'('* *{_FIRST_SIGNS})", r"\1\2")


def csv_of(frame: pd.DataFrame) -> str:
    """A table as CSV, without its index; texts and the names of its columns are disarmed."""
    safe_frame = frame.rename(columns=_disarmed_value)
    # By position, as two columns may have the same name.
    for position, dtype in enumerate(frame.dtypes):
        if dtype == object or str(dtype) in ("string", "str", "category"):  # noqa: E721
            column = frame.iloc[:, position].astype(object).map(_disarmed_value)
            safe_frame.isetitem(position, column.to_numpy())
    return str(safe_frame.to_csv(index=False))


def _disarmed_value(value: Any) -> Any:  # noqa: ANN401  of a column
    """A text as `disarmed` has it; any other value as it is."""
    if not isinstance(value, str) or _ANY_SIGN.isdisjoint(value):
        return value
    return disarmed(pa.array([value], pa.string()))[0].as_py()
