"""Arrow arrays of a column as it is written -> ids, numbers and Unix seconds; null is unusable."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset._load import Unreadable
from ecv_core.dataset.own.layout import TimeUnit

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_LONGEST_NUMBER = 64
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+)$"


def texts(values: pa.Array) -> pa.Array:
    """Ids as text, null where there is none; a longer one than may be is cut one sign after that.

    Raises: Unreadable for a column of lists, structures or bytes, which are no ids.
    """
    values = _decoded(values, limits.LONGEST_ID + 1)
    if not pa.types.is_string(values.type):
        try:
            values = values.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Unreadable(
                f"a column of ids holds {values.type}, and ids are texts or numbers; choose "
                "another column"
            ) from error
        values = _decoded(values, limits.LONGEST_ID + 1)
    empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(values)), 0)
    return pc.if_else(empty, pa.scalar(None, pa.string()), values)


def numbers(values: pa.Array, *, decimal_comma: bool = False) -> NDArray[np.float64]:
    """Finite numbers; NaN where there is none. Shape (rows,).

    Args:
        values: numbers, or texts.
        decimal_comma: whether '3,5' is three and a half.
    """
    values = _decoded(values, _LONGEST_NUMBER)
    if pa.types.is_string(values.type):
        values = _parsed(pc.utf8_trim_whitespace(values), decimal_comma)
    else:
        try:
            values = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.full(len(values), np.nan)
    parsed: NDArray[np.float64] = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(parsed), parsed, np.nan)


def _decoded(values: pa.Array, longest: int) -> pa.Array:
    """Texts of at most `longest` characters, so that dictionaries can be spelled out."""
    if pa.types.is_dictionary(values.type):
        return _decoded(values.dictionary, longest).take(values.indices)
    if pa.types.is_large_string(values.type) or pa.types.is_string(values.type):
        return pc.utf8_slice_codeunits(values, 0, longest).cast(pa.string())
    return values


def _parsed(values: pa.Array, decimal_comma: bool) -> pa.Array:
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    if decimal_comma:
        values = pc.replace_substring_regex(values, _DECIMAL_COMMA, r"\1.\2")
    good = pc.match_substring_regex(values, _NUMBER)
    return pc.if_else(good, values, pa.scalar(None, values.type)).cast(pa.float64())


def ratings(values: pa.Array, *, decimal_comma: bool) -> NDArray[np.float64]:
    """Ratings; NaN where there is none, or one that is a mistake. Shape (rows,)."""
    parsed = numbers(values, decimal_comma=decimal_comma)
    return np.where(np.abs(parsed) <= limits.LARGEST_RATING, parsed, np.nan)


def seconds(values: pa.Array, unit: TimeUnit) -> NDArray[np.float64]:
    """Whole Unix seconds; NaN where there is no time, or one beyond the limits. Shape (rows,)."""
    if pa.types.is_temporal(values.type):
        moments = _of_moments(values)
    elif unit is TimeUnit.ISO:
        moments = _of_dates(values)
    else:
        moments = numbers(values)
        if unit is TimeUnit.MILLISECONDS:
            moments = moments / 1000
    inside = (moments >= limits.EARLIEST) & (moments < limits.LATEST)
    return np.floor(np.where(inside, moments, np.nan))


def _of_moments(values: pa.Array) -> NDArray[np.float64]:
    """Of timestamps and dates as Parquet has them; a time of day alone is none."""
    try:
        moments = values.cast(pa.timestamp("s"), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), np.nan)
    return numbers(moments.cast(pa.int64()))


def _of_dates(values: pa.Array) -> NDArray[np.float64]:
    """Of ISO 8601 texts; a date without a zone is taken for UTC."""
    import pandas as pd

    values = _decoded(values, _LONGEST_NUMBER)
    if not pa.types.is_string(values.type):
        return np.full(len(values), np.nan)
    plain = pc.utf8_trim_whitespace(values)
    plain = pc.replace_substring_regex(plain, r"\s?UTC$", "Z")
    moments = pd.to_datetime(
        plain.to_pandas(), format="ISO8601", utc=True, errors="coerce"
    ).to_numpy(dtype="datetime64[ns]")
    unix_seconds = moments.astype(np.int64) / 1e9
    return np.where(np.isnat(moments), np.nan, unix_seconds)
