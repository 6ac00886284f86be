"""Dates as people and programs write them -> Unix seconds, and which of their parts comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecv_core.dataset.layout import TimeUnit
from ecv_core.records.arrays import Floats

_PROGRAMS = (
    # Wed Jan 03 13:05:09 +0000 2018, as C, Java and Twitter write it, with a zone or without.
    (
        r"^[A-Za-z]{2,9}\.?,?\s+([A-Za-z]{3})[a-z]*\.?\s+(\d{1,2})\s+(\d{1,2}:[\d:.]+)\s*"
        r"([A-Z]{1,4}|[+-]\d\d:?\d\d)?\s+(\d{4})$",
        r"\5-\1-\2 \3\4",
    ),
    # 03/Jan/2018:13:05:09 +0000, as web servers write it.
    (r"^\[?(\d{1,2})/([A-Za-z]{3})/(\d{4}):([\d:.]+)\s*([+-]\d{4})?\]?$", r"\3-\2-\1 \4\5"),
    # Wed Jan 03 2018 13:05:09 GMT+0000 (Coordinated Universal Time), as JavaScript writes it.
    (
        r"^[A-Za-z]{3}\s+([A-Za-z]{3})\s+(\d{1,2})\s+(\d{4})\s+([\d:.]+)\s+GMT([+-]\d{4}).*$",
        r"\3-\1-\2 \4\5",
    ),
    # 01 03, 2018, as Amazon writes it.
    (r"^(\d{1,2})\s+(\d{1,2}),\s*(\d{4})$", r"\3-\1-\2"),
    # 20180103130509, with milliseconds, with a dash, without seconds, and with the hour alone.
    (r"^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})$", r"\1-\2-\3 \4:\5:\6.\7"),
    (r"^(\d{4})(\d\d)(\d\d)-?(\d\d)(\d\d)(\d\d)$", r"\1-\2-\3 \4:\5:\6"),
    (r"^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$", r"\1-\2-\3 \4:\5"),
    (r"^(\d{4})(\d\d)(\d\d)(\d\d)$", r"\1-\2-\3 \4"),
    # 03JAN2018:13:05:09, as SAS writes it, and the day alone.
    (r"^(\d\d)([A-Za-z]{3})(\d{4})$", r"\3-\2-\1"),
    (r"^(\d\d)([A-Za-z]{3})(\d{4}):([\d:.]+)$", r"\3-\2-\1 \4"),
    # 2018-01-03 13:05:09,123, as Python's logs have it.
    (r"(:\d\d),(\d{3})$", r"\1.\2"),
    # 2018-01-03T13:05:09+01:00[Europe/Paris], as Java writes it.
    (r"([+-]\d\d:\d\d|Z)\[[\w/+-]+\]$", r"\1"),
)
"""Whole forms of programs, and what is written for them, in Arrow's syntax."""
_ZONES = (
    (r"\s?(UTC|GMT)$", "Z"),
    (r"\s?(CET|MEZ)$", "+0100"),
    (r"\s?(CEST|MESZ|EET)$", "+0200"),
    (r"\s?EDT$", "-0400"),
    (r"\s?(EST|CDT)$", "-0500"),
    (r"\s?PDT$", "-0700"),
    (r"\s?PST$", "-0800"),
    (r"(:\d\d)\s+([+-]\d\d:?\d\d)$", r"\1\2"),
)
"""Zones that are named, and how far they are from UTC."""
_SPELLINGS = (
    (r"\s?Uhr$", ""),
    (r"^[A-Za-z]{2,9}\.?,\s+", ""),  # The name of the day is left out.
    (r"(\d)\s?([AaPp])\.?[Mm]\.?$", r"\1 \2M"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+(\d{4})", r"\3-\2-\1"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+([0-6]\d)([\s,]|$)", r"20\3-\2-\1\4"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+([7-9]\d)([\s,]|$)", r"19\3-\2-\1\4"),
    (r"^([A-Za-z\x{e4}]{3})[a-z]*[.\s]+(\d{1,2}),?\s+(\d{4})", r"\3-\1-\2"),
)
"""Patterns and what is written for them, in Arrow's syntax."""
_MONTHS = (
    *("jan", "feb", r"m[a\x{e4}]r", "apr", "ma[iy]", "jun"),
    *("jul", "aug", "sep", "o[ck]t", "nov", "de[cz]"),
)
"""The first three letters of their names in English and German, as patterns."""
_NUMBERS = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d\d)(\D|$)"
_YEAR_LAST = {
    TimeUnit.DAY_FIRST: (_NUMBERS, r"\3-\2-\1\4"),
    TimeUnit.MONTH_FIRST: (_NUMBERS, r"\3-\1-\2\4"),
}
_CENTURIES = ((r"^([0-6]\d)-(\d)", r"20\1-\2"), (r"^([7-9]\d)-(\d)", r"19\1-\2"))
"""Years of two digits are those from 1970 to 2069."""
_AFTER_DATE = ((r"^([\d-]+),\s*", r"\1 "), (r"^([\d-]+)\s+", r"\1 "))
_FORMATS = ("ISO8601", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p")


def unix_seconds(texts: pa.Array, unit: TimeUnit) -> Floats:
    """Unix seconds of dates with or without a time; NaN where there is none. Shape (rows,).

    A date without a zone is taken for UTC. ISO 8601 and names of months are read in any order.

    Args:
        texts: Without space around them.
        unit: ISO, DAY_FIRST or MONTH_FIRST.
    """
    moments = _parse(texts, "ISO8601")  # Most files need no more than this.
    missing = np.isnat(moments)
    if missing.any():
        rewritten = _rewrite_year_first(texts.filter(pa.array(missing)), unit)
        moments[missing] = _parse_any(rewritten)
    nanoseconds = moments.astype(np.int64)
    return np.where(np.isnat(moments), np.nan, nanoseconds / 1e9)


def _parse_any(texts: pa.Array) -> NDArray[np.datetime64]:
    """The moments that the texts name in the first of the formats that fits; NaT for none."""
    moments = _parse(texts, _FORMATS[0])
    for date_format in _FORMATS[1:]:
        missing = np.isnat(moments)
        if not missing.any():
            break
        moments[missing] = _parse(texts.filter(pa.array(missing)), date_format)
    return moments


def _parse(texts: pa.Array, date_format: str) -> NDArray[np.datetime64]:
    """The moments that the texts name in this format of pandas; NaT where they name none."""
    import pandas as pd

    moments = pd.to_datetime(texts.to_pandas(), format=date_format, utc=True, errors="coerce")
    return moments.to_numpy(dtype="datetime64[ns]", copy=True)


def _rewrite_year_first(texts: pa.Array, unit: TimeUnit) -> pa.Array:
    """The dates with year, month and day as numbers, in this order, wherever they have all."""
    changes = [*_PROGRAMS, *_ZONES, *_SPELLINGS]
    if unit in _YEAR_LAST:
        changes.append(_YEAR_LAST[unit])
        changes.extend(_CENTURIES)
    # The twelve patterns of months take time, so they are only tried on texts with three letters in
    # a row, as every name of a month has; in 'Mär' one of them is an umlaut, U+00E4.
    may_name_month = pc.any(pc.match_substring_regex(texts, r"[A-Za-z\x{e4}]{3}")).as_py()
    if may_name_month:
        for number, name in enumerate(_MONTHS, start=1):
            changes.append((rf"(?i)^(\d{{4}})-{name}-", rf"\1-{number:02}-"))
    # What stands between the date and the time is seen once the month is a number, too.
    changes.extend(_AFTER_DATE)
    for pattern, replacement in changes:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


class DateOrders(NamedTuple):
    """In which orders of day, month and year values are dates."""

    orders: list[TimeUnit]
    """The likeliest first."""
    date_count: int
    """How many of the values are dates in these orders."""


def date_orders(values: Sequence[str]) -> DateOrders:
    """The orders of day, month and year in which most of the values are dates.

    More than one order fits where no date tells. ISO alone fits where it reads as many as any
    other.
    """
    texts = pa.array(values, pa.string())
    orders = [TimeUnit.ISO, TimeUnit.DAY_FIRST, TimeUnit.MONTH_FIRST]
    if any("/" in value for value in values):  # Americans write dates so.
        orders = [TimeUnit.ISO, TimeUnit.MONTH_FIRST, TimeUnit.DAY_FIRST]
    counts = {}
    for order in orders:
        counts[order] = int(np.isfinite(unix_seconds(texts, order)).sum())
    most = max(counts.values())
    if counts[TimeUnit.ISO] == most:
        return DateOrders([TimeUnit.ISO], most)
    return DateOrders([order for order in orders if counts[order] == most], most)
