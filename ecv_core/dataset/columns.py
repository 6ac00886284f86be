"""Arrow arrays of a column as it is written -> ids, numbers and Unix seconds; null is unusable."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.dates import unix_seconds
from ecv_core.dataset.layout import UNITS_A_SECOND, TimeUnit, Unreadable
from ecv_core.records.arrays import Floats

_WORDS_FOR_MISSING = r"NULL Null null NA <NA> N/A n/a #N/A None none NaN nan NaT \N undefined"
WORDS_FOR_MISSING = _WORDS_FOR_MISSING.split()
"""What programs write where an id is missing; an array of Arrow's here would load pandas."""
_SECONDS_A_DAY = 86400
_EXCEL_DAYS_TO_1970 = 25569
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_LONGEST_NUMBER_OR_DATE = 64
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+)$"
_COMMA_NOT_OF_THOUSANDS = r"^([+-]?\d*),(\d{1,2}|\d{4,})$"
"""Where commas separate columns: '1,234' may be a thousand, '3,5' is none."""


def read_ids(values: pa.Array, *, words_are_missing: bool = True) -> pa.Array:
    """Ids as text, null where there is none; a longer one than may be is cut one sign after that.

    Args:
        values: As they are written.
        words_are_missing: Whether NULL, NA, None, nan and the like, as programs write a missing
            value, are no ids.

    Raises:
        Unreadable for a column of lists, structures or bytes, which are no ids.
    """
    # One character more than an id may have is kept, so that an id that is too long still shows.
    ids = _decode_and_cut(values, limits.LONGEST_ID + 1)
    if not pa.types.is_string(ids.type):
        try:
            ids = ids.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Unreadable(
                f"a column of ids holds {ids.type}, and ids are texts or numbers; choose "
                "another column"
            ) from error
        ids = _decode_and_cut(ids, limits.LONGEST_ID + 1)
    missing = pc.or_(pc.equal(ids, ""), pc.utf8_is_space(ids))
    if words_are_missing:
        missing = pc.or_(missing, pc.is_in(ids, pa.array(WORDS_FOR_MISSING)))
    return pc.if_else(missing, pa.scalar(None, pa.string()), ids)


def read_numbers(values: pa.Array, *, decimal_comma: bool = False) -> Floats:
    """Finite numbers; NaN where there is none. Shape (rows,).

    Args:
        values: Numbers, or texts.
        decimal_comma: Whether '1,234' is less than two; '3,5' is three and a half anyway.
    """
    values = _decode_and_cut(values, _LONGEST_NUMBER_OR_DATE)
    if pa.types.is_string(values.type):
        column = _parse_numbers(pc.utf8_trim_whitespace(values), decimal_comma=decimal_comma)
    else:
        try:
            column = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.full(len(values), np.nan)
    numbers: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _decode_and_cut(values: pa.Array, longest: int) -> pa.Array:
    """Texts of at most `longest` characters, so that dictionaries can be spelled out."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _decode_and_cut(values.dictionary, longest).take(values.indices)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return pc.utf8_slice_codeunits(values, 0, longest).cast(pa.string())
    return values


def _parse_numbers(texts: pa.Array, *, decimal_comma: bool) -> pa.Array:
    """Numbers of texts without space around them; null where a text is none."""
    try:
        return texts.cast(pa.float64())  # Most columns need no more than this.
    except pa.ArrowInvalid:
        pass
    # '3,5' is a number with a decimal comma in any file. '1,234' may be a thousand, and is one with
    # a decimal comma only where the whole file is known to write numbers so.
    number_with_comma = _COMMA_NOT_OF_THOUSANDS
    if decimal_comma:
        number_with_comma = _DECIMAL_COMMA
    texts = pc.replace_substring_regex(texts, number_with_comma, r"\1.\2")
    is_number = pc.match_substring_regex(texts, _NUMBER)
    return pc.if_else(is_number, texts, pa.scalar(None, texts.type)).cast(pa.float64())


def read_ratings(values: pa.Array, *, decimal_comma: bool) -> Floats:
    """Ratings; NaN where there is none, or one that is a mistake. Shape (rows,)."""
    ratings = read_numbers(values, decimal_comma=decimal_comma)
    return np.where(np.abs(ratings) <= limits.LARGEST_RATING, ratings, np.nan)


def read_seconds(values: pa.Array, unit: TimeUnit) -> Floats:
    """Unix seconds with fractions; NaN where there is no time, or one beyond the limits.

    Shape (rows,).
    """
    if pa.types.is_temporal(values.type):
        seconds = _seconds_of_moments(values)
    elif unit in UNITS_A_SECOND:
        seconds = read_numbers(values) / UNITS_A_SECOND[unit]
    elif unit is TimeUnit.EXCEL_DAYS:
        days = read_numbers(values) - _EXCEL_DAYS_TO_1970
        # A fraction of a day is not exact in binary, so seconds are rounded.
        seconds = np.round(days * _SECONDS_A_DAY)
    else:
        seconds = _seconds_of_dates(values, unit)
    is_in_range = (seconds >= limits.EARLIEST) & (seconds < limits.LATEST)
    return np.where(is_in_range, seconds, np.nan)


def _seconds_of_moments(values: pa.Array) -> Floats:
    """Of timestamps and dates as Parquet has them; a time of day alone is none."""
    try:
        whole_seconds = values.cast(pa.timestamp("s"), safe=False)
        microseconds = values.cast(pa.timestamp("us"), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), np.nan)
    seconds = read_numbers(whole_seconds.cast(pa.int64()))
    finer_seconds = read_numbers(microseconds.cast(pa.int64())) / 1e6
    # A moment that is too late for 64 bits of microseconds overflows and becomes another one. Of
    # such a moment only the whole seconds are kept.
    return np.where(np.abs(finer_seconds - seconds) <= 1, finer_seconds, seconds)


def _seconds_of_dates(values: pa.Array, unit: TimeUnit) -> Floats:
    """Of dates that are written as texts, or as numbers such as 20230122.

    Args:
        values: As they are written.
        unit: What a date has first, the year, the day or the month: ISO, DAY_FIRST or MONTH_FIRST.
    """
    texts = _decode_and_cut(values, _LONGEST_NUMBER_OR_DATE)
    if pa.types.is_integer(texts.type):  # Parquet files may have 20230122 as a number.
        texts = texts.cast(pa.string())
    if not pa.types.is_string(texts.type):
        return np.full(len(texts), np.nan)
    return unix_seconds(pc.utf8_trim_whitespace(texts), unit)
