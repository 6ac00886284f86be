"""Dates as people and programs write them -> Unix seconds; which part comes first, by a sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecv_core.dataset.own.layout import TimeUnit

_TIDY = (
    (r"\s?(UTC|GMT)$", "Z"),
    (r"\s?Uhr$", ""),
    (r"^[A-Za-z]{2,9}\.?,\s+", ""),  # the name of the day
    (r"(\d)\s?([AaPp])\.?[Mm]\.?$", r"\1 \2M"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+(\d{4})", r"\3-\2-\1"),
    (r"^([A-Za-z\x{e4}]{3})[a-z]*[.\s]+(\d{1,2}),?\s+(\d{4})", r"\3-\1-\2"),
)
"""Patterns and what is written for them, in Arrow's syntax."""
_MONTHS = r"""
    jan feb m[a\x{e4}]r apr ma[iy] jun jul aug sep o[ck]t nov de[cz]
"""
"""The first three letters of their names in English and German."""
_NUMBERS = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d\d)(\D|$)"
_ORDERS = {
    TimeUnit.DAY_FIRST: (_NUMBERS, r"\3-\2-\1\4"),
    TimeUnit.MONTH_FIRST: (_NUMBERS, r"\3-\1-\2\4"),
}
_CENTURIES = ((r"^([0-6]\d)-", r"20\1-"), (r"^([7-9]\d)-", r"19\1-"))
"""Years of two digits are those from 1970 to 2069."""
_AFTER_DATE = ((r"^([\d-]+),\s*", r"\1 "), (r"^([\d-]+)\s+", r"\1 "))


def unix_seconds(texts: pa.Array, unit: TimeUnit) -> NDArray[np.float64]:
    """Unix seconds of dates with or without a time; NaN where there is none. Shape (rows,).

    A date without a zone is taken for UTC. ISO 8601 and names of months are read in any order.

    Args:
        texts: without space around them.
        unit: ISO, DAY_FIRST or MONTH_FIRST.
    """
    moments = _parsed(texts, "ISO8601")
    for form in ("ISO8601", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p"):
        if not (missing := np.isnat(moments)).any():
            break
        moments[missing] = _parsed(_year_first(texts.filter(pa.array(missing)), unit), form)
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e9)


def _parsed(texts: pa.Array, form: str) -> NDArray[np.datetime64]:
    import pandas as pd

    parsed = pd.to_datetime(texts.to_pandas(), format=form, utc=True, errors="coerce")
    moments: NDArray[np.datetime64] = parsed.to_numpy(dtype="datetime64[ns]", copy=True)
    return moments


def _year_first(texts: pa.Array, unit: TimeUnit) -> pa.Array:
    """The dates with year, month and day as numbers, in this order, wherever they have all."""
    changes: tuple[tuple[str, str], ...] = _TIDY
    if unit in _ORDERS:
        changes += (_ORDERS[unit], *_CENTURIES)
    changes += _AFTER_DATE
    if pc.any(pc.match_substring_regex(texts, r"[A-Za-z\x{e4}]{3}")).as_py():
        names = enumerate(_MONTHS.split(), start=1)
        changes += tuple((f"(?i)^(\\d{{4}})-{name}-", f"\\1-{at:02}-") for at, name in names)
    for pattern, written in changes:
        texts = pc.replace_substring_regex(texts, pattern, written)
    return texts


def orders(values: Sequence[str]) -> tuple[list[TimeUnit], int]:
    """The orders of day, month and year in which most of these are dates, and how many are.

    More than one order fits where no date tells: the likeliest comes first.
    """
    texts = pa.array(values, pa.string())
    fitting: dict[TimeUnit, int] = {}
    slash = any("/" in value for value in values)
    units = [TimeUnit.ISO, TimeUnit.DAY_FIRST, TimeUnit.MONTH_FIRST]
    for unit in units[:1] + units[1:][:: -1 if slash else 1]:
        fitting[unit] = int(np.isfinite(unix_seconds(texts, unit)).sum())
    most = max(fitting.values())
    if fitting[TimeUnit.ISO] == most:
        return [TimeUnit.ISO], most
    return [unit for unit, count in fitting.items() if count == most], most
